"""Targets ``simulated://PRESET?noise=0.03&seed=7``: a fleet to try plans and reports on; nothing is measured."""

import itertools
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl, urlsplit

from dbcpu.config.simulated_hosts import HOST_OPTIONS, Fields, HostOption
from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import as_whole_number, listed

SCHEME = "simulated"
_FORM = f"{SCHEME}://PRESET?OPTION=VALUE"
_OF_RUNS = ("--sessions", "-n", "--size", "-s", "--executions", "-e", "--seconds", "--for", "--repeats", "-r")
"""Options of a run that a simulation has as well; all of them have a value."""
_OF_HOSTS = {option.name[2:]: option for option in HOST_OPTIONS}
_SHAPE = ("cores", "threads", "efficiency-cores")
"""Without a preset one of these makes the host: else nobody has said which host it is."""
_YES, _NO = ("", "true", "yes", "1"), ("false", "no", "0")


def is_simulated(url: str) -> bool:
    """Whether it is that of such a target."""
    return url.partition("://")[0] == SCHEME


def why_none(url: str) -> str:
    """Why there is no such target, as a campaign and ``fleet check`` say it; '' where it can be simulated."""
    from dbcpu.simulator import host_with

    try:
        preset, texts = _parts(url)
        changes: Fields = {}
        for key, text in texts.items():
            if key in _OF_RUN:
                _OF_RUN[key](text)
            else:
                changes |= _fields(key, _OF_HOSTS[key], text)
        host_with(preset or None, changes)
        if not preset and not set(_SHAPE) & set(texts):
            return (
                f"{url[:80]} names no host; name a preset, such as {SCHEME}://c4.4xlarge, or a shape, such as "
                f"{SCHEME}://?cores=8"
            )
    except UsageError as error:
        return str(error)
    return ""


def arguments(url: str, options: Sequence[str]) -> list[str]:
    """Of ``dbcpu simulate``: preset and options of the URL, and those of ``options``, a run's, that it has too.

    An option without a value is one that has none: ``simulated://?cores=8&bare-metal``. Raises UsageError.
    """
    preset, texts = _parts(url)
    own = [word for key, text in texts.items() for word in (f"--{key}", text) if word]
    given = [word for option, value in itertools.pairwise(options) if option in _OF_RUNS for word in (option, value)]
    return [*([preset] if preset else []), *own, *given]


def _parts(url: str) -> tuple[str, dict[str, str]]:
    """The preset, '' for none, and by option its text, '' of one that has no value. Raises UsageError."""
    try:
        parsed = urlsplit(url)
        pairs = parse_qsl(parsed.query, keep_blank_values=True)
    except ValueError as error:
        raise UsageError(f"{url[:80]!r} is no {_FORM}: {error}") from None
    if parsed.path.strip("/") or parsed.fragment or parsed.netloc.startswith("-"):
        raise UsageError(f"{url[:80]!r} is no {_FORM}; write it so")
    texts: dict[str, str] = {}
    for key, text in pairs:
        if key not in _OF_HOSTS and key not in _OF_RUN:
            raise UnknownName("option of a simulated target", key, (*_OF_HOSTS, *_OF_RUN))
        if key in texts:
            raise UsageError(f"{url[:80]!r} has {key} twice; give it once")
        flag = key in _OF_HOSTS and not _OF_HOSTS[key].metavar
        if flag and text.lower() not in (*_YES, *_NO):
            raise UsageError(f"{key}={text[:40]} is neither true nor false; write {key}, or leave it out")
        if not flag and not text:
            raise UsageError(f"{key} has no value in {url[:80]!r}; write {key}=VALUE")
        if not flag or text.lower() in _YES:
            texts[key] = "" if flag else text
    return parsed.netloc, texts


def _fields(key: str, option: HostOption, text: str) -> Fields:
    try:
        return option.fields(text)
    except ValueError:
        raise UsageError(f"{key}={text[:40]} is {option.form}; correct it") from None


def _seed(text: str) -> None:
    if as_whole_number(text) is None:
        raise UsageError(f"seed={text[:40]} is no whole number from 0; correct it")


def _run_effect(text: str) -> None:
    from dbcpu.simulator.runs import MAX_RUN_EFFECT

    try:
        fine = 0 <= float(text) <= MAX_RUN_EFFECT
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(f"run-effect={text[:40]} is no number from 0 to {MAX_RUN_EFFECT:g}; correct it")


def _workload(text: str) -> None:
    from dbcpu.simulator.requested_run import WORKLOADS

    if text not in WORKLOADS:
        raise UsageError(f"workload={text[:40]} is not simulated; there are {listed(tuple(WORKLOADS))}")


_OF_RUN: dict[str, Callable[[str], None]] = {"seed": _seed, "run-effect": _run_effect, "workload": _workload}
"""What the URL says of the run and not of the host; each raises UsageError. The rest is said by the campaign."""
