"""Findings about sharing and queues follow what chance allows on this host, not a limit of their own."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record.findings import Finding
from dbcpu.reports.documents.run_summary import summary
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session


def codes(level: int, slow: float, cv: float, threads: int = 1) -> set[str]:
    return {each.code for each in found(level, slow, cv, threads)}


def found(level: int, slow: float, cv: float, threads: int = 1) -> tuple[Finding, ...]:
    """Two cores: solo rounds, pairs, and a level at which all share and the last takes ``slow`` times as long."""
    luck, cpus = np.random.default_rng(1), 2 * threads
    share = level / cpus if level > cpus else 1.5

    def takes() -> float:
        return float(SOLO_S * (1 + cv * luck.standard_normal()))

    rounds = [round_of([session(i, takes()) for i in range(sessions)]) for sessions in [1] * 5 + [2] * 10]
    for _ in range(5):
        factors = [share] * (level - 1) + [share * slow]
        rounds.append(round_of([session(i, takes() * factor, cpu=i % cpus) for i, factor in enumerate(factors)]))
    return explain(record(rounds, host(2, threads), vcpus=cpus)).findings


@pytest.mark.parametrize(("slow", "cv", "unequal"), [(1.18, 0.01, True), (1.0, 0.01, False), (1.0, 0.12, False)])
def test_turns_are_unequal_if_chance_does_not_explain_it(slow: float, cv: float, unequal: bool) -> None:
    """At 12 % noise four equal sessions are 1.25 times apart in most rounds."""
    (finding,) = [each for each in found(4, slow, cv) if each.code == "oversubscribed"]
    assert ("in unequal shares" in finding.seen) is unequal


def test_the_finding_names_the_levels_and_the_share_that_the_contention_line_names() -> None:
    """It left out where sharing cost no session 10 %, with another share of the time beside the same name."""
    run = simulate(SimulatedHost(cores=4, threads=2, waits=0.3, smt_yield=0.5), (1, 4, 5, 8), 6, seed=1, size="short")
    found = explain(run)
    (line,) = [each for name, each in summary(run, found) if name == "contention"]
    (seen,) = [each.seen for each in found.findings if each.code == "shared-cores"]
    assert "; SMT sharing at N=5,8 (up to " in line
    assert "at N=5,8 sessions shared a core" in seen
    assert line.split("up to ")[-1].split(" of the time")[0] in seen


def test_cores_are_shared_at_a_cost_also_where_all_lose_the_same() -> None:
    told = codes(4, 1.0, 0.01, threads=2)
    assert "shared-cores" in told
    assert not {"uneven-sessions", "sticky-placement"} & told
