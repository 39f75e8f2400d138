"""Unpacks recorded hosts."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """All of ``archive`` into ``folder``. The oldest Python 3.11 knows no filters; the newest wants to be given one."""
    chosen = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as packed:
        packed.extractall(folder, **chosen)  # type: ignore[arg-type]  # noqa: S202 - an archive of the tests' own
