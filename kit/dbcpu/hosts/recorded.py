"""A host captured earlier by ``shell/capture-host``: a folder or .tar.gz of its files, read-only."""

import gzip
import io
import os
import posixpath
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from dbcpu.config.given_file import is_hidden
from dbcpu.errors import HostError
from dbcpu.formatting import as_cpu_list
from dbcpu.hosts.base import Finished

MAX_FILE_BYTES = 4 * 1024**2
MAX_BYTES = 256 * 1024**2
"""Files of /proc and /sys are small: larger ones are not a capture (or were made to fill the memory)."""
_LISTS = ("sys/devices/system/cpu/online", "sys/devices/system/cpu/present")
"""Without these two it would be a host of other CPUs, or of none."""
_GZIP = b"\x1f\x8b"


class RecordedHost:
    """Files of a host that is elsewhere, or gone. ``files`` maps absolute paths to their text."""

    live = False

    def __init__(self, name: str, files: Mapping[str, str]) -> None:
        self.name = name
        self._files = {_absolute(path): text for path, text in files.items()}
        self._folders: dict[str, set[str]] = {}
        for path in self._files:
            while path != "/":
                path, name_ = posixpath.split(path)
                self._folders.setdefault(path, set()).add(name_)

    def read(self, path: str) -> str:
        wanted = _absolute(path)
        if wanted in self._folders:
            raise IsADirectoryError(path)
        if wanted not in self._files:
            raise FileNotFoundError(path)
        return self._files[wanted]

    def list(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(self._folders.get(_absolute(path), ())))

    def write(self, path: str, text: str) -> None:
        raise HostError(f"{path} was not written: {self.name} is a recorded host, which can only be read")

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        raise HostError(f"{argv[0]} was not run: {self.name} is a recorded host, which can only be read")

    def clock(self) -> float:
        raise HostError(f"{self.name} is a recorded host: it has no running clock")


def open_host(where: str) -> RecordedHost:
    """``where``: a folder with proc/ and sys/ in it, or a .tar.gz of one.

    Only regular files count: links are left out, so that nothing outside of the capture is ever read.

    Raises:
        HostError: nothing there, not an archive, damaged, too large, or without proc/ and sys/.
    """
    path = Path(where)
    name = path.name.removesuffix(".tar.gz").removesuffix(".tgz") or where
    if _is_running(path):
        raise HostError(f"{where} is of this running machine, not a recording; leave --host away to look at it")
    if is_hidden(path):
        raise HostError(
            f"recorded host {where} could not be read: Permission denied on the way to it; "
            "start dbcpu as a user who may read it, or give another place"
        )
    if path.is_dir():
        files = _files_of_folder(path)
    elif path.is_file():
        files = _files_of_archive(path)
    else:
        raise HostError(f"recorded host {where} does not exist; give a folder or .tar.gz made by shell/capture-host")
    tops = {file.split("/", 1)[0] for file in files}
    if len(tops) == 1 and not tops & {"proc", "sys"}:
        files = {file.split("/", 1)[1]: text for file, text in files.items() if "/" in file}
    if not any(file.startswith(("proc/", "sys/")) for file in files):
        raise HostError(f"recorded host {where} holds no proc/ and no sys/; make one with shell/capture-host")
    for file in _LISTS:
        if as_cpu_list(files.get(file, "")) is None:
            raise HostError(
                f"recorded host {where} is damaged: {file} holds {files[file].strip()[:40]!r}, which is no list of "
                "CPUs; capture it again"
            )
    return RecordedHost(name, files)


def _is_running(path: Path) -> bool:
    """Whether it is /, or of /proc or /sys themselves: some files there never end, and reading others does things."""
    try:
        running = {Path(top).stat().st_dev for top in ("/proc", "/sys")}
        return path.resolve() == Path("/") or path.stat().st_dev in running
    except OSError:
        return False


def _absolute(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def _files_of_folder(root: Path) -> dict[str, str]:
    files: dict[str, str] = {}
    room = MAX_BYTES
    try:
        for folder, _, names in os.walk(root):  # does not follow links to folders
            for name in names:
                file = Path(folder, name)
                if file.is_symlink() or not file.is_file():
                    continue
                if _is_running(file):
                    raise HostError(f"recorded host {root} holds {file}, which is of this running machine; copy it")
                with file.open("rb") as stream:
                    content = stream.read(MAX_FILE_BYTES + 1)
                room -= len(content)
                _check_size(root, file.name, len(content), room)
                files[file.relative_to(root).as_posix()] = content.decode("utf-8", errors="replace")
    except OSError as error:
        raise HostError(f"recorded host {root} could not be read: {error.strerror}") from None
    return files


def _files_of_archive(path: Path) -> dict[str, str]:
    """Unpacked within bounds first: a header may ask for any amount of memory, and is given what there is."""
    files: dict[str, str] = {}
    try:
        with path.open("rb") as packed:
            is_gzip = packed.read(len(_GZIP)) == _GZIP
        with gzip.open(path) if is_gzip else path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        _check_size(path, "its end", 0, MAX_BYTES - len(content))
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                inner = archive.extractfile(member) if member.isreg() else None
                if inner is None:
                    continue
                _check_size(path, member.name, member.size, MAX_BYTES)
                inside = posixpath.normpath("/" + member.name).lstrip("/")
                files[inside] = inner.read().decode("utf-8", errors="replace")
    # Wrong numbers in a header of a sparse file are a ValueError.
    except (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError) as error:
        raise HostError(f"recorded host {path} is not a whole .tar.gz ({error}); capture it again") from None
    except OSError as error:
        raise HostError(f"recorded host {path} could not be read: {error.strerror or error}") from None
    return files


def _check_size(where: Path, name: str, size: int, room: int) -> None:
    if size > MAX_FILE_BYTES or room < 0:
        raise HostError(f"recorded host {where} is too large at {name}; a capture holds small files of /proc and /sys")
