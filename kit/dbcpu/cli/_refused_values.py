"""Text on a command line: it is never empty, and no label holds a password.

A variable that the shell does not know is an empty text there, and a command must not take it for the default: a night
of runs would go to another store.
"""

from typing import Any

import click

from dbcpu.errors import URL_PASSWORD


class Text(click.types.StringParamType):
    """As click's text, and not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("it is empty; give a value, or leave it out", param, ctx)
        return super().convert(value, param, ctx)


class Label(click.ParamType[str]):
    """Any text without a password, such as that of a connection URL, which is not repeated; it may be empty.

    It is stored, and shown wherever the run is.
    """

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if URL_PASSWORD.search(str(value)):
            self.fail("it holds a password, and a label is stored and shown with the run; leave it out", param, ctx)
        return str(value)


class WholeNumber(click.IntRange):
    """As click's range of whole numbers, which says ``not in the range 1<=x<=1000``, and ``not a valid integer range``
    of what is no number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            least, most = self.min if self.min is not None else "-", self.max
            within = f"from {least} to {most}" if most is not None else f"of at least {least}"
            self.fail(f"{value!r} is not a whole number {within}", param, ctx)


def word_refusals(command: click.Command) -> None:
    """What refuses the parameters of ``command`` (and of its own commands): an empty text, and what is no number."""
    for parameter in command.params:
        if type(parameter.type) is click.types.StringParamType:
            parameter.type = Text()
        elif type(parameter.type) is click.IntRange:
            parameter.type = WholeNumber(parameter.type.min, parameter.type.max)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            word_refusals(each)
