"""This machine, or a folder that looks like its file system root."""

import subprocess
import time
from pathlib import Path

from dbcpu.errors import HostError
from dbcpu.hosts.base import Finished


class LocalHost:
    """The host dbcpu itself runs on. ``root`` other than / serves tests with a faked /proc."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.name = "local" if root == Path("/") else str(root)
        self.live = root == Path("/")

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text("utf-8", errors="replace")

    def list(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(entry.name for entry in (self.root / path.lstrip("/")).iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def write(self, path: str, text: str) -> None:
        try:
            (self.root / path.lstrip("/")).write_text(text, "utf-8")
        except OSError as error:
            hint = "; root is needed for most settings" if isinstance(error, PermissionError) else ""
            raise HostError(f"{path} could not be written: {error.strerror}{hint}") from None

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        """Raises HostError when the command is missing or does not end in time."""
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)  # noqa: S603 - an argument list, no shell
        except FileNotFoundError:
            raise HostError(f"{argv[0]} is not installed on this host") from None
        except subprocess.TimeoutExpired:
            raise HostError(f"{argv[0]} did not end within {timeout_s:g} s") from None
        return Finished(done.returncode, done.stdout, done.stderr)

    def clock(self) -> float:
        return time.monotonic()


def open_host(where: str) -> LocalHost:
    """``where``: a folder to use as root, or '' for this machine."""
    return LocalHost(Path(where) if where else Path("/"))
