"""A recorded host can be read, and nothing else; damaged and hostile captures are refused in a sentence."""

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from dbcpu.errors import HostError
from dbcpu.hosts import recorded
from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology.host_info import BOOT_OPTIONS
from support.paths import ROOT

CAPTURE = ROOT / "shell" / "capture-host"


def folder(root: Path) -> Path:
    (root / "proc/sys").mkdir(parents=True)
    (root / "proc/stat").write_text("cpu0 1\n")
    return root


def test_a_folder_and_its_archive_read_alike(tmp_path: Path) -> None:
    made = folder(tmp_path / "box")
    with tarfile.open(tmp_path / "box.tar.gz", "w:gz") as archive:
        archive.add(made, "box")
    for where in (made, tmp_path / "box.tar.gz"):
        host = open_host(str(where))
        assert (host.name, host.live, host.read("/proc/stat"), host.list("/proc")) == (
            "box",
            False,
            "cpu0 1\n",
            ("stat",),
        )
        assert host.list("/nowhere") == ()
        with pytest.raises(FileNotFoundError):
            host.read("/proc/nothing")


def test_nothing_outside_of_the_capture_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    made = folder(tmp_path / "box")
    (made / "proc/link").symlink_to(tmp_path / "secret")
    (made / "sys").symlink_to(tmp_path)
    host = open_host(str(made))
    for path in ("/../secret", "/proc/../../secret", "/proc/link", "/sys/secret", "../secret"):
        with pytest.raises(FileNotFoundError):
            host.read(path)


def test_links_and_climbing_names_in_an_archive_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    where = tmp_path / "bad.tar.gz"
    with tarfile.open(where, "w:gz") as archive:
        link = tarfile.TarInfo("proc/link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(link)
        for name in ("../../climbing", "proc/stat"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    host = open_host(str(where))
    with pytest.raises(FileNotFoundError):
        host.read("/proc/link")
    assert host.read("/climbing") == "x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tar.gz", "secret"]


def test_a_recorded_host_cannot_be_written_run_on_or_timed(tmp_path: Path) -> None:
    host = open_host(str(folder(tmp_path / "box")))
    with pytest.raises(HostError, match="recorded"):
        host.write("/proc/stat", "1")
    with pytest.raises(HostError, match="recorded"):
        host.run(("true",), 1.0)
    with pytest.raises(HostError, match="recorded"):
        host.clock()


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00cut"])
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    where = tmp_path / "host.tar.gz"
    where.write_bytes(content)
    with pytest.raises(HostError, match="recorded host"):
        open_host(str(where))


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "box.tar.gz"
    with tarfile.open(whole, "w:gz") as archive:
        archive.add(folder(tmp_path / "box"), "box")
    whole.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(HostError, match="whole"):
        open_host(str(whole))


def sparse(**headers: str) -> bytes:
    """The header of a sparse file of GNU tar, format 1.0, with a map that is none."""
    member = tarfile.TarInfo("h/proc/stat")
    member.size, member.pax_headers = 4, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", **headers}
    return member.tobuf(tarfile.PAX_FORMAT) + b"no map".ljust(512, b"\0")


def long_name(size: int) -> bytes:
    """A member whose name is said to be so long."""
    member = tarfile.TarInfo("././@LongLink")
    member.size, member.type = size, tarfile.GNUTYPE_LONGNAME
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "content",
    [sparse(), sparse(**{"GNU.sparse.realsize": "9" * 30}), sparse(size="-5"), long_name(1 << 40) + b"x" * 2048],
    ids=["no map", "size of 30 digits", "negative size", "endless name"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_headers_that_lie_are_refused(content: bytes, packed: bool, tmp_path: Path) -> None:
    where = tmp_path / "host.tar.gz"
    where.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(HostError, match="recorded host"):
        open_host(str(where))


def test_an_archive_that_unpacks_to_more_than_any_capture_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all of it is in what is no file: a name, or the space between two."""
    monkeypatch.setattr(recorded, "MAX_BYTES", 1 << 20)
    where = tmp_path / "host.tar.gz"
    where.write_bytes(gzip.compress(long_name(1 << 30) + bytes(2 << 20)))
    with pytest.raises(HostError, match="too large at its end"):
        open_host(str(where))


@pytest.mark.parametrize("name", ["online", "present"])
@pytest.mark.parametrize("text", ["0-99999999999", "3-1", "all", "-1"])
def test_a_list_of_cpus_that_is_none_is_damaged(name: str, text: str, tmp_path: Path) -> None:
    made = folder(tmp_path / "box")
    (made / "sys/devices/system/cpu").mkdir(parents=True)
    (made / "sys/devices/system/cpu" / name).write_text(f"{text}\n")
    said = rf"box is damaged: sys/devices/system/cpu/{name} holds '{text}', which is no list of CPUs; capture it again"
    with pytest.raises(HostError, match=said):
        open_host(str(made))


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme").write_text("hello")
    for where in (str(tmp_path), str(tmp_path / "missing"), "/"):
        with pytest.raises(HostError):
            open_host(where)


def test_a_file_too_large_for_proc_is_refused(tmp_path: Path) -> None:
    made = folder(tmp_path / "box")
    with (made / "proc/huge").open("wb") as huge:
        huge.truncate(5 * 1024**2)
    with pytest.raises(HostError, match="too large"):
        open_host(str(made))


def capture(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CAPTURE), *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_the_capture_script_makes_what_is_read_back(tmp_path: Path) -> None:
    where = tmp_path / "with space.tar.gz"
    done = capture("-a", "-n", "box", "-o", str(where))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{where}\n", "")
    host = open_host(str(where))
    assert host.read("/proc/sys/kernel/hostname") == "box\n"
    assert host.read("/sys/devices/system/cpu/online") == Path("/sys/devices/system/cpu/online").read_text()
    assert all(BOOT_OPTIONS.match(word) for word in host.read("/proc/cmdline").split())


@pytest.mark.parametrize("arguments", [("-x",), ("-n", "a/b"), ("-p", "one"), ("extra",)])
def test_the_capture_script_refuses_wrong_use(arguments: tuple[str, ...]) -> None:
    done = capture(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
