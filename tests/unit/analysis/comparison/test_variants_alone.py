"""The single sessions of the first variant are the reference of all: also for what they lost, not for their times only.

CPU 0 of the simulated host serves interrupts. A single session is seldom there on all CPUs, and often on CPUs 0 and 1.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, measured_sides
from dbcpu.analysis.comparison.measured_run import measured
from dbcpu.analysis.conclusions import single_run
from dbcpu.analysis.conclusions.headline import one_word
from dbcpu.analysis.conclusions.single_run import explain_variants, explained
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord, Session
from dbcpu.reports.documents.quoted import quoted_of_run
from dbcpu.simulator import SimulatedHost, simulate

FEW = "cpus:0-1"


@pytest.fixture(scope="module")
def run() -> RunRecord:
    host = SimulatedHost("box", cores=4, threads=1, irq=0.5)
    return simulate(host, (1, 2, 4), repeats=6, seed=1, variants=("baseline", FEW))


@pytest.fixture(scope="module")
def analysis(run: RunRecord) -> Analysis:
    return explain(run)


def test_usable_cores_are_divided_by_what_the_sessions_that_they_are_reckoned_in_lost(
    run: RunRecord, analysis: Analysis
) -> None:
    alone = next(each for each in analysis.levels if (each.variant, each.level) == (FEW, 1))
    assert alone.counted_slowdown == pytest.approx(2.0, rel=0.05), "its own single session is no reference"
    assert analysis.variants is not None
    found = analysis.variants.variants[1]
    assert found.quote.usable_cores == pytest.approx(1.5, rel=0.05), "a CPU, and half of another"
    assert found.quote_notes.divided_by is None
    assert "a whole one would do" not in " ".join(quoted_of_run(run, analysis))


def test_what_is_divided_names_whose_single_session_it_is(run: RunRecord) -> None:
    """Where the first variant's own lost half of its time."""
    turned = {FEW: "baseline", "baseline": FEW}
    other = RunRecord(run.header, tuple(replace(each, variant=turned[each.variant]) for each in run.rounds))
    first, second = quoted_of_run(other, explain(other))
    assert "one session alone does not get a whole CPU: a whole one would do " in first
    assert "one session alone under baseline does not get a whole CPU: a whole one would do " in second


def test_what_single_sessions_lost_is_that_of_the_reference(analysis: Analysis) -> None:
    """Taken off what the variant's own lose, interrupts explain nothing of what these lost."""
    alone, two = (each for each in analysis.levels if each.variant == FEW and each.level < 4)
    assert (alone.main_cause, two.main_cause) == (Cause.IRQ, Cause.IRQ)
    assert Cause.UNEXPLAINED not in {each.cause for each in analysis.sessions if each.variant == FEW}


def test_what_the_host_did_is_counted_in_the_rounds_of_all_variants(run: RunRecord, analysis: Analysis) -> None:
    (found,) = [each for each in analysis.findings if each.code == "interrupts"]
    parts = [explain(one_variant(run, name)).findings for name in ("baseline", FEW)]
    counted = [each.seen.split(", in ")[1] for part in parts for each in part if each.code == "interrupts"]
    many = sum(int(each.split()[0]) for each in counted)
    assert [each.endswith(" of 18 rounds") for each in counted] == [True, True]
    assert found.seen.endswith(f", in {many} of {len(run.rounds)} rounds")
    assert " under " in found.seen.split(")")[0]


def unwatched(session: Session) -> Session:
    return replace(session, residency=(), cpu_s=None)


def test_what_other_processes_did_and_what_was_not_seen_is_counted_in_the_rounds_of_all_variants() -> None:
    host = SimulatedHost("box", cores=4, threads=1, noisy_neighbour=0.5)
    made = simulate(host, (1, 2), repeats=3, seed=1, variants=("baseline", FEW))
    rounds = [replace(each, gate=replace(each.gate, settled=at > 5)) for at, each in enumerate(made.rounds)]
    blind = [replace(each, sessions=tuple(map(unwatched, each.sessions)), not_sampled="no") for each in rounds[8:]]
    rounds = [*rounds[:8], *blind]
    seen = {each.code: each.seen for each in explain(RunRecord(made.header, tuple(rounds))).findings}
    assert len({each.variant for each in rounds[:6]}) == len({each.variant for each in rounds[8:]}) == 2
    assert f"before 6 of {len(rounds)} rounds" in seen["not-settled"]
    assert seen["not-sampled"].startswith(f"{len(rounds) - 8} of {len(rounds)} rounds")
    assert f"of all vCPUs under {FEW} (in {len(rounds)} of {len(rounds)} rounds)" in seen["foreign-load"]


def test_the_answer_of_the_run_takes_nothing_from_another_variant() -> None:
    host = SimulatedHost("box", cores=4, threads=1, steal=0.25, irq=0.5)
    found = explain(simulate(host, (1, 2), repeats=3, seed=1, variants=("baseline", FEW)))
    even = {(each.variant, each.level): each.even for each in found.levels}
    assert (even["baseline", 2], even[FEW, 2]) == (Answer.UNDECIDED, Answer.NO)
    assert one_word(found) == "slower"


def test_no_rounds_are_advised_that_cannot_be_added(box: RunRecord) -> None:
    found = explain(box)
    assert found.more_rounds is not None
    (seen,) = [each for each in found.findings if each.code == "inconclusive"]
    again = f"`--repeats {found.more_rounds.rounds}`"
    assert f"all variants measured again with {again} would probably decide" in found.verdict.lower()
    assert f"all variants measured again, {again}" in seen.remedy
    assert "dbcpu more" not in found.verdict + seen.remedy
    assert "more rounds (about" not in found.verdict


@pytest.fixture
def box() -> RunRecord:
    """One that is measured by dbcpu, as far as its header says: a simulated one has no more rounds anyway."""
    made = simulate(
        SimulatedHost("box", cores=8, threads=1, irq=0.3), (1, 2), repeats=6, seed=1, variants=("baseline", FEW)
    )
    database = replace(made.header.database, kind="sqlite")
    return replace(made, header=replace(made.header, database=database))


def test_more_than_so_many_vcpus_can_do_is_said_of_these() -> None:
    """Steal took less of the one CPU of three sessions than of a single session's: they do more than it alone."""
    host = SimulatedHost("box", cores=2, threads=1, steal=0.6)
    found = explain(simulate(host, (1, 2, 3), repeats=3, seed=3, variants=("baseline", "cpus:0")))
    (seen,) = [each.seen for each in found.findings if each.code == "baseline-too-slow"]
    assert seen.startswith("under cpus:0: at N=2-3 the throughput is up to")
    assert seen.endswith("x of what 1 vCPU at the speed of a single session would reach (N=3)")


def test_a_comparison_of_a_variant_reckons_in_the_same_single_sessions_as_its_run(run: RunRecord) -> None:
    """Another peak throughput was named by each, and usable cores in rates of a session that had lost half its time."""
    beside, whole = measured(FEW, run, FEW).analysis, explain_variants(run)[FEW]
    assert (beside.reference, beside.capacity) == (whole.reference, whole.capacity)


def test_variants_of_a_run_that_are_compared_explain_the_first_one_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where each side has its own copy of the record, and the first variant is a side itself."""
    host, names = SimulatedHost("box", cores=2, threads=1, irq=0.5), ("baseline", "cpus:0", "cpus:1")
    one, other = (simulate(host, (1, 2), repeats=2, seed=1, size="tiny", variants=names) for _ in range(2))
    asked: list[str] = []

    def counted(record: RunRecord, *given: Any, **named: Any) -> Any:
        asked.append(record.header.plan.variants[0])
        return explained(record, *given, **named)

    monkeypatch.setattr(single_run, "explained", counted)
    sides = measured_sides([(name, [Candidate(name, one if name == "cpus:1" else other, name)]) for name in names])
    assert sorted(asked) == sorted(names)
    monkeypatch.undo()
    whole = explain_variants(one)
    assert [each.first.analysis.levels for each in sides] == [whole[name].levels for name in names]
