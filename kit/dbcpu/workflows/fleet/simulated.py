"""Targets ``simulated://PRESET?noise=0.03&seed=7``: a fleet to try plans and reports on; nothing is measured."""

import itertools
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from dbcpu.errors import UsageError

SCHEME = "simulated"
_OF_RUNS = ("--sessions", "-n", "--size", "-s", "--executions", "-e", "--seconds", "--for", "--repeats", "-r")
"""Options of a run that a simulation has as well; all of them have a value."""


def is_simulated(url: str) -> bool:
    """Whether it is that of such a target."""
    return url.partition("://")[0] == SCHEME


def why_none(url: str) -> str:
    """Why there is no such target, '' where its preset is known; its options are read when it is simulated."""
    from dbcpu.simulator.presets import preset

    try:
        words = arguments(url, ())
        if words and not words[0].startswith("-"):
            preset(words[0])
    except UsageError as error:
        return str(error)
    return ""


def arguments(url: str, options: Sequence[str]) -> list[str]:
    """Of ``dbcpu simulate``: preset and options of the URL, and those of ``options``, a run's, that it has too.

    An option without a value is one that has none: ``simulated://?cores=8&bare-metal``. Raises UsageError.
    """
    try:
        parsed = urlsplit(url)
        pairs = parse_qsl(parsed.query, keep_blank_values=True)
    except ValueError as error:
        raise UsageError(f"{url[:80]!r} is no {SCHEME}://PRESET?OPTION=VALUE: {error}") from None
    own = [word for key, value in pairs for word in (f"--{key}", value) if word]
    given = [word for option, value in itertools.pairwise(options) if option in _OF_RUNS for word in (option, value)]
    return [*([parsed.netloc] if parsed.netloc else []), *own, *given]
