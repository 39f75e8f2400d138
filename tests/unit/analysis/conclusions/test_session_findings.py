"""Findings about sharing and queues follow what chance allows on this host, not a limit of their own."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record.findings import Finding
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


def test_cores_are_shared_at_a_cost_also_where_all_lose_the_same() -> None:
    told = codes(4, 1.0, 0.01, threads=2)
    assert "shared-cores" in told
    assert not {"uneven-sessions", "sticky-placement"} & told
