"""A file or folder that a command is to write."""

import os
import re
from pathlib import Path
from typing import Any

import click

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
            from dbcpu.config.writable_place import why_not_writable
            from dbcpu.config.written_files import check_way

            target = Path(os.fsdecode(place))
            check_way(target)
            if why := why_not_writable(target, makes_folders=not self.file_okay):
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
