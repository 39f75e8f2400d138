"""Can a file or folder be made there? Asked before anything is measured; what fails later is no wrong usage."""

import os
from pathlib import Path

_OF_THE_KERNEL = (Path("/proc"), Path("/sys"))


def why_not_writable(target: Path, *, makes_folders: bool) -> str | None:
    """Why nothing can be made at ``target``, by what is there of the way; None where nothing shows.

    It is a forecast: a disk fills up meanwhile.
    """
    there = _may(target, os.F_OK)
    if there and not target.is_dir():
        return None  # replaced, or a device
    above = target if there else target.parent
    while makes_folders and not os.path.lexists(above):
        above = above.parent
    if not _may(above, os.F_OK):
        return f"there is no folder {above}"
    if not above.is_dir():
        return f"{above} is no folder"
    if above.stat().st_dev in {top.stat().st_dev for top in _OF_THE_KERNEL if top.is_mount()}:
        return f"no file can be made in {above}, which the kernel shows"
    return None if _may(above, os.W_OK | os.X_OK) else f"nothing may be written in {above}"


def _may(path: Path, what: int) -> bool:
    """By what the process may do now. Path.exists raises, up to Python 3.13, where a folder may not be looked at."""
    return os.access(path, what, effective_ids=True)
