import dataclasses
import platform
import subprocess
from pathlib import Path

import pytest

from dbcpu.hosts import driver_process
from dbcpu.hosts.local import LocalHost
from dbcpu.record import Driver


def test_this_process_is_here_and_not_gone() -> None:
    this = driver_process.this_process()
    assert driver_process.is_here(this)
    assert not driver_process.is_gone(this)


def test_ended_and_unreaped_process_is_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        drove = dataclasses.replace(driver_process.this_process(), pid=child.pid, start_ticks=ticks)
        assert not driver_process.is_gone(drove)
        child.kill()
        while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            pass
        assert driver_process.is_gone(drove)
    assert driver_process.is_gone(drove)


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    files = {
        "proc/sys/kernel/random/boot_id": "boot-1\n",
        "proc/1/stat": "1 (init) S " + "0 " * 40,
        "proc/50/stat": "50 (a) R) S " + " ".join(map(str, range(4, 53))),
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return LocalHost(tmp_path)


@pytest.mark.parametrize(
    ("changed", "gone"),
    [
        ({}, False),
        ({"start_ticks": 23}, True),
        ({"start_ticks": None}, False),
        ({"boot_id": "boot-0", "pid": 51}, False),
        ({"pid_namespace": "pid:[1]", "pid": 51}, False),
        ({"pid_namespace": driver_process.pid_namespace(), "pid": 51}, True),
        ({"boot_id": None}, False),
        ({"pid": 51}, True),
        ({"hostname": "elsewhere", "pid": 51, "boot_id": "boot-0"}, False),
    ],
)
def test_driver_is_gone_when_pid_or_start_differ_within_its_boot_and_namespace(
    host: LocalHost, changed: dict[str, object], gone: bool
) -> None:
    drove = Driver(platform.node(), 50, 22, "3.11.7", "boot-1")
    assert driver_process.is_gone(dataclasses.replace(drove, **changed), host) is gone  # type: ignore[arg-type]


def test_a_machine_with_the_same_name_is_another_one(host: LocalHost) -> None:
    """Cloned machines, and containers with a host name of their own choice; so is this one before its restart."""
    drove = Driver(platform.node(), 50, 22, "3.11.7", "boot-1", driver_process.pid_namespace())
    assert driver_process.is_here(drove, host)
    assert not driver_process.is_here(dataclasses.replace(drove, boot_id="boot-0"), host)
    assert not driver_process.is_here(dataclasses.replace(drove, pid_namespace="pid:[1]"), host)


def test_nothing_is_claimed_where_proc_hides_other_processes(host: LocalHost) -> None:
    (host.root / "proc/1/stat").unlink()
    assert not driver_process.is_gone(Driver(platform.node(), 51, 22, "3.11.7", "boot-1"), host)


def test_nothing_is_claimed_without_proc(tmp_path: Path) -> None:
    assert not driver_process.is_gone(Driver(platform.node(), 51, 22, "3.11.7", "boot-1"), LocalHost(tmp_path))
