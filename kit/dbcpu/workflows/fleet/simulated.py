"""Targets ``simulated://PRESET?noise=0.03&seed=7``: a fleet to try plans and reports on; nothing is measured."""

import itertools
from collections.abc import Sequence

from sqlalchemy.engine import make_url

from dbcpu.errors import UsageError

SCHEME = "simulated"
_OF_RUNS = ("--sessions", "-n", "--size", "-s", "--executions", "-e", "--seconds", "--for", "--repeats", "-r")
"""Options of a run that a simulation has as well; all of them have a value."""


def is_simulated(url: str) -> bool:
    """Whether it is that of such a target."""
    return url.partition("://")[0] == SCHEME


def arguments(url: str, options: Sequence[str]) -> list[str]:
    """Of ``dbcpu simulate``: preset and options of the URL, and those of ``options``, a run's, that it has too.

    Raises UsageError where the URL is none.
    """
    try:
        parsed = make_url(url)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{url[:80]!r} is no {SCHEME}://PRESET?OPTION=VALUE: {error}") from None
    own: list[str] = []
    for key, value in parsed.query.items():
        own += [f"--{key}", *([value] if isinstance(value, str) and value else [])]
    given = [word for option, value in itertools.pairwise(options) if option in _OF_RUNS for word in (option, value)]
    return [*([parsed.host] if parsed.host else []), *own, *given]
