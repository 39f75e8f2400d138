"""How a size is rounded: up to whole cores, with a tolerance only where no interval says how exact it is."""

import math

import pytest

from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing import size
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.comparison import NOT_SHOWN, THROUGHPUT, Decision
from dbcpu.config.rules import SizingRules
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.sizing import SAME_KIND
from support.builders.comparison import noisy_run


def host(speed: float = 1.0) -> RunRecord:
    return noisy_run(1, speed, levels=(1, 2), cores=2, threads=1, noise=0.001)


def need(new: RunRecord, busy: int, decided: Decision | None = None) -> Need:
    runs = [(name, run, explain(run)) for name, run in (("old", host()), ("new", new))]
    return size(runs, SizingRules((), ()), busy, decisions={"new": decided} if decided else {}).needs[0]


def unshown(ratio: float, low: float, high: float) -> Decision:
    return Decision(THROUGHPUT, NOT_SHOWN, "N=2", (6, 6), ratio=ratio, low=low, high=high)


@pytest.mark.parametrize("busy", [6, 12, 24, 48, 100])
def test_the_ends_of_a_range_by_an_interval_are_rounded_up(busy: int) -> None:
    """12 / 0.8525 is 14.08 and was 14, *by the 95 % interval*; 48 / 0.8525 is 56.3 and was 57."""
    found = need(host(), busy, unshown(1.0, 0.8525, 1.61))
    assert (found.least, found.vcpus, found.most) == (math.ceil(busy / 1.61), busy, math.ceil(busy / 0.8525))


def test_without_an_interval_a_part_in_a_hundred_is_no_core_more() -> None:
    """12 / 0.996 is 12.05; below the table stands by how much a single number may be below its figure."""
    found = need(host(0.996), 12)
    assert (found.vcpus, found.least) == (12, None)
    assert need(host(0.98), 12).vcpus == 13
    found = need(host(0.996), 12, unshown(0.996, 0.99, 1.01))
    assert (found.least, found.vcpus, found.most, found.is_decided) == (12, 12, 12, True)
    found = need(host(0.996), 12, unshown(0.996, 0.98, 1.01))
    assert (found.least, found.vcpus, found.most) == (12, 13, 13)
    assert "may be below its figure by 1 %, at most a quarter of a core" in SAME_KIND
