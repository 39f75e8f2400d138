"""The variants of a run held against its first, on simulated hosts whose truth is known."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.comparison.cpu_scaling import by_cpus
from dbcpu.analysis.comparison.measured_run import measured
from dbcpu.analysis.comparison.variants import compare_variants, measured_variants
from dbcpu.analysis.conclusions import single_run
from dbcpu.analysis.conclusions.single_run import explain_variants, explained
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.results.answer import Answer
from dbcpu.errors import UsageError
from dbcpu.record.header import AA
from dbcpu.record.plan import RoundSpec, blocks
from dbcpu.record.rounds import Foreign, Round, RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents.quoted import cores_words, evenness_words
from dbcpu.reports.formats.base import load_format
from dbcpu.simulator import SimulatedHost, simulate, simulate_now
from dbcpu.workflows.compare import variants_document
from dbcpu.workflows.given_sides import _run_and_variant
from support.builders.comparison import compare

HOST = SimulatedHost("smt", cores=4, scheduler="sticky", smt_yield=0.3, rebalance_s=0.2, noise=0.002)


@pytest.fixture(scope="module")
def varied() -> RunRecord:
    return simulate(HOST, (1, 4, 5, 8), repeats=6, seed=3, executions=6, variants=("baseline", "smt_off"))


def renamed(record: RunRecord, variant: str, cpus: tuple[int, ...]) -> tuple[Round, ...]:
    """The rounds as if they had been measured under ``variant`` on these CPUs."""
    return tuple(
        replace(
            each,
            variant=variant,
            sessions=tuple(replace(session, allowed_cpus=cpus) for session in each.sessions),
        )
        for each in record.rounds
        if not each.anchor
    )


def by_size(*parts: tuple[str, tuple[int, ...], RunRecord]) -> RunRecord:
    """One run of several variants from runs of simulated hosts of so many CPUs."""
    rounds = [each for name, cpus, record in parts for each in renamed(record, name, cpus)]
    header = parts[-1][2].header
    numbered = tuple(replace(each, order=order, cpu_timeline=()) for order, each in enumerate(rounds))
    return RunRecord(replace(header, plan=replace(header.plan, variants=tuple(part[0] for part in parts))), numbered)


# --- the order of rounds


def test_variants_take_turns_forwards_and_backwards_with_the_same_levels() -> None:
    specs = blocks({"baseline": (1, 2), "pack": (1, 2), "spread": (1, 2)}, repeats=2, seed=1)
    turns = [spec.variant for spec in specs[::2]]
    assert turns == ["baseline", "pack", "spread", "spread", "pack", "baseline"]
    assert [spec.order for spec in specs] == list(range(12))
    for repeat in (0, 1):
        orders = {
            tuple(spec.level for spec in specs if (spec.variant, spec.repeat) == (name, repeat))
            for name in ("baseline", "pack", "spread")
        }
        assert len(orders) == 1


def test_without_a_solo_level_the_first_variant_gets_anchors() -> None:
    specs = blocks({"ncpus:1": (2,), "ncpus:2": (4,)}, repeats=1, seed=1)
    assert specs[0] == RoundSpec(1, 0, "ncpus:1", 0, anchor=True)
    assert specs[-1] == RoundSpec(1, 1, "ncpus:1", 3, anchor=True)
    with pytest.raises(UsageError, match="not between 1 and 1000"):
        blocks({"a": (1,), "b": (1,)}, repeats=0, seed=1)


# --- against the baseline


def test_each_variant_is_explained_on_the_cpus_that_it_left(varied: RunRecord) -> None:
    found = explain_variants(varied)
    assert (found["baseline"].vcpus, found["baseline"].cores) == (8, 4)
    assert (found["smt_off"].vcpus, found["smt_off"].cores) == (4, 4)
    causes = {name: {v.cause for v in analysis.sessions if v.level == 5} for name, analysis in found.items()}
    assert "shared_core" in causes["baseline"]
    assert "run_queue" not in causes["baseline"]
    assert "run_queue" in causes["smt_off"]
    assert "shared_core" not in causes["smt_off"]
    whole = explain(varied)
    assert len(whole.sessions) == sum(len(each.sessions) for each in varied.rounds)
    assert {each.variant for each in whole.levels} == {"baseline", "smt_off"}
    assert "incomplete-run" not in {each.code for each in whole.findings}


def test_each_variant_is_explained_once(varied: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(record: RunRecord, *others: Any) -> Any:
        asked.append(record.header.plan.variants[0])
        return explained(record, *others)

    monkeypatch.setattr(single_run, "explained", counted)
    assert explain(varied).variants is not None
    assert asked == ["baseline", "smt_off"]
    runs = measured_variants(varied)
    assert by_cpus(varied, runs) is None
    assert len(compare_variants(varied, runs).variants) == 2
    assert len(asked) == 4


def shown(record: RunRecord) -> Document:
    return variants_document(record, explain(record))


def test_what_is_quoted_of_each_variant_stands_in_the_comparison_with_its_n(varied: RunRecord) -> None:
    document = shown(varied)
    text, page = (str(load_format(form).render(document)) for form in ("table", "html"))
    rows = list(document.records().rows)
    for each in compare_variants(varied).variants:
        assert each.quote.usable_cores is not None and each.quote.evenness_level
        for words in (cores_words(each.quote), evenness_words(each.quote)):
            assert words in text
            assert words in page
        assert f" at N={each.quote.evenness_level}" in evenness_words(each.quote)
        assert [(row.n, row.value) for row in rows if (row.label, row.metric) == (each.name, "evenness")] == [
            (each.quote.evenness_level, each.quote.evenness)
        ]


def test_smt_off_evens_out_what_shared_cores_made_uneven(varied: RunRecord) -> None:
    found = compare_variants(varied)
    assert found.telling == 5
    one, other = found.first.row(5), found.variants[1].row(5)
    assert one is not None
    assert other is not None
    assert (one.cv or 0) > 0.15
    assert (other.cv or 1) < 0.1
    assert one.cause == "shared_core"
    throughput, spread = found.variants[1].decisions
    assert throughput.levels == "N=8"
    assert throughput.outcome == "less"
    assert throughput.ratio == pytest.approx(1 / 1.3, rel=0.03)
    assert spread.outcome == "less"
    sentence, beside = shown(varied).verdict
    assert "found its throughput maintained; here smt_off has 23 % less than baseline at N=8" in beside
    assert "second threads do 30 % more on full cores (two sessions on one core take 1.54x as long each)" in beside
    assert sentence.startswith(
        "smt_off against baseline: throughput at N=8 is 23 % lower; max/min at N=4-8 (3 levels) is "
    )
    assert "; at N=5 max/min 1." in sentence


def beside_others(record: RunRecord) -> RunRecord:
    """The same run with a process that used half of all CPUs."""
    hog = Foreign(4711, "gcc", 1000.0, ())
    return replace(record, rounds=tuple(replace(each, foreign=(hog,)) for each in record.rounds))


def test_the_verdict_carries_what_else_took_cpu(varied: RunRecord) -> None:
    quiet, loaded = shown(varied), shown(beside_others(varied))
    assert "foreign-load" not in {each.code for each in quiet.findings}
    assert "foreign-load" in {each.code for each in loaded.findings}
    assert loaded.verdict[-1].startswith("Meanwhile the host lost CPU to other processes")
    assert loaded.data()["verdict"] == loaded.verdict
    assert any("`foreign-load`" in each for each in loaded.front.caveats)
    assert "findings" in {section.name for section in loaded.page}


def test_where_sessions_take_turns_throughput_is_of_whole_rounds() -> None:
    """Two after the other at full speed each: the sum of their rates would promise twice of what was done."""
    record = simulate(SimulatedHost("one", cores=1, threads=1, noise=0.0), (1, 2), repeats=3, seed=1)
    turns = []
    for each in record.rounds:
        if each.level == 2 and not each.anchor:
            whole_s = max(e.start_s + e.elapsed_s for s in each.sessions for e in s.executions)
            half_s = whole_s / 2
            sessions = tuple(
                replace(
                    session,
                    executions=(
                        replace(
                            session.executions[0],
                            start_s=i * half_s,
                            elapsed_s=half_s,
                            server_start_s=i * half_s,
                            server_elapsed_s=half_s,
                        ),
                    ),
                )
                for i, session in enumerate(each.sessions)
            )
            turns.append(replace(each, variant="active:1", sessions=sessions))
    rounds = tuple(replace(each, order=i) for i, each in enumerate((*record.rounds, *turns)))
    header = replace(record.header, plan=replace(record.header.plan, variants=("baseline", "active:1")))
    row = compare_variants(RunRecord(header, rounds)).variants[1].row(2)
    assert row is not None
    assert row.ratio == pytest.approx(1.0, abs=0.02)


REMOTE = SimulatedHost(
    "remote", sockets=2, cores=2, threads=1, nodes=2, remote_slowdown=0.3, memory_node=0, noise=0.002
)


def test_variants_and_runs_have_the_same_throughput() -> None:
    """28 % lower as variants and 41 % as runs was said of one pair of configurations."""
    levels = (1, 2, 4)
    record = simulate(REMOTE, levels, repeats=6, seed=3, variants=("baseline", "node:0"))
    decided = compare_variants(record).variants[1].decisions[0]
    apart = [
        Candidate(name, replace(one_variant(record, name), header=replace(record.header, run_id=name)), name)
        for name in ("baseline", "node:0")
    ]
    assert compare(apart).sides[1].decisions[0].ratio == pytest.approx(decided.ratio, rel=0.005)
    rates = {each.variant: each.throughput for each in explain(record).levels if each.level == 4}
    assert decided.ratio == pytest.approx((rates["node:0"] or 0) / (rates["baseline"] or 1), rel=0.01)
    assert decided.ratio == pytest.approx(0.59, abs=0.01)


def test_above_the_vcpus_what_lasts_is_compared_of_runs_too() -> None:
    """Early ends leave their CPUs to others: the rate sum of 5 sessions is more than these 4 CPUs do, 128 Mrows/s."""
    few = SimulatedHost("few", cores=4, threads=1, efficiency_cores=2, efficiency_speed=0.6, noise=0.002)
    many = SimulatedHost("many", cores=5, threads=1, noise=0.002)
    runs = [simulate(host, (1, 4, 5), repeats=6, seed=3, run_id=host.name) for host in (few, many)]
    both = [replace(run, rounds=tuple(each for each in run.rounds if each.level != 4)) for run in runs]
    small = compare([Candidate("few", both[0]), Candidate("many", both[1])]).baseline
    level = next(each for each in explain(runs[0]).levels if each.level == 5)
    assert level.even is Answer.NO
    assert (level.throughput or 0) > 1.06 * 128
    assert small.figure("throughput").value == pytest.approx(1.025 * 128, rel=0.01)


def test_packed_against_spread_says_what_sharing_a_core_costs() -> None:
    spread = simulate(replace(HOST, smt_off=True), (1, 2, 4), repeats=3, seed=1, executions=3)
    slower = simulate(replace(HOST, smt_off=True, mrows_per_s=26.0), (1, 2, 4), repeats=3, seed=1, executions=3)
    record = simulate(HOST, (1, 2, 4), repeats=3, seed=1, executions=3)
    varied = by_size(
        ("baseline", tuple(range(8)), record), ("spread", (0, 1, 2, 3), spread), ("pack", tuple(range(8)), slower)
    )
    plan = replace(record.header.plan, variants=("baseline", "spread", "pack"))
    found = compare_variants(replace(varied, header=replace(record.header, plan=plan)))
    assert dict(found.penalties) == {2: pytest.approx(40 / 26, rel=0.02), 4: pytest.approx(40 / 26, rel=0.02)}


def test_a_cage_has_the_vcpus_that_it_leaves_though_its_sessions_run_on_every_cpu() -> None:
    """By CPU_COUNT; ``2.0 of 4`` was quoted of a cage of 2."""
    host = SimulatedHost("box", cores=4, threads=1, noise=0.002)
    caged = simulate(replace(host, cores=2), (1, 2, 4), repeats=6, seed=1)
    whole = simulate(host, (1, 2, 4), repeats=6, seed=2)
    every = tuple(range(4))
    run = by_size(("cage:2", every, caged), ("cage:8", every, whole), ("baseline", every, whole))
    quoted = [cores_words(each.quote) for each in compare_variants(run).variants]
    assert ["of 2" in quoted[0], "of 4" in quoted[1], "of 4" in quoted[2]] == [True, True, True], quoted
    remote = replace(run.header, host=None, plan=replace(run.header.plan, vcpus=None))
    assert one_variant(replace(run, header=remote), "cage:2").header.plan.vcpus == 2


def test_twice_the_same_are_no_variants() -> None:
    record = simulate(HOST, (1, 5), repeats=3, seed=1, variants=AA)
    assert one_variant(record, "aa1").header.host == record.header.host
    assert {each.variant for each in explain(record).levels} == set(AA)


def test_one_variant_is_no_comparison() -> None:
    record = simulate(HOST, (1, 2), repeats=2, seed=1)
    with pytest.raises(UsageError, match="two are needed"):
        compare_variants(record)


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "html"])
def test_every_form_shows_the_variants(varied: RunRecord, form: str) -> None:
    assert "smt_off" in str(load_format(form).render(shown(varied))).replace("\\", "")


# --- by CPUs


def scaled(
    *cpus: int, full: float = 40.0, last: float = 40.0, per_cpu: tuple[int, ...] = (1,), waits: float = 0.0
) -> RunRecord:
    """A host on which the largest count of CPUs runs at another speed."""
    parts = []
    for count in cpus:
        speed = last if count == cpus[-1] else full
        host = SimulatedHost(
            "box", cores=cpus[-1], threads=1, scheduler="smt_balancing", noise=0.002, mrows_per_s=speed, waits=waits
        )
        levels = tuple(each * count for each in per_cpu)
        record = simulate(replace(host, cores=count), levels, repeats=3, seed=count, executions=2)
        parts.append((f"ncpus:{count}", tuple(range(count)), record))
    return by_size(*parts)


def test_linear_scaling_is_called_so() -> None:
    found = by_cpus(scaled(1, 2, 4))
    assert found is not None
    assert [each.cpus for each in found.points] == [1, 2, 4]
    assert [each.times for each in found.points] == pytest.approx([1.0, 2.0, 4.0], rel=0.03)
    assert (found.linear_to, found.flat_from, found.per_cpu) == (4, None, 1.0)
    sentences = shown(scaled(1, 2, 4)).verdict
    assert sentences[0].startswith("Linear over all measured sizes: 4 CPUs have")
    assert sentences[1] == "One instance can have all 4 CPUs."


def test_where_it_flattens_several_instances_are_suggested() -> None:
    record = scaled(1, 2, 4, 8, last=22.0)
    found = by_cpus(record)
    assert found is not None
    assert (found.linear_to, found.flat_from) == (4, 4)
    first, second = shown(record).verdict
    assert first.startswith("Linear up to 4 CPUs (4.0")
    assert "from 4 CPUs on a further one adds little" in first
    assert second.startswith("2 instances of 4 CPUs would have 1.8")


def test_of_several_sessions_per_cpu_the_best_counts_for_each_cpu_set() -> None:
    """The search of the affinity FAQ: the most throughput that each CPU set gives, normalised to that of one CPU."""
    record = scaled(1, 2, per_cpu=(1, 2, 4), waits=0.4)
    found = by_cpus(record)
    assert found is not None
    assert (found.tried, found.per_cpu) == ((1.0, 2.0, 4.0), 4.0)
    assert [each.cpus for each in found.points] == [1, 2]
    for each in found.points:
        assert each.throughput == max(rate for _, rate in each.tried)
        assert each.sessions > each.cpus, "sessions that wait leave a CPU to others"
    content = shown(record)
    assert "the best of 1, 2 and 4 sessions per CPU" in content.title
    assert any("may do more" in sentence for sentence in content.verdict) is any(each.is_open for each in found.points)
    (tried,) = (section for section in content.sections if section.name == "tried")
    assert tried.tables[0].headings == ("CPUs", "1 per CPU", "2 per CPU", "4 per CPU")


def planned(record: RunRecord, status: str, levels: tuple[int, ...], rounds: int) -> RunRecord:
    """The same with what was asked for: three rounds of each of the levels, ``rounds`` in all."""
    plan = replace(record.header.plan, levels=levels, repeats=3, rounds=rounds)
    return RunRecord(replace(record.header, status=status, plan=plan), record.rounds)


def test_an_interrupted_run_of_the_same_levels_is_no_scaling_run() -> None:
    """Where the smaller one lacks its last level, all have a session per CPU, which nobody had asked for."""
    two, one = (simulate(SimulatedHost("box", cores=each, threads=1), (1, 2), repeats=1, seed=1) for each in (2, 1))
    alone = replace(one, rounds=tuple(each for each in one.rounds if each.level == 1))
    parts = (("baseline", (0, 1), two), ("policy:idle", (0, 1), two), ("cpus:0", (0,), alone))
    record = planned(by_size(*parts), "interrupted", (1, 2), 18)
    assert len(record.rounds) == 5
    assert by_cpus(record) is None
    content = shown(record)
    first, *others = content.verdict
    assert first == "The run was interrupted: 5 of 18 rounds are here, and the rest may change the answer."
    assert content.data()["verdict"][0] == first
    assert first in content.front.caveats
    assert not any("inear" in each or "instance" in each for each in others)


def test_an_interrupted_run_of_variants_counts_all_of_its_rounds(varied: RunRecord) -> None:
    """On its page, and on those of its variants, which have fewer."""
    header = replace(varied.header, status="interrupted")
    part = RunRecord(header, varied.rounds[:10])
    words = f"10 of {varied.header.plan.rounds} rounds"
    for found in (explain(part), measured("one", part, "smt_off").analysis):
        seen = next(each for each in found.findings if each.code == "incomplete-run")
        assert seen.seen == f"the run is interrupted with {words}"
        assert "dbcpu more" not in seen.remedy
    assert explain(part).verdict.startswith(f"Interrupted after {words}. ")


@pytest.mark.parametrize(
    ("status", "kept", "why"),
    [
        ("interrupted", 3, "not all planned rounds are there"),
        ("failed", 3, "not all planned rounds are there"),
        ("complete", 1, "some were measured in a single round"),
    ],
)
def test_of_too_few_rounds_no_scaling_is_claimed(status: str, kept: int, why: str) -> None:
    whole = scaled(1, 2)
    rounds = tuple(each for each in whole.rounds if each.repeat < kept)
    part = planned(replace(whole, rounds=rounds), status, (1, 2), len(rounds) + (status != "complete"))
    found = by_cpus(part)
    assert found is not None
    assert found.unclaimed == why
    content = shown(part)
    said = " ".join(content.verdict)
    assert f"Inconclusive whether throughput is linear: {why}." in said
    assert "One instance" not in said
    assert content.front.tone == "unknown"


def test_of_as_many_cpus_the_variant_named_first_is_told_of() -> None:
    one, two = (simulate(SimulatedHost("box", cores=each, threads=1), (each,), repeats=3, seed=each) for each in (1, 2))
    slow = simulate(SimulatedHost("box", cores=2, threads=1, mrows_per_s=20.0), (2,), repeats=3, seed=2)
    record = by_size(("ncpus:1", (0,), one), ("baseline", (0, 1), two), ("slow", (0, 1), slow))
    found = by_cpus(planned(record, "complete", (1, 2), len(record.rounds)))
    assert found is not None
    assert found.largest.variant == "baseline"


def test_variants_of_equal_size_are_not_taken_for_scaling(varied: RunRecord) -> None:
    assert by_cpus(varied) is None


# --- names and simulated hosts


@pytest.mark.parametrize(
    ("name", "run", "variant"),
    [
        ("last", "last", ""),
        ("last:spread", "last", "spread"),
        ("last:cpus:0-3", "last", "cpus:0-3"),
        ("C:/x.json:active:4", "C:/x.json", "active:4"),
        ("20261123-0301:irq:away", "20261123-0301", "irq:away"),
        ("last:postgresql://dba@db1:5432/x", "last", "postgresql://dba@db1:5432/x"),
        (
            "x:y.json.gz:oracle+oracledb://b@db1:1521/?service_name=o+together",
            "x:y.json.gz",
            "oracle+oracledb://b@db1:1521/?service_name=o+together",
        ),
    ],
)
def test_a_variant_behind_a_run_may_have_a_colon(name: str, run: str, variant: str) -> None:
    assert _run_and_variant(name) == (run, variant)


def test_a_simulated_host_knows_its_variants() -> None:
    record = simulate_now("c4.4xlarge", "1,9", variants="smt_off", repeats=1)
    assert record.header.plan.variants == ("baseline", "smt_off")
    with pytest.raises(UsageError, match=r"there are: baseline, .*, smt_off$"):
        simulate_now("c4.4xlarge", "1", variants="pack")
    with pytest.raises(UsageError, match="no second threads"):
        simulate_now("graviton", "1", variants="smt_off")


def test_the_times_of_a_row_are_all_as_delivered_also_where_its_level_is_at_one_pace() -> None:
    toggling = replace(HOST, cores=2, toggle=1.8, toggle_s=1.0, mrows_per_s=17)
    record = simulate(toggling, (1, 2, 4), repeats=6, seconds=1.5, seed=2, variants=("baseline", "smt_off"))
    rows = {(row.variant, row.level): row for each in compare_variants(record).variants for row in each.rows}
    assert all(row.least_s <= row.median_s <= row.most_s for row in rows.values())
    alone = explain(one_variant(record, "baseline"))
    assert all(each.at_one_pace for each in alone.levels if each.level == 2)
    delivered = [(each.elapsed_s or 0.0) / each.executions for each in alone.sessions if each.level == 2]
    pair = rows["baseline", 2]
    assert (pair.least_s, pair.most_s) == (min(delivered), max(delivered))
    assert pair.most_s > 1.15 * pair.least_s
