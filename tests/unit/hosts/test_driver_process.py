import platform
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.hosts import driver_process
from dbcpu.hosts.local import LocalHost
from dbcpu.record.header import Driver


def test_this_process_is_here_and_not_gone() -> None:
    this = driver_process.this_process()
    assert driver_process.is_here(this)
    assert not driver_process.is_gone(this)


def test_ended_and_unreaped_process_is_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        drove = replace(driver_process.this_process(), pid=child.pid, start_ticks=ticks)
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
    assert driver_process.is_gone(replace(drove, **changed), host) is gone


def test_a_machine_with_the_same_name_is_another_one(host: LocalHost) -> None:
    """Cloned machines, and containers with a host name of their own choice; so is this one before its restart."""
    drove = Driver(platform.node(), 50, 22, "3.11.7", "boot-1", driver_process.pid_namespace())
    assert driver_process.is_here(drove, host)
    assert not driver_process.is_here(replace(drove, boot_id="boot-0"), host)
    assert not driver_process.is_here(replace(drove, pid_namespace="pid:[1]"), host)


MACHINE_ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def machine(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> LocalHost:
    """A host that is no container, with an id of its own."""
    (host.root / "etc").mkdir()
    (host.root / "etc/machine-id").write_text(f"{MACHINE_ID}\n")
    monkeypatch.setattr(driver_process, "pid_namespace", lambda: driver_process.FIRST_PID_NAMESPACE)
    return host


def drove_there(host: LocalHost, **changed: object) -> Driver:
    return replace(driver_process.this_process(host), pid=50, start_ticks=22, **changed)


def test_a_restart_of_the_machine_cut_its_driver_off(machine: LocalHost) -> None:
    drove = drove_there(machine)
    assert not driver_process.is_gone(drove, machine)
    (machine.root / "proc/sys/kernel/random/boot_id").write_text("boot-2\n")
    assert driver_process.was_before_restart(drove, machine)
    assert driver_process.is_gone(drove, machine)


@pytest.mark.parametrize(
    "other",
    [
        {"hostname": "elsewhere"},
        {"machine": "0123456789abcdef"},
        {"machine": None},
        {"boot_id": None},
        {"pid_namespace": None},
        {"pid_namespace": "pid:[4026532177]"},
    ],
)
def test_of_another_machine_or_a_container_a_restart_is_not_known(machine: LocalHost, other: dict[str, object]) -> None:
    drove = drove_there(machine, **{"boot_id": "boot-0", **other})
    assert not driver_process.was_before_restart(drove, machine)
    assert not driver_process.is_gone(drove, machine)


def test_nothing_is_known_within_a_container(machine: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    drove = drove_there(machine, boot_id="boot-0")
    monkeypatch.setattr(driver_process, "pid_namespace", lambda: "pid:[4026532177]")
    assert not driver_process.is_gone(drove, machine)


@pytest.mark.parametrize("text", [None, "", "uninitialized\n", "abc\n", f"{MACHINE_ID}00\n"])
def test_a_machine_without_an_id_has_no_name(machine: LocalHost, text: str | None) -> None:
    (machine.root / "etc/machine-id").unlink()
    if text is not None:
        (machine.root / "etc/machine-id").write_text(text)
    assert driver_process.machine(machine) is None
    assert not driver_process.is_gone(drove_there(machine, boot_id="boot-0"), machine)


def test_the_id_of_the_machine_stays_its_own(machine: LocalHost) -> None:
    named = driver_process.machine(machine)
    assert named is not None
    assert (len(named), named in MACHINE_ID) == (16, False)


def test_nothing_is_claimed_where_proc_hides_other_processes(host: LocalHost) -> None:
    (host.root / "proc/1/stat").unlink()
    assert not driver_process.is_gone(Driver(platform.node(), 51, 22, "3.11.7", "boot-1"), host)


def test_nothing_is_claimed_without_proc(tmp_path: Path) -> None:
    assert not driver_process.is_gone(Driver(platform.node(), 51, 22, "3.11.7", "boot-1"), LocalHost(tmp_path))
