"""``--limit`` of commands that show the newest of many runs."""

from collections.abc import Callable
from typing import Any

import click

MOST = 1_000_000_000


def newest_option(text: str) -> Callable[[Any], Any]:
    """``limit``: None where it was not given, 0 for all."""
    return click.option("--limit", type=click.IntRange(0, MOST), metavar="N", help=text)
