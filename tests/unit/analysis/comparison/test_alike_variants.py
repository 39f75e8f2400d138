"""Where a cap on the sessions at work does nothing it decides nothing: ``active:2`` with two sessions is baseline."""

from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.comparison.variants import compare_variants
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.comparison import LESS, NOT_MEASURED, Comparison, Decision
from dbcpu.record.rounds import Execution, Round, RunRecord
from dbcpu.reports.document import Document
from dbcpu.workflows.compare import variants_document
from support.builders.comparison import compare, noisy_run, with_variants


def capped(levels: tuple[int, ...] = (1, 2, 4), threads: int = 1, most: int = 2) -> RunRecord:
    """``active:MOST`` on 2 cores, where all are as fast as one alone: who waits for others adds to the makespan."""
    both = [noisy_run(seed, levels=levels, threads=threads) for seed in (1, 2)]
    rounds = tuple(_in_turns(each, most) if each.level > most else each for each in both[1].rounds)
    return with_variants(both[0], replace(both[1], rounds=rounds), f"active:{most}")


def _in_turns(each: Round, most: int) -> Round:
    """Each as fast as before, and ``most`` begin when those before them have ended."""
    began, sessions = 0.0, []
    for turn in range(0, len(each.sessions), most):
        some = each.sessions[turn : turn + most]
        later = [replace(one, executions=tuple(_later(run, began) for run in one.executions)) for one in some]
        sessions += later
        began = max(run.start_s + run.elapsed_s for one in later for run in one.executions)
    return replace(each, sessions=tuple(sessions))


def _later(run: Execution, by_s: float) -> Execution:
    return replace(run, start_s=run.start_s + by_s, server_start_s=None)


def decisions(run: RunRecord) -> tuple[Decision, ...]:
    return compare_variants(run).variants[1].decisions


def sides(run: RunRecord) -> Comparison:
    return compare([Candidate(name, run, name) for name in run.header.plan.variants])


def notes(made: Document) -> str:
    return " ".join(made.notes)


def test_a_cap_is_decided_at_the_first_level_that_it_touches() -> None:
    """On two vCPUs N=2 decided: *no difference shown*, of two times the same."""
    run = capped()
    throughput, spread = decisions(run)
    assert (throughput.levels, throughput.outcome, spread.levels) == ("N=4", LESS, "N=4")
    assert throughput.ratio is not None and 0.4 < throughput.ratio < 0.6
    assert "active:2 changes nothing against baseline up to N=2" in notes(variants_document(run, explain(run)))


def test_variants_given_as_sides_are_decided_there_too_and_by_whole_rounds() -> None:
    run = capped()
    found = sides(run)
    assert [(one.levels, one.outcome, one.ratio) for one in found.sides[1].decisions] == [
        (one.levels, one.outcome, one.ratio) for one in decisions(run)
    ]
    assert found.full_at == 4
    rates = {each.level: each.throughput for side in found.sides[1:] for each in side.levels}
    assert rates[4] and rates[2] and rates[4] < 1.1 * rates[2], "rates of sessions that wait were added"


def test_a_cap_below_the_vcpus_is_decided_at_the_vcpus() -> None:
    throughput, spread = decisions(capped((1, 2, 3, 4), threads=2))
    assert (throughput.levels, spread.levels) == ("N=4", "N=3-4 (2 levels)")


def test_where_no_level_is_touched_nothing_is_decided() -> None:
    run = capped((1, 2), most=3)
    for found in (decisions(run), sides(run).sides[1].decisions):
        assert [(one.levels, one.outcome, one.ratio) for one in found] == [("N>3", NOT_MEASURED, None)] * 2
    made = variants_document(run, explain(run))
    assert "throughput at N>3 was not measured in both" in " ".join(made.verdict)


def test_two_caps_differ_above_the_smaller_one() -> None:
    run = capped()
    renamed = tuple(replace(each, variant="active:3") if each.variant == "baseline" else each for each in run.rounds)
    plan = replace(run.header.plan, variants=("active:3", "active:2"))
    two = RunRecord(replace(run.header, plan=plan), renamed)
    assert {one.levels for one in sides(two).sides[1].decisions} == {"N=4"}


def test_the_same_cap_in_two_runs_hides_no_level() -> None:
    """Two hosts under ``active:2`` are compared at N = vCPUs, as any two hosts."""
    one, other = capped(), replace(capped(), header=replace(capped().header, run_id="other"))
    found = compare([Candidate("one", one, "active:2"), Candidate("other", other, "active:2")])
    assert {each.levels for each in found.sides[1].decisions} == {"N=2"}


def test_of_three_variants_as_sides_a_larger_cap_hides_no_difference_of_a_smaller_one() -> None:
    """Of ``active:2`` "not measured in both" was said, for ``active:4`` changes nothing up to N=4."""
    run = capped()
    third = tuple(replace(each, variant="active:4") for each in run.rounds if each.variant == "baseline")
    rounds = tuple(replace(each, order=order) for order, each in enumerate((*run.rounds, *third)))
    plan = replace(run.header.plan, variants=("baseline", "active:2", "active:4"))
    two, four = sides(RunRecord(replace(run.header, plan=plan), rounds)).sides[1:]
    throughput = next(each for each in two.decisions if each.summary == "throughput")
    assert (throughput.levels, throughput.outcome) == ("N=4", LESS)
    assert [(each.levels, each.outcome) for each in four.decisions] == [("N>4", NOT_MEASURED)] * 2
