"""A file or folder that a command is to write."""

import os
import re
from pathlib import Path
from typing import Any

import click

_URL = re.compile(r"([a-z][a-z0-9+.-]{1,30}):/", re.IGNORECASE)


class Place(click.Path):
    """As ``click.Path``; refused before anything is measured: nothing at all (the current folder, by its path), a URL,
    and a way on which another user could change what is written (UntrustedFile). ``-`` is standard output.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; give a path, such as ./dbcpu-out", param, ctx)
        # A path has its double slashes in one; what follows may be a password, and is not repeated.
        if found := _URL.match(str(value)):
            self.fail(f"a place on this machine was expected, and not {found[1]}://***", param, ctx)
        place = super().convert(value, param, ctx)
        if str(place) != "-":
            from dbcpu.config.drafts import check_way

            check_way(Path(os.fsdecode(place)))
        return place
