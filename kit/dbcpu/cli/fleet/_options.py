"""Options that commands of a fleet share, and the options of a run as they were given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dbcpu.cli._options import Function, store_option, together

name_argument = click.argument("name", metavar="CAMPAIGN")
inventory_argument = click.argument("inventory", type=click.Path(path_type=Path, dir_okay=False), required=False)
select_option = click.option(
    "--select", metavar="TAGS", default="", help="Only targets with these tags: 'region=eu kind=oracle'; name= for one."
)
at_once_option = click.option(
    "--at-once", type=click.IntRange(1, 1000), metavar="N", help="Targets measured at once.  [default: 4 per CPU here]"
)
_DRIVING = (
    at_once_option,
    click.option("--window", metavar="HH:MM-HH:MM", help="Begin targets only in this time of the day, if they will "
                 "have ended by then."),
    click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler whose workers measure: tls://HOST:PORT.  "
                 "[default: this machine]"),
    store_option,
)  # fmt: skip


def driving_options(function: Function) -> Function:
    """``at_once window scheduler store``."""
    return together(*_DRIVING)(function)


class Share(click.ParamType[float]):
    """``10%`` or ``0.1``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not a share; give 10% or 0.1", param, ctx)
        return share


def as_given(ctx: click.Context, names: Callable[[str], bool]) -> list[str]:
    """The options whose parameters are among ``names`` and that were given, as words of a command line."""
    words: list[str] = []
    for param in ctx.command.params:
        name = param.name or ""
        value, source = ctx.params.get(name), ctx.get_parameter_source(name)
        if not isinstance(param, click.Option) or not names(name) or source is not ParameterSource.COMMANDLINE:
            continue
        if name == "pace":
            value = "auto" if value is None else value or "off"
        words += [param.opts[0], *([] if param.is_flag else [str(value)])]
    return words
