"""Curves of real CPUs, from published figures: turbo in steps, threads that cost, cores of two kinds, bad levels.

The kit's simulator loses turbo linearly. What other shapes there are was found in public data (docs/accuracy.md).
"""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.levels.throughput import RoundWork
from dbcpu.analysis.results.host import Scaling, TopologyCheck
from dbcpu.analysis.results.run import Analysis, Reference
from dbcpu.analysis.scaling.curve import scaling
from dbcpu.analysis.scaling.topology_check import topology_check, widened
from dbcpu.analysis.sessions.valid_sessions import Span
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.record.finding_entry import INFO, WARNING
from dbcpu.record.header import HostInfo
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run_summary import summary
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos, unsampled

REFERENCE = Reference(3, 1.0, None, 1.0, 0.01, 0.1)
ROWS = 1_000_000
GHZ = {2: 3.5, 4: 3.3, 8: 3.1, 1024: 2.9}
"""Turbo by busy cores as processors' data sheets have it: in steps, then held."""


def clock(busy: float) -> float:
    return next(speed for most, speed in GHZ.items() if busy <= most) / GHZ[2]


def shape(
    cores: int, vcpus: int, speed: Callable[[float], float] = lambda busy: 1.0, smt_yield: float = 0.0
) -> Callable[[int], float]:
    """Throughput of N sessions: each core at ``speed``, a second session on it adds its part of the yield."""

    def at(sessions: int) -> float:
        busy, second = min(sessions, cores), max(0, min(sessions, vcpus) - cores)
        return (busy + smt_yield * second * cores / max(1, vcpus - cores)) * speed(busy)

    return at


def table(levels: tuple[int, ...], at: Callable[[int], float]) -> dict[int, float]:
    return {level: at(level) for level in levels}


def told(
    rates: Mapping[int, float], cores: int | None, vcpus: int, known: HostInfo | None = None
) -> tuple[Scaling, TopologyCheck | None]:
    """Of three rounds that differ by 0.5 %, with no other measurement: the host's kernel shows ``cores``."""
    work = {}
    for level, rate in rates.items():
        ends = [level / rate * (1 + part) for part in (-0.005, 0.0, 0.005)]
        work[level] = [RoundWork.of([Span.of(((0.0, end_s),), 0.0, end_s)] * level) for end_s in ends]
    found = scaling((), work, ROWS, REFERENCE, vcpus, cores)
    shown = known or (host(cores, vcpus // cores) if cores else None)
    run = record(solos(), shown, vcpus=vcpus)
    if shown is None:
        run = replace(run, header=replace(run.header, host=None))
    return found, topology_check(run_context(run, REFERENCE), (), (), found)


def scaling_line(run: RunRecord) -> tuple[str, Analysis]:
    analysis = explain(run)
    return dict(summary(run, analysis)).get("scaling", ""), analysis


# --- turbo that ends before the cores do -----------------------------------------------------------


@pytest.mark.parametrize(("cores", "vcpus"), [(16, 16), (16, 32), (24, 24), (48, 96)])
def test_turbo_in_steps_is_no_lack_of_cores(cores: int, vcpus: int) -> None:
    levels = tuple(sorted({*range(1, 17), *range(16, vcpus + 9, 4), cores, vcpus}))
    found, check = told(table(levels, shape(cores, vcpus, clock, 0.3 if vcpus > cores else 0.0)), cores, vcpus)
    assert check is not None
    assert check.verdict == "agrees"
    assert found.knees[0] == pytest.approx(cores, rel=0.03)
    assert found.turbo == pytest.approx(1 - 2.9 / 3.5, abs=0.03)
    assert found.turbo_until is not None
    assert 4 <= found.turbo_until <= 12


def test_turbo_that_ends_early_leaves_a_straight_line_without_a_knee() -> None:
    """24 full cores at 22.2 times the throughput of one: a public cloud instance with levels up to its cores only."""
    found, check = told(table(tuple(range(1, 25)), lambda n: n * (1 - 0.075 * min(n - 1, 5) / 5)), 24, 24)
    assert (found.knees, check) == ((), None)
    assert found.turbo == pytest.approx(0.075, abs=0.01)


@pytest.mark.parametrize("levels", [tuple(range(1, 33)), (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)])
def test_siblings_that_are_hidden_are_still_found_behind_turbo(levels: tuple[int, ...]) -> None:
    found, check = told(table(levels, shape(16, 32, clock, 0.25)), 32, 32)
    assert check is not None
    assert check.verdict == "fewer_cores"
    assert check.cores_told == pytest.approx(16, rel=0.05)
    assert found.further is not None
    assert found.further <= 0.5


@pytest.mark.parametrize("slope", [0.55, 0.62, 0.75])
def test_a_bend_beyond_which_sessions_add_most_of_a_core_claims_nothing(slope: float) -> None:
    levels = tuple(range(1, 49, 2))
    rates = table(levels, lambda n: min(n, 20) + slope * max(0, n - 20))
    for cores in (48, None):
        found, check = told(rates, cores, 48)
        assert check is not None
        assert (check.verdict, check.cores_told) == ("unclear", None)
        assert "turbo" in check.why
        assert found.smt_yield is None


def test_a_bend_before_the_cores_shown_is_one_of_turbo() -> None:
    """Public servers with 48 cores: full speed up to 26 sessions, then 0.6 of it, flat from the cores on."""
    levels = (1, *range(3, 97, 3))
    found, check = told(table(levels, lambda n: min(n, 26) + 0.6 * max(0, min(n, 48) - 26)), 48, 96)
    assert check is not None
    assert check.verdict == "agrees"
    assert found.knees == pytest.approx((48,), rel=0.03)
    assert len(found.knee_intervals) == 1
    assert found.turbo == pytest.approx(1 - 39.2 / 48, abs=0.02)


def test_no_yield_of_threads_is_claimed_where_there_can_be_none() -> None:
    """Without siblings, what comes after a bend of turbo would be a yield of several hundred per cent."""
    rates = table((*range(1, 17), 20, 24, 32), lambda n: min(n, 2) + 0.8 * max(0, min(n, 16) - 2))
    found, check = told(rates, 16, 16)
    assert found.smt_yield is None
    assert check is not None
    assert check.verdict != "fewer_cores"


# --- cores of two kinds -----------------------------------------------------------------------------


def two_kinds(facts: Mapping[str, str]) -> HostInfo:
    return replace(host(16), facts=facts)


@pytest.mark.parametrize(("fast", "slow"), [(8, 0.45), (4, 0.3)])
def test_slower_cores_are_no_lack_of_cores_where_the_kernel_names_them(fast: int, slow: float) -> None:
    rates = table((*range(1, 17), 20, 24, 32), lambda n: min(n, fast) + slow * max(0, min(n, 16) - fast))
    names = {"performance_cpus": f"0-{fast - 1}", "efficiency_cpus": f"{fast}-15"}
    _, check = told(rates, 16, 16, two_kinds(names))
    assert check is not None
    assert check.verdict == "unclear"
    assert "cores of two kinds" in check.why
    _, check = told(rates, 16, 16, two_kinds({}))
    assert check is not None
    assert check.verdict == "fewer_cores"


# --- a second thread that costs ---------------------------------------------------------------------


@pytest.mark.parametrize(("cores", "loss"), [(20, 0.10), (8, 0.05), (16, 0.25)])
def test_a_second_thread_may_cost_throughput(cores: int, loss: float) -> None:
    levels = (*range(1, 2 * cores + 1), 2 * cores + 4, 3 * cores)
    found, check = told(table(levels, shape(cores, 2 * cores, smt_yield=-loss)), cores, 2 * cores)
    assert found.smt_yield == pytest.approx(-loss, abs=0.015)
    assert found.smt_yield is not None
    assert found.smt_yield_interval is not None
    assert found.smt_yield_interval.low <= found.smt_yield <= found.smt_yield_interval.high < 0
    assert found.effective_cores == pytest.approx(cores, rel=0.02)
    assert check is not None
    assert check.verdict == "agrees"


def test_a_second_thread_that_costs_is_said_in_words() -> None:
    levels = (*range(1, 17), 20, 24)
    rates = table(levels, shape(8, 16, smt_yield=-0.1))
    rounds = solos()
    for level, rate in rates.items():
        times = [SOLO_S * level / rate * (1 + part) for part in (-0.005, 0.0, 0.005)]
        rounds += [round_of([unsampled(session(i, each)) for i in range(level)]) for each in times]
    line, _ = scaling_line(record(rounds, host(8, 2), vcpus=16))
    assert "the second thread costs 10 % (95 % CI" in line
    assert "without SMT the host would do more" in line


def test_overload_beyond_the_vcpus_is_no_yield() -> None:
    rates = table((*range(1, 9), 10, 12, 16, 24, 32), lambda n: min(n, 8) * (1 - 0.004 * max(0, n - 8)))
    found, _ = told(rates, 8, 8)
    assert found.knees[0] == pytest.approx(8, rel=0.05)
    assert found.smt_yield is None


# --- intervals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [-0.3, 0.0, 0.05, 0.15])
@pytest.mark.parametrize("speed", [clock, lambda busy: 1.0], ids=["steps", "level"])
def test_intervals_are_in_order_and_hold_what_they_are_of(loss: float, speed: Callable[[float], float]) -> None:
    rates = table((*range(1, 24), 28, 32, 40), shape(12, 24, speed, -loss))
    found, _ = told(rates, 12, 24)
    assert len(found.knees) == len(found.knee_intervals) >= 1
    for knee, interval in zip(found.knees, found.knee_intervals, strict=True):
        assert interval.low <= knee <= interval.high
    assert found.smt_yield is not None
    assert found.smt_yield_interval is not None
    assert found.smt_yield_interval.low <= found.smt_yield <= found.smt_yield_interval.high


def test_a_knee_is_printed_no_more_exactly_than_it_can_be_known() -> None:
    known = {(19.9, 20.1): (19.4, 20.6), (17.0, 23.0): (17.0, 23.0), None: (18.0, 22.0)}
    for given, expected in known.items():
        found = widened(20.0, Interval(*given) if given else None)
        assert (found.low, found.high) == pytest.approx(expected)


# --- what was not measured --------------------------------------------------------------------------


def hidden(sampled: bool) -> RunRecord:
    simulated = SimulatedHost(cores=4, hidden_smt=True, smt_yield=0.3)
    run = simulate(simulated, auto_levels(8), repeats=3, seed=5, size="short", seconds=1.5)
    if sampled:
        return run
    rounds = [
        replace(each, sessions=tuple(unsampled(one) for one in each.sessions), not_sampled="imported",
                cpu_timeline=(), timeline_s=(), cgroups=(), foreign=(), cost=None)
        for each in run.rounds
    ]  # fmt: skip
    return replace(run, rounds=tuple(rounds))


@pytest.mark.parametrize(("sampled", "level"), [(True, WARNING), (False, INFO)])
def test_what_was_not_measured_makes_a_claim_a_probability(sampled: bool, level: int) -> None:
    line, analysis = scaling_line(hidden(sampled))
    assert analysis.topology is not None
    assert analysis.topology.verdict == "fewer_cores"
    assert bool(analysis.topology.unmeasured) is not sampled
    finding = next(each for each in analysis.findings if each.code == "cores-fewer-than-shown")
    assert finding.level == level
    assert ("probably scales like 4" in finding.seen) is not sampled
    assert ("probably scales like 4 cores although 8 are reported (steal, " in line) is not sampled


# --- one core, few levels, a bad level --------------------------------------------------------------


@pytest.mark.parametrize("smt_yield", [0.0, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_threads_of_one_core_are_said_to_be_so(smt_yield: float, seed: int) -> None:
    simulated = SimulatedHost(cores=1, smt_yield=smt_yield, noise=0.02)
    line, analysis = scaling_line(simulate(simulated, auto_levels(2), 3, seed, size="short", seconds=1.5))
    assert analysis.scaling.knees == (1.0,)
    assert analysis.topology is not None
    assert analysis.topology.verdict == "agrees"
    assert line.startswith("the 2 vCPUs are threads of one core")


@pytest.mark.parametrize("smt_yield", [0.0, 0.3, 0.6])
def test_no_curve_bends_where_there_is_no_cpu(smt_yield: float) -> None:
    """Two vCPUs of one core that is not shown: three levels of the same throughput look like turbo up to 3 sessions."""
    found, check = told(table((1, 2, 3, 4), shape(1, 2, smt_yield=smt_yield)), 2, 2)
    assert not found.knees or found.knees[0] <= 2.3
    assert check is None or check.verdict != "agrees"


def test_an_interrupted_run_claims_nothing_of_cores_that_it_did_not_reach() -> None:
    found, check = told(table((1, 2, 3, 4, 5, 6, 7, 8), lambda n: min(n, 5) + 0.2 * max(0, n - 5)), 64, 64)
    assert found.knees == pytest.approx((5,), rel=0.05)
    assert check is None


@pytest.mark.parametrize("bad", [12, 20, 32, 40])
@pytest.mark.parametrize("factor", [0.5, 0.8])
def test_one_bad_level_neither_moves_the_knee_nor_removes_it(bad: int, factor: float) -> None:
    """A cloud instance that is straight to 31 cores and flat beyond, with a hiccup at one level."""
    levels = tuple(range(2, 61, 2))
    rates = table((1, *levels), lambda n: min(n, 31))
    found, check = told(rates | {bad: factor * rates[bad]}, 60, 60)
    assert found.knees == pytest.approx((31,), rel=0.03)
    assert found.left_out == bad
    assert check is not None
    assert check.verdict == "fewer_cores"


def test_what_several_levels_show_is_no_bad_level() -> None:
    """A dip over three levels in a row is a form of its own, and none that the fit knows: no level is left out."""
    rates = table((1, *range(2, 41, 2)), lambda n: min(n, 16) * (0.7 if 20 <= n <= 24 else 1.0))
    assert told(rates, 16, 32)[0].left_out is None
