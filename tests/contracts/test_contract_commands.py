"""Every command says what it does and shows an example, and stays a thin file."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from dbcpu import registry
from dbcpu.cli import load_command
from dbcpu.cli._option_values import Duration, WantedPace
from dbcpu.cli.fleet._options import Share

COMMANDS = registry.names("cli")


def leaves(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from leaves(each)
    else:
        yield command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_an_example(name: str) -> None:
    command = registry.load("cli", name).command
    assert isinstance(command, click.Command)
    assert command.help
    for leaf in leaves(command):
        text = leaf.get_help(click.Context(leaf, info_name=leaf.name))
        assert "Example" in text, f"dbcpu {name}: no example"
        assert "dbcpu " in text.partition("Example")[2], f"dbcpu {name}: the example is no command"
        for parameter in leaf.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.help, f"dbcpu {name}: {parameter.opts[0]} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_usage_has_brackets_around_what_may_be_left_out(name: str) -> None:
    for leaf in leaves(registry.load("cli", name).command):
        for parameter in leaf.params:
            if isinstance(parameter, click.Argument) and not parameter.required and parameter.nargs == 1:
                shown = parameter.make_metavar(click.Context(leaf))
                assert shown.startswith("["), f"dbcpu {name}: {shown} looks as if it were required"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_file_is_short(name: str) -> None:
    file = Path(inspect.getfile(registry.load("cli", name)))
    assert file.read_text("utf-8").count("\n") <= 40, f"{file.name}: options, one call, one renderer"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_takes_nan_for_a_number(name: str) -> None:
    """It compares as false with everything: a limit of NaN was passed by every figure."""
    command = registry.load("cli", name).command
    for leaf in leaves(command):
        for parameter in leaf.params:
            form: click.ParamType[Any] = parameter.type
            if isinstance(form, click.types.FloatParamType | Duration | Share | WantedPace):
                with pytest.raises(click.BadParameter):
                    form("nan", parameter)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_text_is_empty(name: str) -> None:
    """A variable that the shell does not know would stand for the default."""
    for leaf in leaves(load_command(name).command):
        for parameter in leaf.params:
            if isinstance(parameter.type, click.types.StringParamType):
                with pytest.raises(click.BadParameter, match="empty"):
                    parameter.type("", parameter)
