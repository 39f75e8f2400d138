"""The short form of the live lab: causes made on real server processes of this machine, and named.

What else the machine does meanwhile is nobody's fault: a session counts only if its round was left alone, and
most of them, not all, have to be named rightly.
"""

import pytest

from dbcpu.guard import start_ticks
from lab.causes import CPU_GROUPS, IO_GROUPS, UNIFIED, ColdRead, Generator, Hog, Quota, available
from lab.labelled import counted as left_alone
from lab.labelled import rows as labelled_sessions
from lab.live import Lab

MOST = 0.75


@pytest.mark.slow
def test_causes_made_on_real_processes_are_named() -> None:
    if Generator.why_not():
        pytest.skip(str(Generator.why_not()))
    generators, _ = available()
    with Lab(seed=1) as lab:
        rows = list(labelled_sessions(lab.run(generators, 0)))
    assert {row["generator"] for row in rows} == {generator.name for generator in generators}
    counted = [row for row in rows if left_alone(row)]
    treated = [row for row in counted if row["label"] != "none" and row["slowdown"] > 1 + row["tolerance"]]
    wrong = [row for row in treated if row["said"] not in (row["label"], "unexplained")]
    if len(treated) < len(rows) / 4:
        pytest.skip(f"this machine is too busy: only {len(treated)} of {len(rows)} sessions were left alone")
    assert sum(row["said"] == row["label"] for row in treated) >= MOST * len(treated), wrong


@pytest.mark.slow
def test_a_generator_leaves_nothing_behind() -> None:
    if Generator.why_not():
        pytest.skip(str(Generator.why_not()))
    generators = [each for each in available()[0] if each in (Quota, Hog, ColdRead)]
    with Lab(seed=2) as lab:
        rows = list(labelled_sessions(lab.run(generators, 0)))
        helpers = [pid for pid in lab.helpers if start_ticks(pid) is not None]
    assert len(rows) == 2 * len(generators)
    assert helpers == []
    assert [folder for root in (CPU_GROUPS, IO_GROUPS, UNIFIED) for folder in root.glob("dbcpu-lab-*")] == []
