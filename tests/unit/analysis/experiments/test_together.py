"""What targets lose beside each other, and what may be asked for."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.experiments.party_runs import party_runs
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.experiments.base import GroupMember
from dbcpu.measure.experiments.together import TargetGroup, TogetherShape
from dbcpu.record.finding_entry import Concerns, Level
from dbcpu.record.header import TOGETHER
from dbcpu.record.rounds import HostCounters, Round, RunRecord, Session
from dbcpu.reports import charts
from dbcpu.reports.documents.answer_terms import answer_terms
from dbcpu.reports.documents.experiments import experiment_facts, experiment_tables
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import sessions_of_round
from dbcpu.reports.formats import html, table
from dbcpu.simulator import SimulatedHost
from dbcpu.simulator.experiments import RunOptions, simulate_together
from dbcpu.store.record_file import write_record
from dbcpu.targets.base import HostReading
from dbcpu.workflows.compare import comparison_document
from dbcpu.workflows.launch import Delivery, launch_together
from dbcpu.workflows.measure_run import Choices
from support.builders import experiments as build
from support.builders.comparison import compare
from support.builders.record import ROWS
from support.doubles.target import FakeTarget

GROUP = (GroupMember("a", Request("a", "sqlite"), 2), GroupMember("b", Request("b", "sqlite"), 3, (0,)))


def test_partitions_of_their_own_do_not_disturb_each_other() -> None:
    analysis = explain(build.together([1.0, 2.0], [1.01, 2.02]))
    assert analysis.together is not None
    assert analysis.together.apart
    assert [each.told for each in analysis.together.parties] == [False, False]
    assert [each.loss for each in analysis.together.parties] == pytest.approx([1.01, 1.01], rel=1e-3)
    assert analysis.verdict.endswith("in no round was any of them slower by more than 2.0 %.")


def test_the_time_of_a_target_alone_is_that_of_the_table_of_levels() -> None:
    """With one session its rounds that show drift are rounds alone like the others."""
    host = SimulatedHost("h", cores=2, threads=1, noise=0.05)
    analysis = explain(simulate_together(host, (1, 2), (), RunOptions(size="tiny", repeats=3, seed=3)))
    assert analysis.together is not None
    views = {(each.variant, each.level): each for each in analysis.levels}
    for party in analysis.together.parties:
        view = views[party.name, party.sessions]
        assert (party.alone_s, party.alone_rate) == (view.median_s, view.throughput)


def test_whether_a_slowdown_is_significant_is_not_known_before_all_ran_together() -> None:
    """ "no" stood there after Ctrl-C in the rounds of one target alone."""
    record = build.together([1.0, 2.0], [1.01, 2.02])
    alone = replace(record, rounds=tuple(each for each in record.rounds if each.variant != TOGETHER))
    for some, said in ((record, "no"), (alone, "-")):
        (told,) = experiment_tables(explain(some))
        at = [each.heading for each in told.columns].index("significant")
        assert [row[at] for row in told.texts()] == [said, said]


def test_a_noisy_neighbour_is_told_by_who_loses() -> None:
    record = build.together([1.0, 2.0], [1.7, 2.04], apart=False)
    analysis = explain(record)
    assert analysis.together is not None
    assert [each.told for each in analysis.together.parties] == [True, False]
    assert "free to share CPUs, a has a slowdown of 1.70x and b has a slowdown of 1.02x" in analysis.verdict
    assert analysis.verdict.endswith("significant for a (unexplained), in no round was b slower by more than 3.0 %.")
    assert next(iter(charts.drawn(document(record, analysis).charts, ["svg"])["svg"])) == "together"
    assert "Separately and together" in html.render(document(record, analysis))


def test_a_target_that_may_have_lost_a_tenth_is_inconclusive_where_another_loses_much() -> None:
    verdict = explain(build.together([1.0, 2.0], [1.7, 2.19])).verdict
    assert re.search(r"significant for a \(unexplained\), inconclusive for b \([\d.]+x to [\d.]+x\)", verdict), verdict


def test_repeats_are_those_of_a_target_without_the_single_sessions_of_another() -> None:
    """One of one session, one of two: the two rounds of one session of the latter show drift alone."""
    run = simulate_together(SimulatedHost(cores=2, threads=1), (1, 2), ((), ()), RunOptions(repeats=4, seed=1))
    seen = next(each.seen for each in explain(run).findings if each.code == "quick-run")
    assert seen == "N=2-3 have 4 repeats, the fewest"


def test_the_round_that_is_drawn_is_one_of_all_together() -> None:
    host = SimulatedHost("h", cores=2, threads=2)
    analysis = explain(simulate_together(host, (2, 2), (), RunOptions(size="tiny", repeats=3, seed=3)))
    assert {each.variant for each in representative_rounds(analysis)} == {TOGETHER}
    assert len(sessions_of_round(analysis)) == 4


@pytest.mark.parametrize(("rounds", "lucky_s", "told"), [(3, 2.03, False), (4, 2.05, True)])
def test_three_rounds_that_overlap_tell_no_loss_but_more_of_which_one_does(
    rounds: int, lucky_s: float, told: bool
) -> None:
    """Of four, all of 1.3 but one, it was inconclusive."""
    record = build.together([2.0, 2.0], [2.6, 2.6], rounds)
    lucky, *_ = [each for each in record.rounds if each.variant == "together"]
    at_once = build.together([2.0, 2.0], [lucky_s, 2.6], rounds).rounds[lucky.order]
    analysis = explain(replace(record, rounds=tuple(at_once if each is lucky else each for each in record.rounds)))
    assert analysis.together is not None
    assert [round(each.loss or 0, 1) for each in analysis.together.parties] == [1.3, 1.3]
    assert [each.told for each in analysis.together.parties] == [told, True]


@pytest.mark.parametrize(("rounds", "told"), [(2, False), (3, True)])
def test_two_rounds_tell_no_loss(rounds: int, told: bool) -> None:
    analysis = explain(build.together([2.0, 2.0], [3.0, 2.0], rounds))
    assert analysis.together is not None
    assert [each.told for each in analysis.together.parties] == [told, False]


def test_rates_are_the_partys_own() -> None:
    analysis = explain(build.together([1.0, 2.0], [2.0, 4.0]))
    assert analysis.together is not None
    rows = ROWS / 1e6
    assert [each.alone_rate for each in analysis.together.parties] == pytest.approx([2 * rows, rows], rel=0.02)
    assert [each.beside_rate for each in analysis.together.parties] == pytest.approx([rows, rows / 2], rel=0.02)


def test_rounds_are_each_alone_and_all_together_in_turns() -> None:
    specs = TogetherShape(GROUP).specs((2, 3, 5), 2, 1, ("baseline",))
    assert [(each.variant, each.level) for each in specs[2:-2]] == [
        ("a", 2), ("b", 3), (TOGETHER, 5), (TOGETHER, 5), ("b", 3), ("a", 2),
    ]  # fmt: skip
    assert [(each.variant, each.level, each.anchor) for each in specs[:2]] == [("a", 1, True), ("b", 1, True)]


def test_ordinals_are_dealt_out_in_the_order_of_the_targets() -> None:
    group = TargetGroup(GROUP, Guard())
    assert [group.owner_of(ordinal) for ordinal in range(5)] == [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)]
    group.active_index = 1
    assert [group.owner_of(ordinal) for ordinal in range(3)] == [(1, 2), (1, 3), (1, 4)]


class Counting(FakeTarget):
    """A target whose database counts its host's CPUs; ``host`` '' is one that does not say which."""

    def __init__(self, host: str, busy_s: float) -> None:
        super().__init__()
        self.read = HostReading("V$OSSTAT", 1.0, {"busy_s": busy_s, "idle_s": 1.0}, 2, host=host)

    def host_reading(self) -> HostReading | None:
        return self.read


@pytest.mark.parametrize(
    ("hosts", "active", "expected"),
    [
        (("db1", "db1"), None, 1.0),
        (("db1", "db2"), None, None),
        (("", ""), None, None),
        (("db1", "db2"), 1, 2.0),
        (("db1", None), None, None),
        (("db1", None), 0, 1.0),
    ],
)
def test_hosts_counters_are_those_of_one_host(
    hosts: tuple[str | None, ...], active: int | None, expected: float | None
) -> None:
    group = TargetGroup(GROUP, Guard())
    group.targets = [FakeTarget() if host is None else Counting(host, at + 1.0) for at, host in enumerate(hosts)]
    group.active_index = active
    found = group.host_reading()
    assert (found.seconds["busy_s"] if found else None) == expected


def test_beside_others_the_hosts_counters_are_not_a_targets_own() -> None:
    record = build.together([1.0, 2.0], [1.7, 2.04], apart=False)
    counters = HostCounters("V$OSSTAT", 2.0, 2, 2.0, 2.0)
    record = replace(record, rounds=tuple(replace(each, host_counters=counters) for each in record.rounds))
    alone, beside = party_runs(record)[:2]
    assert all(each.host_counters for each in alone.rounds)
    assert {each.host_counters for each in beside.rounds if not each.anchor} == {None}


@pytest.mark.parametrize(
    ("targets", "given", "complaint"),
    [
        (("sqlite",), {}, "--together needs two targets or more"),
        (("sqlite", "sqlite"), {"sessions": "1-4"}, "give one number for each of them, or one per target: "),
        (("sqlite", "sqlite"), {"sessions": "1:2:3"}, "--sessions 4:4"),
        (("sqlite", "sqlite"), {"cpus": ("0",)}, "give it once per target, in their order: --cpus 0-3 --cpus 4-7"),
        (("sqlite", "sqlite"), {"cpus": ("0", "x")}, "is not understood at 'x'"),
        (("sqlite", "sqlite"), {"aa": True}, "--aa and --together cannot be combined"),
    ],
)
def test_what_cannot_be_is_refused_in_words(targets: tuple[str, ...], given: dict[str, Any], complaint: str) -> None:
    cpus = given.pop("cpus", ())
    delivery = Delivery(store=None, out=None, formats=(), json_file=None, fail_on="never", yes=True, quiet=True)
    with pytest.raises(UsageError) as refused:
        launch_together(targets, Choices(**given), delivery, lambda *_: None, cpus=cpus)
    assert complaint in str(refused.value)


def test_each_target_is_a_run_of_its_own_alone_and_beside_the_others() -> None:
    record = build.together([1.0, 2.0], [1.7, 2.04], apart=False)
    names = [each.header.plan.variants[0] for each in party_runs(record)]
    assert names == ["a", "a+together", "b", "b+together"]
    alone, beside = party_runs(record)[:2]
    parties = record.header.plan.parties
    assert {len(each.sessions) for each in beside.rounds if not each.anchor} == {parties[0].sessions}
    found = compare([Candidate("alone", alone, "a"), Candidate("beside", beside, "a+together")])
    (decided, *_) = found.sides[1].decisions
    assert decided.ratio == pytest.approx(1 / 1.7, rel=0.05)
    two = compare([Candidate("a", alone, "a"), Candidate("b", party_runs(record)[2], "b")]).sides[1].decisions[0]
    assert decided.remedy == two.remedy == "`dbcpu run A B --together --repeats 6`"


def test_other_runs_have_no_targets() -> None:
    assert party_runs(build.pool({1: 2.0})) == ()


def test_a_target_that_is_a_url_is_a_side_by_its_name(tmp_path: Path) -> None:
    url = "oracle+oracledb://bench@db1:1521/?service_name=orcl"
    made = build.together([1.0, 2.0], [1.7, 2.04], rounds=6, apart=False)
    plan = made.header.plan
    first, *others = plan.parties
    renamed = replace(
        made,
        header=replace(
            made.header,
            plan=replace(plan, parties=(replace(first, target=url), *others), variants=(url, *plan.variants[1:])),
        ),
        rounds=tuple(replace(each, variant=url) if each.variant == first.target else each for each in made.rounds),
    )
    file = tmp_path / "run.json"
    write_record(file, renamed)
    shown = table.render(comparison_document([f"{file}:{url}", f"beside={file}:{url}+together"]))
    assert "beside against" in " ".join(shown.split())
    assert "throughput at N=2 is 41 % lower" in " ".join(shown.split())


def test_sessions_that_dbcpu_held_on_fewer_cpus_are_no_unknown_pinning() -> None:
    """Two databases of one and two sessions, each on one CPU: the second's sessions take turns, as was asked for."""
    host = SimulatedHost("small", cores=2, threads=1, noise=0.002)
    record = simulate_together(host, (1, 2), [(0,), (1,)], RunOptions(size="tiny", repeats=3, seed=1))
    seen = {each.code: each for each in explain(record).findings}
    (slow, uneven) = (seen[code] for code in ("slow-together", "uneven-sessions"))
    name = record.header.plan.parties[1].target
    for found in (slow, uneven):
        assert f"`--cpus` held the 2 sessions of {name} on 1 CPU" in found.seen
        assert found.remedy.startswith("give each target as many CPUs as it has sessions")
    assert slow.level is Level.INFO
    assert "although there is a CPU for each" not in slow.seen
    assert "taskset" not in slow.remedy


def beside(host: SimulatedHost, cpus: tuple[tuple[int, ...], ...] = ()) -> Analysis:
    return explain(simulate_together(host, (2, 2), cpus, RunOptions(size="short", repeats=3, seed=1)))


@pytest.mark.parametrize(
    ("cpus", "place"),
    [
        ((), "free to share CPUs"),
        (((0, 1), (0, 1)), "all pinned to CPUs 0-1"),
        (((0,), (0,)), "all pinned to CPU 0"),
        (((0, 1), (2, 3)), "each on its own CPUs"),
        (((0, 1), (1, 2)), "pinned by `--cpus` (database-1 on CPUs 0-1 and database-2 on CPUs 1-2)"),
    ],
)
def test_targets_that_are_held_are_not_free(cpus: tuple[tuple[int, ...], ...], place: str) -> None:
    assert beside(SimulatedHost("h", cores=4, threads=1), cpus).verdict.startswith(f"Together, {place}, database-1 ")


def test_targets_that_are_held_on_the_same_cpus_are_told_to_have_more() -> None:
    analysis = beside(SimulatedHost("h", cores=4, threads=1), ((0, 1), (0, 1)))
    slow = next(each for each in analysis.findings if each.code == "slow-together")
    assert "`--cpus` held the 4 sessions of database-1 and database-2 on 2 CPUs" in slow.seen
    assert headline(analysis).remedy == slow.remedy
    assert slow.remedy.startswith("give each target as many CPUs as it has sessions (`--cpus`)")


@pytest.mark.parametrize(
    ("sessions", "cpus", "remedy", "means"),
    [
        # Each alone has no more than two of the cores, and both together have all four: no core for each of eight.
        ((4, 4), ((0, 1, 4, 5), (2, 3, 6, 7)), "run no more sessions of all targets together than cores", "no core"),
        # Both have all cores between them, and two sessions share one of these.
        ((2, 2), ((0, 4), (1, 5, 2, 6, 3, 7)), "give each target a core for each", "other cores were not theirs"),
    ],
)
def test_what_is_said_of_held_targets_is_true_of_both_together_too(
    sessions: tuple[int, int], cpus: tuple[tuple[int, ...], ...], remedy: str, means: str
) -> None:
    host = SimulatedHost("h", cores=4, threads=2)
    found = explain(simulate_together(host, sessions, cpus, RunOptions(size="short", repeats=3, seed=1)))
    seen = {each.code: each for each in found.findings}
    slow, shared = seen["slow-together"], seen["shared-cores"]
    assert slow.remedy.startswith(remedy)
    assert f"at N={sessions[0]},{sum(sessions)} sessions shared a core while no core that they may use" in shared.seen
    assert means in shared.meaning
    assert ("core for each of its sessions" in shared.remedy) is (sum(sessions) <= 4)


def test_two_of_three_targets_on_one_cpu_are_told_whatever_the_third_has() -> None:
    host = SimulatedHost("h", cores=4, threads=1)
    record = simulate_together(host, (1, 1, 1), [(0,), (0,), (1, 2)], RunOptions(size="short", repeats=3, seed=1))
    found = [each for each in explain(record).findings if each.remedy.startswith("give each target as many CPUs")]
    assert found
    assert all("the 2 sessions of database-1 and database-2 on 1 CPU" in each.seen for each in found)


def test_cpus_on_which_a_target_happened_to_run_look_like_no_pinning() -> None:
    record = build.together([1.0, 2.0], [1.7, 2.04], apart=False)
    text = table.render(document(record, explain(record)))
    assert re.search(r"\n a +2 +any ", text)


def test_a_target_that_is_faster_beside_the_others_has_no_slowdown() -> None:
    verdict = explain(build.together([1.0, 2.0], [0.97, 2.0], apart=False)).verdict
    assert "a takes 0.97x of its time separately and b has a slowdown of 1.00x" in verdict


def test_a_quota_is_the_cause_and_no_disturbance() -> None:
    analysis = beside(SimulatedHost("h", cores=4, threads=1, quota_cpus=2.0))
    assert analysis.verdict.endswith("significant for all (CPU quota).")
    assert headline(analysis).remedy.startswith("raise `cpu.max`")


def of_two_kinds(same: bool = False) -> RunRecord:
    """A single session of b takes a fifth of one of a; beside the other each takes twice as long as separately."""
    made = build.together([1.0, 0.2], [2.0, 0.4], apart=False)
    first, second = made.header.plan.parties
    other = second if same else replace(second, database=replace(second.database, version="17.0"))
    header = replace(made.header, plan=replace(made.header.plan, parties=(first, other)))
    alone = [
        replace(each, order=100 + at, level=1, sessions=(replace(each.sessions[0], ordinal=0),), anchor=True)
        for at, each in enumerate(made.rounds)
        if each.variant != TOGETHER
    ]
    return replace(made, header=header, rounds=(*made.rounds, *alone))


def with_sessions(run: RunRecord, variant: str, change: Callable[[Session], Session]) -> RunRecord:
    """The run with other sessions in the rounds of one variant."""
    rounds = [
        replace(each, sessions=tuple(map(change, each.sessions))) if each.variant == variant else each
        for each in run.rounds
    ]
    return replace(run, rounds=tuple(rounds))


def failed(session: Session) -> Session:
    return replace(session, error="terminated", answer_ok=None)


@pytest.mark.parametrize("same", [True, False])
def test_sessions_that_failed_beside_each_other_are_a_problem_whatever_the_targets_are(same: bool) -> None:
    """Of two kinds nothing reported it, and `--fail-on problem` passed."""
    run = with_sessions(of_two_kinds(same), TOGETHER, lambda each: failed(each) if each.ordinal == 3 else each)
    wrong = with_sessions(
        of_two_kinds(same), TOGETHER, lambda each: replace(each, answer_ok=False) if each.ordinal == 3 else each
    )
    for some, code in ((run, "failed-session"), (wrong, "wrong-answer")):
        assert {each.code: each.level for each in explain(some).findings}[code] == Level.PROBLEM


def test_a_target_of_which_nothing_is_known_is_named_and_no_other_stands_for_it() -> None:
    run = with_sessions(of_two_kinds(), TOGETHER, lambda each: failed(each) if each.ordinal > 1 else each)
    assert ": significant for a (slower CPU); not known for b." in explain(run).verdict
    alone = replace(run, rounds=tuple(each for each in of_two_kinds().rounds if each.variant == TOGETHER))
    said = "No target has a valid round separately: what they lose together is not known."
    assert explain(alone).verdict.startswith(said)


def test_the_row_of_all_together_has_no_slowdown_of_some_targets_alone() -> None:
    """b has no single session: 2.00x was that of a."""
    run = of_two_kinds()
    kept = replace(run, rounds=tuple(each for each in run.rounds if each.level > 1 or each.variant == "a"))
    beside = next(each for each in explain(kept).levels if each.variant == TOGETHER)
    assert (beside.slowdown_median, beside.slowdown_max, beside.causes) == (None, None, ())


def test_the_baseline_of_targets_of_one_kind_is_named_by_the_target_that_it_is_of() -> None:
    run = of_two_kinds(same=True)
    wrong = replace(
        run,
        rounds=tuple(
            replace(each, sessions=tuple(map(failed, each.sessions)))
            if (each.level, each.variant) == (1, "a")
            else each
            for each in run.rounds
        ),
    )
    for some, name in ((run, "a"), (wrong, "b")):
        assert f"single session of {name} " in table.render(document(some, explain(some)))


def test_targets_of_different_kinds_have_a_baseline_each_and_no_figure_that_mixes_them() -> None:
    run = of_two_kinds()
    analysis = explain(run)
    text = table.render(document(run, analysis))
    assert "single session of a 1.0" in text
    assert "each session is compared with a single session of its own target" in " ".join(text.split())
    levels = {(each.variant, each.level): each for each in analysis.levels}
    for key, slowdown in ((("a", 2), 1.0), (("b", 1), 1.0), (("b", 2), 1.0), ((TOGETHER, 4), 2.0)):
        assert levels[key].slowdown_median == pytest.approx(slowdown, rel=0.03)
    beside = levels[TOGETHER, 4]
    mixed = (beside.median_s, beside.max_over_min, beside.slow, beside.throughput, beside.ideal_throughput)
    assert set(mixed) == {None}
    assert beside.slowdown_max == pytest.approx(2.0, rel=0.03)
    assert "baseline-too-slow" not in {each.code for each in analysis.findings}
    assert analysis.together is not None
    assert [each.loss for each in analysis.together.parties] == pytest.approx([2.0, 2.0], rel=0.02)


def with_plans(run: RunRecord, *hashes: float) -> RunRecord:
    """The sessions of each target with a plan hash value of their own; of three values the last is that of ordinal 3 in
    the rounds of all."""
    first = run.header.plan.parties[0]

    def of_round(one: Round) -> Round:
        def planned(each: Session) -> Session:
            beside = one.variant == TOGETHER
            at = int(each.ordinal >= first.sessions) if beside else int(one.variant != first.target)
            at = 2 if beside and each.ordinal == 3 and len(hashes) > 2 else at
            return replace(each, db={**each.db, "plan_hash_value": hashes[at]})

        return replace(one, sessions=tuple(map(planned, one.sessions)))

    return replace(run, rounds=tuple(map(of_round, run.rounds)))


@pytest.mark.parametrize(
    ("same", "hashes", "seen"),
    [
        (False, (1.0, 2.0), None),
        (False, (1.0, 2.0, 3.0), "more than one plan by b: plan hash values 2, 3"),
        (True, (1.0, 2.0), "more than one plan: plan hash values 1, 2"),
        (True, (1.0, 1.0), None),
    ],
)
def test_databases_of_different_kinds_have_a_plan_each(same: bool, hashes: tuple[float, ...], seen: str | None) -> None:
    """A plan of its own for each was a problem, and `--fail-on problem` failed."""
    found = {each.code: each.seen for each in explain(with_plans(of_two_kinds(same), *hashes)).findings}
    if seen is None:
        assert "plans-differ" not in found
    else:
        assert found["plans-differ"].endswith(seen)


def test_nothing_that_compares_sessions_is_found_in_the_rounds_of_two_kinds() -> None:
    """Sessions of b take a fifth of those of a, which is no inequality."""
    beside = [each for each in explain(of_two_kinds()).findings if f"under {TOGETHER}: " in each.seen]
    assert [each.code for each in beside if each.concerns is Concerns.COMPARISON] == []


def of_kinds(run: RunRecord) -> RunRecord:
    """The same with a version of its own for each database."""
    parties = tuple(
        replace(each, database=replace(each.database, version=f"{at}.0"))
        for at, each in enumerate(run.header.plan.parties)
    )
    return replace(run, header=replace(run.header, plan=replace(run.header.plan, parties=parties)))


@pytest.mark.parametrize(
    ("host", "cpus", "helps"),
    [
        (SimulatedHost("h", cores=4, threads=1), (), "run no more than 4 busy sessions"),
        (SimulatedHost("h", cores=8, threads=1, quota_cpus=4.0), (), "raise `cpu.max`"),
        (SimulatedHost("h", cores=4, threads=2), (), "run "),
        (SimulatedHost("h", sockets=2, cores=4, threads=1), ((0, 1, 2, 3),) * 2, "give each target as many CPUs"),
    ],
)
@pytest.mark.parametrize("rounds", [1, 3])
def test_what_helps_is_said_of_targets_of_different_kinds_too(
    host: SimulatedHost, cpus: tuple[tuple[int, ...], ...], helps: str, rounds: int
) -> None:
    """Nothing was said, for the row of all together has no answer of its own."""
    record = simulate_together(host, (4, 4), cpus, RunOptions(size="short", repeats=rounds, seed=1))
    for some in (record, of_kinds(record)):
        remedy = headline(explain(some)).remedy
        assert remedy.startswith(helps)
        assert remedy.endswith("To decide: more rounds (`--repeats 6`)") == (rounds == 1)


def test_targets_on_threads_of_the_same_cores_are_no_strangers_to_each_other() -> None:
    """ "No placement avoids SMT sharing" and "a pool of 4" stood there, with 4 sessions and two cores left idle."""
    host = SimulatedHost("h", cores=4, threads=2)
    run = simulate_together(host, (2, 2), [(0, 1), (4, 5)], RunOptions(size="short", repeats=3, seed=1))
    for some in (run, of_kinds(run)):
        analysis = explain(some)
        assert analysis.verdict.startswith("Together, each on its own CPUs, which are threads of the same cores, ")
        assert headline(analysis).remedy.startswith("give each target a core for each of its sessions (`--cpus`")
    found = {each.code: each for each in explain(run).findings}
    assert "while no core that they may use was idle" in found["shared-cores"].seen
    assert found["slow-together"].remedy == found["shared-cores"].remedy
    full = simulate_together(host, (4, 4), [(0, 1, 2, 3), (4, 5, 6, 7)], RunOptions(size="short", repeats=3, seed=1))
    assert headline(explain(full)).remedy.startswith("run one session per core")


def half_failed(run: RunRecord, rounds: int) -> RunRecord:
    """So many of the rounds of all in which every session of b failed: those of a had all CPUs, and are as fast as
    separately."""
    beside = [each.order for each in run.rounds if each.variant == TOGETHER][:rounds]
    alone = next(each for each in run.rounds if each.variant == "a" and each.level == 2)

    def of(each: Round) -> Round:
        of_b = [failed(one) for one in each.sessions if one.ordinal > 1]
        return replace(each, sessions=(*alone.sessions, *of_b)) if each.order in beside else each

    return replace(run, rounds=tuple(map(of, run.rounds)))


@pytest.mark.parametrize("same", [True, False])
def test_rounds_in_which_sessions_of_another_target_failed_do_not_count(same: bool) -> None:
    """Half of them gave 1.50x and "inconclusive", where the row of all together said 2.00x."""
    kinds = of_two_kinds(same)
    again = [replace(each, order=each.order + 1000, repeat=each.repeat + 3) for each in kinds.rounds]
    analysis = explain(half_failed(replace(kinds, rounds=(*kinds.rounds, *again)), 3))
    assert analysis.together is not None
    assert [(each.name, each.rounds, each.slower) for each in analysis.together.parties] == [
        ("a", 3, Answer.YES), ("b", 3, Answer.YES),
    ]  # fmt: skip
    assert [each.loss for each in analysis.together.parties] == pytest.approx([2.0, 2.0], rel=0.03)
    beside = next(each for each in analysis.levels if each.variant == TOGETHER)
    assert same or beside.slowdown_median == pytest.approx(2.0, rel=0.03)


def test_where_sessions_failed_in_every_round_nothing_is_shown_of_the_others() -> None:
    analysis = explain(half_failed(of_two_kinds(), 3))
    assert analysis.together is not None
    a, b = analysis.together.parties
    assert (a.whole, a.slower, b.loss) == (False, Answer.UNDECIDED, None)
    assert analysis.verdict.startswith("Together, free to share CPUs, it is inconclusive whether")
    assert "In every round of all targets a session failed: the others had more CPU" in analysis.verdict
    assert "When no session fails any more, measure the targets together again." in analysis.verdict
    assert "may decide" not in analysis.verdict
    assert "`dbcpu doctor TARGET` checks what can prevent a run" in headline(analysis).remedy
    assert headline(analysis).headline.startswith("Inconclusive: a ")


def test_a_target_as_a_run_beside_the_others_has_no_round_in_which_these_failed() -> None:
    run = half_failed(of_two_kinds(), 2)
    for at, kept in ((1, 1), (3, 3)):  # its own failed sessions are said of b
        beside = [each for each in party_runs(run)[at].rounds if not each.anchor]
        assert len(beside) == kept


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_loss_that_was_counted_is_said_where_rounds_are_too_few(rounds: int) -> None:
    """The headline was that none is shown to be slower, without what helps, beside a row with 2.00x."""
    host = SimulatedHost("h", cores=4, threads=1)
    record = simulate_together(host, (4, 4), (), RunOptions(size="short", repeats=rounds, seed=1))
    analysis, many = explain(record), "1 round is" if rounds == 1 else "2 rounds are"
    short = headline(analysis)
    assert short.headline.startswith(f"Inconclusive, {many} too few: database-1 ")
    assert re.search(r"beside the others, \d\.\d\dx as the kernel counted \(run-queue wait\)$", short.headline)
    assert short.remedy.startswith("run no more than 4 busy sessions")
    assert short.remedy.endswith("To decide: more rounds (`--repeats 6`)")
    assert f"{many} too few: 3 at least are needed. The kernel counted database-1 " in analysis.verdict
    assert analysis.together is not None
    assert [each.counted for each in analysis.together.parties] == pytest.approx([2.0, 2.0], rel=0.03)
    (told,) = experiment_tables(analysis)
    assert {row[-1] for row in told.texts()} == {"inconclusive"}
    assert experiment_facts(analysis)[0].beside.endswith(", beside the others: inconclusive")


def test_a_wait_that_a_target_has_alone_as_well_is_no_loss_beside_the_others() -> None:
    """8 sessions on 4 CPUs of their own take turns, with others or without."""
    host = SimulatedHost("h", sockets=2, cores=4, threads=1)
    options = RunOptions(size="short", repeats=2, seed=1)
    analysis = explain(simulate_together(host, (8, 4), [(0, 1, 2, 3), (4, 5, 6, 7)], options))
    assert "as the kernel counted" not in headline(analysis).headline
    assert headline(analysis).headline.startswith("Inconclusive, 2 rounds are too few: database-1 1.0")


@pytest.mark.parametrize(("sockets", "sessions", "cpus"), [
    (2, (4, 8), (range(4), range(8))),
    (1, (4, 4), (range(4), range(4))),
    (1, (6, 4), (range(4), range(4))),
], ids=["eight CPUs", "the same four", "more sessions than CPUs"])  # fmt: skip
def test_targets_that_may_use_all_cpus_between_them_are_not_called_held(
    sockets: int, sessions: tuple[int, ...], cpus: tuple[range, ...]
) -> None:
    """Twelve sessions "held on 8 CPUs" of 8, and advised as many CPUs as sessions."""
    host = SimulatedHost("h", sockets=sockets, cores=4, threads=1)
    options = RunOptions(size="short", repeats=3, seed=1)
    analysis = explain(simulate_together(host, sessions, tuple(map(tuple, cpus)), options))
    assert analysis.together is not None
    said = " ".join(f"{each.seen} {each.remedy}" for each in analysis.findings) + headline(analysis).remedy
    assert "`--cpus` held" not in said
    assert "as many CPUs as it has sessions" not in said


def test_terms_name_the_level_of_targets_that_is_more_than_the_host_can_sustain() -> None:
    host, cpus = SimulatedHost("h", sockets=2, cores=4, threads=1), ((0, 1, 2, 3), tuple(range(8)))
    analysis = explain(simulate_together(host, (4, 8), cpus, RunOptions(size="short", repeats=3, seed=1)))
    assert "at N=12 of together is more than the host can sustain" in answer_terms(analysis)
