"""CPU pressure before and after a round: what is counted, and what stays unknown."""

from pathlib import Path

import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers._pressure import HOST_FILE, pressure_between, pressure_files
from dbcpu.measure.samplers.base import Watched
from dbcpu.record.rounds import CpuPressure

OWN = "/sys/fs/cgroup/db/cpu.pressure"
FILES = {HOST_FILE: ("", []), OWN: ("/db", [0, 1])}


def text(some_us: int, full_us: int | None = 0) -> str:
    full = "" if full_us is None else f"full avg10=0.00 avg60=0.00 avg300=0.00 total={full_us}\n"
    return f"some avg10=12.34 avg60=5.00 avg300=1.00 total={some_us}\n{full}"


def test_the_totals_are_counted_over_the_round_and_full_for_groups_alone() -> None:
    before = {HOST_FILE: text(1_000_000), OWN: text(500_000, 100_000)}
    after = {HOST_FILE: text(1_750_000), OWN: text(1_500_000, 350_000)}
    assert pressure_between(FILES, before, after, 2.0) == (
        CpuPressure("", 2.0, 0.75),
        CpuPressure("/db", 2.0, 1.0, 0.25, (0, 1)),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({HOST_FILE: None}, {HOST_FILE: text(1)}),
        ({HOST_FILE: ""}, {HOST_FILE: ""}),
        ({HOST_FILE: text(9)}, {HOST_FILE: text(1)}),
        ({HOST_FILE: "some avg10=0\n"}, {HOST_FILE: "some avg10=0\n"}),
        ({HOST_FILE: "some total=x\n"}, {HOST_FILE: "some total=x\n"}),
        ({HOST_FILE: "\n \n"}, {HOST_FILE: text(1)}),
    ],
)
def test_what_was_not_readable_both_times_is_unknown(
    before: dict[str, str | None], after: dict[str, str | None]
) -> None:
    assert pressure_between(FILES, before, after, 1.0) == ()


def test_old_kernels_have_no_line_full() -> None:
    (found,) = pressure_between(FILES, {OWN: text(1, None)}, {OWN: text(11, None)}, 1.0)
    assert (found.some_s, found.full_s) == (1e-5, None)


def files(root: Path, contents: dict[str, str]) -> LocalHost:
    for path, content in contents.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return LocalHost(root)


MOUNT = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def test_groups_are_the_sessions_own_and_those_above_with_a_quota(tmp_path: Path) -> None:
    contents = {
        "/proc/self/mountinfo": MOUNT,
        "/proc/7/cgroup": "0::/pod/db\n",
        "/proc/8/cgroup": "0::/pod/db\n",
        "/proc/9/cgroup": "0::/\n",
        "/sys/fs/cgroup/pod/cgroup.events": "populated 1\n",
        "/sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/pod/db/cgroup.events": "populated 1\n",
        "/sys/fs/cgroup/pod/db/cpu.max": "max 100000\n",
    }
    watched = [Watched(0, 7, None), Watched(1, 8, None), Watched(2, 9, None), Watched(3, 10, None)]
    assert pressure_files(files(tmp_path, contents), watched) == {
        HOST_FILE: ("", []),
        "/sys/fs/cgroup/pod/db/cpu.pressure": ("/pod/db", [0, 1]),
        "/sys/fs/cgroup/pod/cpu.pressure": ("/pod", [0, 1]),
    }


def test_the_root_of_a_container_is_a_group_of_its_own(tmp_path: Path) -> None:
    contents = {
        "/proc/self/mountinfo": MOUNT,
        "/proc/7/cgroup": "0::/\n",
        "/sys/fs/cgroup/cgroup.events": "populated 1\n",
    }
    found = pressure_files(files(tmp_path, contents), [Watched(0, 7, None)])
    assert found["/sys/fs/cgroup/cpu.pressure"] == ("/", [0])
