"""Options of which one leaves nothing for the other to say: neither is dropped in silence."""

import functools
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from dbcpu.cli._options import Function


def refuse_both(one: str, other: str, why: str) -> Callable[[Function], Function]:
    """Raises click.UsageError where both were given on the command line, defaults included; ``why`` not both."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            context = click.get_current_context()
            if all(context.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in (one, other)):
                first, second = (f"--{each.replace('_', '-')}" for each in (one, other))
                raise click.UsageError(f"{first} and {second} do not go with each other: {why}; leave one of them out")
            return function(*args, **given)

        return checked  # type: ignore[return-value]

    return decorate
