"""A difference that strangers or drift may have made is not claimed; a larger one is, with them in its interval."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.results.comparison import BELOW_FLOOR, HOST_STATE, LESS, MORE, NOT_SHOWN, Comparison
from dbcpu.record.rounds import CpuSeries, Execution, Foreign, Round, RunRecord
from dbcpu.reports.documents.comparison import document
from dbcpu.reports.formats import html, table
from support.builders.comparison import compare, noisy_run, with_variants

VCPUS = 4


def beside(run: RunRecord, share: float) -> RunRecord:
    """The run with another process that used so much of all vCPUs."""

    def used(each: Round) -> Round:
        assert each.cost is not None
        return replace(each, foreign=(Foreign(99, "backup", share * each.cost.window_s * VCPUS, (0,)),))

    return RunRecord(run.header, tuple(map(used, run.rounds)))


def drifting(run: RunRecord, factor: float) -> RunRecord:
    """The run with sessions that take ``factor`` times as long in its last third."""

    def longer(each: Execution) -> Execution:
        on_server_s = None if each.server_elapsed_s is None else each.server_elapsed_s * factor
        return replace(each, elapsed_s=each.elapsed_s * factor, server_elapsed_s=on_server_s)

    def slower(each: Round) -> Round:
        return replace(
            each, sessions=tuple(replace(one, executions=(*map(longer, one.executions),)) for one in each.sessions)
        )

    changed = len(run.rounds) * 2 // 3
    ordered = [replace(each, order=order) for order, each in enumerate(run.rounds)]
    return RunRecord(run.header, (*ordered[:changed], *map(slower, ordered[changed:])))


def against(base: RunRecord, other: RunRecord) -> Comparison:
    return compare([Candidate("quiet", base), Candidate("busy", other)])


@pytest.mark.parametrize("busy_first", [False, True])
def test_a_difference_smaller_than_what_strangers_took_is_no_claim(busy_first: bool) -> None:
    slow = beside(noisy_run(2, speed=0.85, uneven=1.2), 0.26)
    found = against(slow, noisy_run(1)) if busy_first else against(noisy_run(1), slow)
    throughput, spread = found.sides[1].decisions
    assert (throughput.outcome, spread.outcome) == (HOST_STATE, HOST_STATE)
    assert throughput.p is not None and throughput.p < 0.005, "by its rounds alone it would be claimed"
    assert throughput.low is not None and throughput.high is not None
    assert throughput.low <= 1 <= throughput.high
    name = "quiet" if busy_first else "busy"
    reason = f"no claim, other processes used 26 % of all vCPUs of {name}, which may be all of the difference"
    assert f"throughput at N=4: {reason}" in found.verdict[0]
    assert found.verdict[0].count("95 % interval with that ") == found.verdict[0].count(", p without it ") == 2
    content = document(found)
    assert content.front.headline.count(reason) == 2
    assert " less throughput" not in html.render(content) and " lower" not in table.render(content).splitlines()[-1]


def test_a_larger_one_is_claimed_with_what_they_took_in_its_interval() -> None:
    quiet = against(noisy_run(1), noisy_run(2, speed=0.5)).sides[1].decisions[0]
    found = against(noisy_run(1), beside(noisy_run(2, speed=0.5), 0.2))
    busy = found.sides[1].decisions[0]
    assert (quiet.outcome, busy.outcome) == (LESS, LESS)
    assert quiet.low == busy.low
    assert quiet.high is not None and busy.high == pytest.approx(quiet.high / 0.8)
    said = "The interval of throughput, not p, includes that other processes used 20 % of all vCPUs of busy."
    assert f". {said}" in found.verdict[0]


def test_strangers_on_the_slower_side_take_nothing_from_what_the_faster_one_did() -> None:
    """The side beside strangers is faster all the same."""
    decision = against(noisy_run(1), beside(noisy_run(2, speed=1.3), 0.2)).sides[1].decisions[0]
    assert decision.outcome == MORE
    assert decision.high is not None and decision.high > 1.3 / 0.8 * 0.97


def test_the_same_load_on_both_sides_is_in_no_interval() -> None:
    one = against(beside(noisy_run(1), 0.2), beside(noisy_run(2, speed=0.9), 0.2)).sides[1].decisions[0]
    other = against(noisy_run(1), noisy_run(2, speed=0.9)).sides[1].decisions[0]
    assert (one.outcome, one.low, one.high, one.host_state) == (LESS, other.low, other.high, "")


def test_less_than_the_drift_of_one_run_a_side_is_no_claim() -> None:
    found = against(drifting(noisy_run(1, repeats=9), 1.4), noisy_run(2, speed=0.8, repeats=9))
    decision = found.sides[1].decisions[0]
    assert decision.outcome in (HOST_STATE, NOT_SHOWN, BELOW_FLOOR)
    assert "the single-session time of quiet drifted by 40 %" in decision.host_state
    assert decision.low is not None and decision.high is not None and decision.low < 0.8 < 1 < decision.high


def test_steal_of_one_run_is_of_the_hour_and_of_several_what_the_host_delivers() -> None:
    def stolen(run: RunRecord) -> RunRecord:
        def part(each: Round) -> Round:
            assert each.cost is not None
            lost_s = 0.25 * each.cost.window_s
            rows = tuple(CpuSeries(cpu, (0.0,), (lost_s,), (0.0,), (0.0,)) for cpu in range(VCPUS))
            return replace(each, timeline_s=(0.0, each.cost.window_s), cpu_timeline=rows)

        return RunRecord(run.header, tuple(map(part, run.rounds)))

    quiet = [noisy_run(at, run_id=f"q{at}") for at in range(4)]
    slow = [stolen(noisy_run(at + 4, speed=0.8, run_id=f"s{at}")) for at in range(4)]
    one = against(quiet[0], slow[0]).sides[1].decisions[0]
    assert (one.outcome, one.host_state) == (HOST_STATE, "25 % of the CPU time of busy was stolen")
    sides = [measured_side(name, [Candidate(name, run) for run in runs]) for name, runs in (("a", quiet), ("b", slow))]
    several = compare_sides(sides).sides[1].decisions[0]
    assert (several.outcome, several.host_state) == (LESS, "")


def test_variants_took_turns_beside_the_same_strangers() -> None:
    run = with_variants(noisy_run(1), beside(noisy_run(2, speed=0.8), 0.26), "spread")
    decision = compare([Candidate("a", run, "baseline"), Candidate("b", run, "spread")]).sides[1].decisions[0]
    assert decision.outcome == LESS
    assert decision.host_state == ""
