"""What helps says what it costs and brings, where the run has measured it as a variant."""

import re
from typing import Any

import pytest

from dbcpu.analysis.comparison.measured_remedy import DONE_BY
from dbcpu.analysis.conclusions.session_findings import FULL_SPEED_CORES
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.findings import ENTRIES
from dbcpu.reports.documents.run import document
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.presets import preset

REMOTE: dict[str, Any] = {"sockets": 2, "cores": 2, "nodes": 2, "remote_slowdown": 0.3, "memory_node": 0}
HYBRID: dict[str, Any] = {"cores": 4, "efficiency_cores": 2, "efficiency_speed": 0.6}


def remedy_of(host: dict[str, Any], *variants: str) -> str:
    simulated = SimulatedHost("host", **{"threads": 1, "noise": 0.002} | host)
    run = simulate(simulated, (1, 2, 4), repeats=6, seed=3, variants=("baseline", *variants))
    made = document(run, explain(run))
    assert made.front is not None and made.data()["outcome"]["remedy"] == made.front.remedy
    return made.front.remedy


@pytest.mark.parametrize(
    ("host", "variant", "price"),
    [(REMOTE, "node:0", "41 %"), (HYBRID, "cpus:0-1", "37 %"), ({"cores": 2, "threads": 2}, "smt_off", "25 %")],
)
def test_a_remedy_that_this_run_has_measured_says_what_it_costs(host: dict[str, Any], variant: str, price: str) -> None:
    assert f"; in this run {variant} has {price} less throughput at N=4" in remedy_of(host, variant)


@pytest.mark.parametrize(
    ("host", "variant"),
    [(HYBRID, "cpus:2-3"), (HYBRID, "ncpus:2")],
    ids=["slow cores", "no remedy"],
)
def test_what_is_not_advised_is_not_said_to_cost(host: dict[str, Any], variant: str) -> None:
    assert "in this run" not in remedy_of(host, variant)


def test_every_remedy_that_a_variant_stands_for_is_one_that_dbcpu_gives() -> None:
    given = [*(each.remedy for each in ENTRIES.values()), *(each.remedy for each in Cause), FULL_SPEED_CORES]
    assert [words for words in DONE_BY.values() if not any(words in remedy for remedy in given)] == []


def test_of_two_ways_the_better_one_is_known_by_what_both_cost_and_bring() -> None:
    said = remedy_of(REMOTE, "node:0", "memory:interleave")
    assert re.search(
        r"in this run node:0 has 41 % less throughput at N=4[^;]*; memory:interleave has 30 % lower max", said
    )


def test_the_price_stands_behind_its_own_remedy() -> None:
    simulated = SimulatedHost("host", cores=4, threads=2, turbo_slope=0.4, scheduler="smt_balancing", noise=0.002)
    run = simulate(simulated, (1, 4, 8), repeats=6, seed=3, variants=("baseline", "smt_off"))
    front = document(run, explain(run)).front
    assert front is not None
    smt, other = front.remedy.split(". Against ")
    assert "SMT off" in smt and "in this run smt_off has" in smt
    assert "in this run" not in other


def test_a_remedy_that_costs_and_was_not_shown_to_make_sessions_more_even_says_both() -> None:
    run = simulate(preset("c4.4xlarge"), (1, 8, 9, 16), repeats=6, seed=3, variants=("baseline", "smt_off"))
    front = document(run, explain(run)).front
    assert front is not None
    assert "in this run smt_off has 25 % less throughput at N=16, and no lower max/min was shown at N=8-16" in (
        front.remedy
    )


def test_what_a_remedy_brings_in_throughput_is_said() -> None:
    """Of second threads that cost a tenth only the lower max/min without them was."""
    said = remedy_of({"cores": 2, "threads": 2, "smt_yield": -0.1}, "smt_off")
    assert "in this run smt_off has 11 % more throughput at N=4" in said
