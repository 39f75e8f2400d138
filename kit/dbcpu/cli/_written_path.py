"""A file or folder that a command is to write."""

import os
import re
from pathlib import Path
from typing import Any

import click

_OF_THE_KERNEL = (Path("/proc"), Path("/sys"))
_URL = re.compile(r"([a-z][a-z0-9+.-]{1,30}):/", re.IGNORECASE)


class WrittenPath(click.Path):
    """As ``click.Path``; refused before anything is measured: nothing at all (the current folder, by its path), a URL,
    a way on which another user could change what is written (UntrustedFile), and where nothing can be written.
    ``-`` is standard output, and no folder.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; give a path, such as ./dbcpu-out", param, ctx)
        if str(value) == "-" and not self.file_okay:
            self.fail("a folder was expected, and - is standard output; give a folder, such as ./dbcpu-out", param, ctx)
        # A path has its double slashes in one; what follows may be a password, and is not repeated.
        if found := _URL.match(str(value)):
            self.fail(f"a place on this machine was expected, and not {found[1]}://***", param, ctx)
        place = super().convert(value, param, ctx)
        if str(place) != "-":
            from dbcpu.config.written_files import check_way

            target = Path(os.fsdecode(place))
            check_way(target)
            if why := _why_not(target, makes_folders=not self.file_okay):
                self.fail(f"{str(target)!r} cannot be written: {why}; give another place", param, ctx)
        return place


class RecordPath(WrittenPath):
    """A file for a record, whose form its name says."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from dbcpu.store.record_file import takes_record

        place = super().convert(value, param, ctx)
        if not takes_record(place):
            self.fail(f"{str(place)!r} does not end in .json or .json.gz; name the file so", param, ctx)
        return place


def _why_not(target: Path, *, makes_folders: bool) -> str | None:
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
