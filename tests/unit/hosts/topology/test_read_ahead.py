"""What ``read_host`` needs is read in one go where each file would cost a round trip."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.hosts import recorded
from dbcpu.hosts.base import Ahead
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import look
from dbcpu.hosts.topology import read_host
from dbcpu.hosts.topology.host_info import with_topology_read
from dbcpu.measure.identity import look_at_all
from dbcpu.targets.base import ServerClaim
from support.archives import unpack
from support.doubles.proc_folder import TICKS, FakeProc
from support.doubles.remote_host import FakeRemote
from support.paths import HOSTS


class Counting(FakeRemote):
    """Counts what is asked for file by file."""

    live = False

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.single: list[str] = []

    def read(self, path: str) -> str:
        self.single.append(path)
        return (self.root / path.lstrip("/")).read_text()

    def list(self, path: str) -> tuple[str, ...]:
        self.single.append(path)
        return super().list(path)


@pytest.mark.parametrize("name", ["c4-4xlarge-half-offline", "two-sockets", "power-smt8"])
def test_a_remote_host_is_the_same_in_few_questions(name: str, tmp_path: Path) -> None:
    unpack(HOSTS / f"{name}.tar.gz", tmp_path)
    root = tmp_path if (tmp_path / "sys").exists() else next(tmp_path.iterdir())
    host = Counting(root)
    told, expected = read_host(host), read_host(recorded.open_host(str(HOSTS / f"{name}.tar.gz")))
    assert replace(told, hostname="") == replace(expected, hostname="")
    assert not [
        path for path in host.single if path.startswith(("/sys/devices/system/cpu", "/sys/devices/system/node"))
    ]


def test_local_and_recorded_hosts_are_read_as_they_are(tmp_path: Path) -> None:
    host = LocalHost(tmp_path)
    assert with_topology_read(host) is host


def test_what_was_not_read_ahead_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "later").write_text("made later\n")
    (tmp_path / "other").write_text("asked for\n")
    host = Ahead(FakeRemote(tmp_path), {"/a/b/known": "known\n"}, ["/a"])
    assert host.read("/a/b/known") == "known\n"
    assert (host.list("/a"), host.list("/a/b"), host.list("/a/b/known")) == (("b",), ("known",), ())
    with pytest.raises(FileNotFoundError):
        host.read("/a/later")
    assert host.read("/other") == "asked for\n"
    assert host.list("/") == ("a", "other")


def test_all_processes_are_looked_at_together(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path / "root")
    proc.process(42, schedstat=(5_000_000, 0))
    proc.process(43, tid=44, command="worker", schedstat=(7_000_000, 0))
    claims = [ServerClaim(42), ServerClaim(None), ServerClaim(43, 44), ServerClaim(99)]
    expected = [look(proc.host, 42, None, TICKS), None, look(proc.host, 43, 44, TICKS), None]
    assert look_at_all(proc.host, claims, TICKS) == expected
    assert look_at_all(FakeRemote(proc.root), claims, TICKS) == expected
