"""A password that is asked for at a terminal: it is not shown, and whoever stops there gets the terminal back."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins import runs
from support.terminal import CTRL_C, Terminal


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Terminal]:
    """``dbcpu doctor x``, which asks for the password of x."""
    config = tmp_path / "dbcpu.toml"
    config.write_text('[targets.x]\nurl = "postgresql://u@127.0.0.1:1/d"\npassword = "prompt"\n')
    environment = runs.environment(PYTHONPATH=":".join(sys.path), DBCPU_CONFIG=str(config), HOME=str(tmp_path))
    with Terminal([sys.executable, "-m", "dbcpu", "doctor", "x"], environment) as terminal:
        assert terminal.echo
        terminal.await_text("password for x: ")
        terminal.await_echo(False)
        yield terminal


def test_ctrl_c_at_the_prompt_ends_it_and_what_is_typed_is_shown_again(asking: Terminal) -> None:
    asking.press(CTRL_C)
    assert asking.await_end() == 130
    assert asking.echo
    assert asking.shown.split() == ["password", "for", "x:", "dbcpu:", "interrupted"]


def test_sigterm_at_the_prompt_does_the_same(asking: Terminal) -> None:
    os.kill(asking.pid, signal.SIGTERM)
    assert asking.await_end() == 130
    assert asking.echo
    assert "Traceback" not in asking.shown


def test_the_end_of_input_at_the_prompt_is_an_interruption(asking: Terminal) -> None:
    asking.press(b"\x04")
    assert asking.await_end() == 130
    assert asking.echo


def test_the_password_is_not_shown(asking: Terminal) -> None:
    asking.press(b"s3cret\n")
    assert asking.await_end() == 3  # nothing listens there
    assert "s3cret" not in asking.shown
    assert asking.echo
