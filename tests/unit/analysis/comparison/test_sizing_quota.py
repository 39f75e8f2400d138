"""How much of a CPU quota does the work of busy cores take, where its host has fewer cores than the quota has CPUs?"""

from collections.abc import Sequence

import pytest

from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing import Sizing, size
from dbcpu.analysis.explain import explain
from dbcpu.config.rules import SizingRules
from dbcpu.errors import UsageError
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.sizing import sizing_sections
from dbcpu.simulator import SimulatedHost, simulate

SLOW_MROWS = 40 / 1.5
NO_RULES = SizingRules((), ())


def old_box(cores: int = 8) -> RunRecord:
    return simulate(SimulatedHost(cores=cores, threads=1, mrows_per_s=40.0), tuple(range(1, 9)), repeats=6, seed=1)


def held(quota: float, levels: Sequence[int] = range(1, 9), cores: int = 4, threads: int = 2) -> RunRecord:
    host = SimulatedHost(cores=cores, threads=threads, quota_cpus=quota, mrows_per_s=SLOW_MROWS)
    return simulate(host, tuple(levels), repeats=6, seed=2)


def sized(old: RunRecord, new: RunRecord, busy: int) -> Sizing:
    return size([(name, run, explain(run)) for name, run in (("old", old), ("new", new))], NO_RULES, busy)


def need_of(old: RunRecord, new: RunRecord, busy: int) -> Need:
    (need,) = sized(old, new, busy).needs
    return need


def test_more_work_than_all_of_a_quota_did_takes_more_than_that_quota() -> None:
    """160 Mrows/s: 6.2 CPUs did 124 in all, and 107 at equal shares."""
    found = sized(old_box(), held(6.2), 4)
    (need,) = found.needs
    assert need.least is not None
    assert 6.2 < need.least < (need.most or 0)
    assert (need.least, need.most) == (8, 10)
    assert found.sentence.startswith(
        "Inconclusive: 4 busy cores of old are 8 to 10 CPUs of quota on new (measured with"
    )
    assert "Shares of new are equal only up to 4 sessions on its quota of 6.2 CPUs: if only the total" in found.sentence
    assert "max/min <=" not in found.sentence
    (table, *_) = sizing_sections(found)[0].tables
    assert any(each.startswith("Sessions with equal shares leave CPUs of the quota of new: ") for each in table.notes)


@pytest.mark.parametrize("quota", [4.5, 5.5, 6.2, 7.0])
@pytest.mark.parametrize("busy", [3, 4, 5])
def test_no_quota_is_enough_for_more_than_it_did(quota: float, busy: int) -> None:
    new = held(quota)
    done = max(each.lasting_throughput or 0.0 for each in explain(new).first_levels)
    least = need_of(old_box(), new, busy).least or need_of(old_box(), new, busy).vcpus
    if 40.0 * busy > 1.02 * done:
        assert least > quota
    assert least * done / int(quota) >= 0.98 * 40.0 * busy


def test_sessions_that_had_a_core_each_are_enough_as_they_were_measured() -> None:
    """80 Mrows/s: 4 sessions did 107, with 4 of the 6.2 CPUs."""
    found = sized(old_box(), held(6.2), 2)
    assert (found.needs[0].least, found.needs[0].vcpus, found.needs[0].most) == (3, 3, 3)
    assert "this holds on a host with a core for each of them" in found.sentence


def test_busy_cpus_of_a_quota_did_no_more_than_its_levels_show() -> None:
    """6 sessions did 124 Mrows/s, and not 6 times what one did with a core of its own."""
    assert need_of(held(6.2), old_box(), 6).vcpus == 4
    assert need_of(held(6.2), old_box(), 4).vcpus == 3
    again = need_of(held(6.2), held(6.2), 6)
    assert again.least == 6


def test_a_quota_with_a_core_for_each_cpu_has_one_number() -> None:
    need = need_of(old_box(), held(6.2, cores=8, threads=1), 4)
    assert need.is_decided and need.vcpus == 6


def test_six_sessions_use_all_of_a_quota_that_is_less_than_a_cpu_more() -> None:
    need = need_of(old_box(), held(6.2, (1, 4, 6, 8), cores=8, threads=1), 4)
    assert need.is_decided and need.vcpus == 6


def test_a_quota_of_which_levels_use_a_part_is_not_sized() -> None:
    with pytest.raises(UsageError, match=r"new has no level between N=4, where all were equal, and its quota of 6\.2"):
        sized(old_box(), held(6.2, (1, 4)), 4)
