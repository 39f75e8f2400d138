"""The curve against the topology, in both directions, and silence where something else can have bent it."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.levels.throughput import RoundWork
from dbcpu.analysis.results.host import TopologyCheck
from dbcpu.analysis.results.run import Analysis, Reference
from dbcpu.analysis.scaling.curve import scaling
from dbcpu.analysis.scaling.topology_check import topology_check
from dbcpu.analysis.sessions.valid_sessions import Span
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run_scaling import scaling_words
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.record import host, record, solos

REFERENCE = Reference(3, 1.0, None, 1.0, 0.01, 0.1)
ROWS = 1_000_000


def all_end_at(end_s: float, sessions: int) -> RoundWork:
    return RoundWork.of([Span.of(((0.0, end_s),), 0.0, end_s)] * sessions)


def of_curve(cores: int, shown_cores: int, vcpus: int, cv: float, seed: int, further: float = 0.3) -> str | None:
    """The verdict on a host that shows ``shown_cores``, whose curve bends at ``cores`` and at the vCPUs."""
    chance = np.random.default_rng(seed)
    work = {}
    for level in auto_levels(vcpus, shown_cores):
        rate = min(level, cores) + further * max(0, min(level, vcpus) - cores)
        work[level] = [all_end_at(level / each, level) for each in rate * (1 + cv * chance.standard_normal(3))]
    told = scaling((), work, ROWS, REFERENCE, vcpus, shown_cores)
    run = record(solos(), host(shown_cores, vcpus // shown_cores), vcpus=vcpus)
    check = topology_check(run_context(run, REFERENCE), (), (), told)
    return check.verdict if check else None


@pytest.mark.parametrize(("cores", "vcpus"), [(8, 16), (40, 80), (16, 16), (64, 64), (4, 8)])
def test_a_host_that_is_as_it_says_raises_no_alarm(cores: int, vcpus: int) -> None:
    verdicts = [of_curve(cores, cores, vcpus, 0.01 + 0.01 * (seed % 7), seed) for seed in range(10)]
    assert set(verdicts) <= {"agrees", None}
    assert verdicts.count("agrees") >= 8


@pytest.mark.parametrize(("cores", "shown", "vcpus"), [(8, 16, 16), (32, 64, 64), (4, 8, 16)])
def test_fewer_cores_than_shown_are_told(cores: int, shown: int, vcpus: int) -> None:
    assert [of_curve(cores, shown, vcpus, 0.02, seed) for seed in range(5)] == ["fewer_cores"] * 5


def test_threads_that_scale_like_cores_are_told() -> None:
    assert [of_curve(8, 8, 16, 0.02, seed, further=0.97) for seed in range(5)] == ["like_full_cores"] * 5


def test_too_few_levels_claim_nothing() -> None:
    told = scaling((), {n: [all_end_at(1.0, n)] for n in (1, 2)}, ROWS, REFERENCE, 16, 8)
    assert topology_check(run_context(record(solos(), host(8, 2), vcpus=16), REFERENCE), (), (), told) is None


def run_of(simulated: SimulatedHost, levels: tuple[int, ...]) -> RunRecord:
    return simulate(simulated, levels, repeats=3, seed=5, size="short", seconds=1.5)


def checked(run: RunRecord) -> tuple[TopologyCheck, Analysis]:
    told = explain(run)
    assert told.topology is not None
    return told.topology, told


@pytest.mark.parametrize("cores", [4, 6])
def test_hidden_siblings_are_told_by_two_speeds_and_make_a_finding(cores: int) -> None:
    simulated = SimulatedHost(cores=cores, hidden_smt=True, smt_yield=0.3)
    check, told = checked(run_of(simulated, auto_levels(2 * cores)))
    assert (check.verdict, check.cores) == ("fewer_cores", 2 * cores)
    assert check.cores_told == pytest.approx(cores, rel=0.05)
    assert told.scaling.smt_yield == pytest.approx(0.3, abs=0.05)
    assert told.scaling.turbo is None
    finding = next(each for each in told.findings if each.code == "cores-fewer-than-shown")
    assert finding.seen.startswith(f"the host reports {2 * cores} cores and scales like {cores}")
    assert f"scales like {cores}" in told.verdict


def test_hidden_siblings_are_told_where_placement_hides_the_knee() -> None:
    run = simulate(SimulatedHost(cores=4, hidden_smt=True, smt_yield=0.3), tuple(range(1, 9)), repeats=6, seed=2)
    check, told = checked(run)
    assert not told.scaling.knees
    assert check.verdict == "fewer_cores"
    assert check.cores_told == pytest.approx(4, rel=0.05)
    assert scaling_words(run, told).endswith("scales like 4 cores although 8 are reported")


def test_sessions_that_are_slow_by_chance_have_no_cores_to_tell_of() -> None:
    assert explain(simulate(preset("steal"), tuple(range(1, 5)), repeats=6, seed=2)).topology is None


def test_full_cores_behind_siblings_make_a_finding() -> None:
    check, told = checked(run_of(SimulatedHost(cores=4, smt_yield=1.0), auto_levels(8)))
    assert check.verdict == "like_full_cores"
    codes = {each.code: each for each in told.findings}
    assert "2 threads per core and scales like full cores" in codes["smt-like-cores"].seen
    assert "shared-cores" not in codes


@pytest.mark.parametrize(
    ("simulated", "reason"),
    [(preset("steal"), "CPU steal"), (preset("noisy"), "other processes"), (preset("quota-4"), "quota")],
    ids=["steal", "foreign load", "quota"],
)
def test_what_else_bends_a_curve_is_looked_at_first(simulated: SimulatedHost, reason: str) -> None:
    vcpus = 4 if simulated.quota_cpus else len(simulated.online)
    check, told = checked(run_of(simulated, auto_levels(vcpus)))
    assert (check.verdict, check.cores_told) == ("unclear", None)
    assert reason in check.why
    assert not {"cores-fewer-than-shown", "smt-like-cores"} & {each.code for each in told.findings}


def test_where_no_host_is_seen_the_curve_tells_the_cores() -> None:
    run = run_of(SimulatedHost(cores=4), auto_levels(8))
    blind = replace(run, header=replace(run.header, host=None))
    check, _ = checked(blind)
    assert (check.verdict, check.cores) == ("told", None)
    assert check.cores_told == pytest.approx(4, rel=0.05)
