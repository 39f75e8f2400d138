"""Text on a command line, which is never empty.

A variable that the shell does not know is an empty text there, and a command must not take it for the default: a night
of runs would go to another store.
"""

from typing import Any

import click


class Text(click.types.StringParamType):
    """As click's text, and not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("it is empty; give a value, or leave it out", param, ctx)
        return super().convert(value, param, ctx)


def refuse_empty(command: click.Command) -> None:
    """From now on all parameters of ``command`` (and of its own commands) that are any text."""
    for parameter in command.params:
        if type(parameter.type) is click.types.StringParamType:
            parameter.type = Text()
    if isinstance(command, click.Group):
        for each in command.commands.values():
            refuse_empty(each)
