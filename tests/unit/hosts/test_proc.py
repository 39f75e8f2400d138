"""What /proc says of a process and of the CPUs."""

import os
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import NORMAL_POLICIES, ProcessStat, SchedStat, cpu_ticks

FIELDS = " ".join(str(number) for number in range(4, 53))


def line(command: str, state: str = "R") -> str:
    """A line whose fields from 4 on say their own number."""
    return f"4711 ({command}) {state} {FIELDS}\n"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=15))
def test_each_field_is_where_the_manual_says_whatever_the_command(command: str) -> None:
    stat = ProcessStat.parse(line(command))
    assert (stat.pid, stat.command, stat.state) == (4711, command, "R")
    assert (stat.cpu_ticks, stat.nice, stat.start_ticks, stat.cpu, stat.policy) == (14 + 15, 19, 22, 39, "41")


@pytest.mark.parametrize(("state", "ended"), [("R", False), ("S", False), ("T", False), ("Z", True), ("X", True)])
def test_a_zombie_has_ended(state: str, *, ended: bool) -> None:
    assert ProcessStat.parse(line("a", state)).has_ended is ended


@pytest.mark.parametrize("text", ["", "4711", "4711 (half", "no number (x) R", "Permission denied"])
def test_what_is_no_such_line_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        ProcessStat.parse(text)


def test_what_an_old_kernel_lacks_is_missed_only_when_it_is_asked_for() -> None:
    stat = ProcessStat.parse("4711 (old) S " + " ".join(map(str, range(4, 23))))
    assert stat.start_ticks == 22
    with pytest.raises(ValueError, match="/proc/4711/stat has no field 39"):
        _ = stat.cpu


def test_this_process_is_read_from_the_real_thing() -> None:
    stat = ProcessStat.parse(LocalHost().read("/proc/self/stat"))
    assert (stat.pid, stat.state) == (os.getpid(), "R")
    assert NORMAL_POLICIES[stat.policy] == os.sched_getscheduler(0)
    assert stat.nice == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2000000000 5 7\n", SchedStat(2_000_000_000, 5)),
        ("0 5 1\n", SchedStat(0, 5)),
        ("0 0 0\n", None),
        ("", None),
        (None, None),
        (string.ascii_letters, None),
    ],
)
def test_schedstat_counts_or_there_is_none(text: str | None, found: SchedStat | None) -> None:
    assert SchedStat.parse(text) == found


def test_cpu_lines_have_eight_counters_and_other_lines_are_passed_over() -> None:
    text = "cpu  10 20 30 40 50 60 70 80 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\nintr 12 0\nctxt 5\nbtime 1700000000\n"
    assert cpu_ticks(text) == {"cpu": (10, 20, 30, 40, 50, 60, 70, 80), "cpu0": (1, 2, 3, 4, 5, 6, 7, 8)}
    assert cpu_ticks("") == {}
