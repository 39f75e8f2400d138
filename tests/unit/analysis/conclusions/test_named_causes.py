"""The cause that a verdict names is the one that the simulated host made, and no other."""

import re

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.reports.documents.run_summary import cause_counts
from dbcpu.simulator import SimulatedHost, simulate


def made(host: SimulatedHost, levels: tuple[int, ...], seed: int = 1) -> Analysis:
    return explain(simulate(host, levels, 6, seed, size="medium"))


@pytest.mark.parametrize(("irq", "named"), [(0.5, False), (0.0, True)])
def test_a_quota_that_is_never_used_up_is_not_named(irq: float, named: bool) -> None:
    """Beside interrupts that take half of a CPU four CPUs give no more than the quota: nobody is stopped by it."""
    found = made(SimulatedHost(cores=4, threads=1, irq=irq, quota_cpus=3.5), (1, 2, 4, 5, 8))
    codes = {each.code: each.seen for each in found.findings}
    assert ("bove the CPU quota of 3.5" in found.verdict) == named
    assert ("bove the 4 vCPUs" in found.verdict) != named
    assert ("throttled" in codes) == named
    assert named or "more sessions than the 4 vCPUs" in codes["oversubscribed"]
    assert found.topology is None or ("CPU quota" in found.topology.why) <= named


def test_what_a_single_session_loses_too_makes_no_shares_unequal() -> None:
    """Steal takes as much of one session alone; five on four CPUs differ by the turns that they wait."""
    found = made(SimulatedHost(cores=4, threads=1, steal=0.3, irq=0.2), (1, 2, 3, 4, 5, 8))
    assert found.verdict.startswith("Even a single session loses 31 % of its time (CPU steal)")
    assert "at 5 sessions 4 of 5 have a slowdown, from 1.24x to 1.49x (run-queue wait: more " in found.verdict
    assert "run-queue wait" in {each.against for each in headline(found).advice}


@pytest.mark.parametrize(("host", "levels", "limiting"), [
    (SimulatedHost(cores=8, threads=1, quota_cpus=5.0), (1, 2, 3), 5.0),
    (SimulatedHost(cores=4, threads=1, quota_cpus=3.5), (1, 4, 5), 3.5),
    (SimulatedHost(cores=4, threads=1, irq=0.5, quota_cpus=3.5), (1, 4, 5), None),
])  # fmt: skip
def test_the_quota_that_is_the_limit_has_a_name_of_its_own(
    host: SimulatedHost, levels: tuple[int, ...], limiting: float | None
) -> None:
    """It had the name of the stored figure, which is of any quota that leaves less than the CPUs."""
    record = simulate(host, levels, 6, 1, size="medium")
    found = explain(record)
    assert found.limiting_quota == limiting
    assert "cpu_quota" not in Analysis.__struct_fields__
    assert run_figures(record, found).value("cpu_quota") == host.quota_cpus


@pytest.mark.parametrize(("seed", "rounds"), [(4, 3), (2, 2)])
def test_rounds_of_a_single_session_that_lose_time_are_counted_and_no_median_of_two_kinds_is_said(
    seed: int, rounds: int
) -> None:
    """Of three rounds that lost 29 % and three that lost nothing the verdict said that one session loses 16 %."""
    run = simulate(SimulatedHost(cores=4, threads=1, irq=0.3, turbo_slope=0.3), (1, 2, 3, 4), 6, seed, size="medium")
    found = explain(run)
    assert found.levels[0].full_speed is Answer.UNDECIDED
    apart = found.levels[0].rounds_apart
    assert apart is not None and apart.counted is (seed == 4)
    lost = r"it loses \d\d % of the time by the kernel's count" if apart.counted else r"a slowdown of 1.4\dx"
    assert re.search(rf"a whole CPU \(in {rounds} of 6 rounds {lost}: interrupts\)", found.verdict)
    assert cause_counts(found.levels[0]) == f"interrupts ({rounds} of 6)"
    assert headline(found).remedy.startswith("move interrupts")


def test_a_single_session_that_loses_time_in_most_rounds_is_said_by_rounds_too() -> None:
    found = made(SimulatedHost(cores=4, threads=1, irq=0.3, turbo_slope=0.3), (1, 2), seed=7)
    assert found.levels[0].full_speed is Answer.NO
    said = "ven a single session is not always fast: in 4 of 6 rounds it loses 28 % of the time by "
    assert f"{said}the kernel's count (interrupts), in the others none" in found.verdict
    assert headline(found).headline == "No: even a single session is not always at full speed"


def test_all_are_said_to_lose_only_to_what_all_lose_to() -> None:
    """A turbo frequency that falls slows all of five sessions, interrupts those that are on one CPU of four."""
    host = SimulatedHost(cores=4, threads=1, irq=0.3, turbo_slope=0.4, scheduler="smt_balancing")
    found = made(host, (1, 2, 3, 4, 5, 8), seed=5)
    five = [dict(each.parts) for each in found.sessions if each.level == 5]
    assert all(parts.get(Cause.SLOWER_CPU, 0.0) > 0.1 for parts in five)
    assert sum(parts.get(Cause.IRQ, 0.0) > 0.1 for parts in five) < len(five)
    assert "and all lose to slower CPU as well, some to interrupts)" in found.verdict


def test_a_session_counts_for_each_of_its_causes_at_every_level() -> None:
    host = SimulatedHost(cores=4, threads=1, irq=0.2, turbo_slope=0.5, scheduler="smt_balancing")
    found = made(host, (1, 2, 3, 4, 5, 8), seed=1)
    for level in found.levels:
        members = [each for each in found.sessions if each.level == level.level]
        for cause, many in level.causes:
            assert cause is Cause.NONE or many == sum(cause in (each.cause, each.second_cause) for each in members)


@pytest.mark.parametrize(("hidden", "verdict"), [(True, "unclear"), (False, "agrees")])
def test_a_host_on_which_all_are_as_slow_as_siblings_is_not_called_consistent(hidden: bool, verdict: str) -> None:
    """Beside another process sessions on siblings that the host hides form no groups, and throughput has no knee."""
    cores, threads = (4, 2) if hidden else (8, 1)
    host = SimulatedHost(cores=cores, threads=threads, hidden_smt=hidden, noisy_neighbour=0.5)
    found = made(host, (*range(1, 11), 16), seed=3).topology
    assert found is not None
    assert found.verdict == verdict
    assert ("CPUs that share cores which are not shown, or a turbo frequency" in found.why) == hidden
