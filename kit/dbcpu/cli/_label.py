"""The label of a run: it is stored, and shown wherever the run is."""

from typing import Any

import click

from dbcpu.cli import PASSWORD


class Label(click.ParamType[str]):
    """Any text without a password, such as that of a connection URL, which is not repeated."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if PASSWORD.search(str(value)):
            self.fail("it holds a password, and a label is stored and shown with the run; leave it out", param, ctx)
        return str(value)
