"""How wide and in which colours standard output is written: as the terminal is, or the environment asks for."""

import os
import sys
import textwrap
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

ONE_PRESS_S = 1.0
"""Within this time a second Ctrl-C belongs to the first."""
MIN_WIDTH, MAX_WIDTH = 20, 10_000
"""Of COLUMNS; what is outside is no width of a terminal, and is ignored."""


def asked_width() -> int | None:
    """Letters in a line: what COLUMNS says, also for a pipe or a file; else the terminal's; None without one."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and len(given) < 6 and MIN_WIDTH <= int(given) <= MAX_WIDTH:
        return int(given)
    if sys.stdout.isatty():
        with suppress(OSError, ValueError):
            return os.get_terminal_size(sys.stdout.fileno()).columns or None
    return None


def coloured(width: int) -> "Console | None":
    """For a terminal, or where FORCE_COLOR is not empty and NO_COLOR is: the former is for a pipe that shows colours.

    ``width``: in letters, where nobody asks for another. None where plain text is to be written.
    """
    terminal = sys.stdout.isatty()
    forced = bool(os.environ.get("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
    if not terminal and not forced:
        return None
    from rich.console import Console

    # A pipe has no terminal whose type would say which colours there are: the eight that all have.
    kind: Literal["auto", "standard"] = "auto" if terminal else "standard"
    return Console(width=asked_width() or width, force_terminal=True, color_system=kind, legacy_windows=False)


def wrapped(text: str) -> str:
    """``text`` with its lines broken at spaces, and indented, at ``asked_width``; a long word stays."""
    width = asked_width()
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = " " * min(9, width // 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
