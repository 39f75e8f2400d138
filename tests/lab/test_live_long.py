"""The long form of the live lab, some minutes on a machine left alone: every cause that can be made here.

tox -e alone -- tests/lab/test_live_long.py
"""

import pytest

from dbcpu.hosts.cleanup_guard import start_ticks
from lab.causes import CPU_GROUPS, IO_GROUPS, UNIFIED, ColdRead, Hog, Quota, available
from lab.labelled import rows as labelled_sessions
from lab.live import Lab
from lab.naming import named, skip_where_nothing_can_be_made


@pytest.mark.slow
def test_all_causes_are_named() -> None:
    skip_where_nothing_can_be_made()
    named(available()[0], seed=1)


@pytest.mark.slow
def test_a_generator_leaves_nothing_behind() -> None:
    skip_where_nothing_can_be_made()
    generators = [each for each in available()[0] if each in (Quota, Hog, ColdRead)]
    with Lab(seed=2) as lab:
        rows = list(labelled_sessions(lab.run(generators, 0)))
        helpers = [pid for pid in lab.helpers if start_ticks(pid) is not None]
    assert len(rows) == 2 * len(generators)
    assert helpers == []
    assert [folder for root in (CPU_GROUPS, IO_GROUPS, UNIFIED) for folder in root.glob("dbcpu-lab-*")] == []
