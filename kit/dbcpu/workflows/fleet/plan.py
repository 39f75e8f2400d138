"""What a campaign will do: its targets, how long each takes and what it costs, before anything is begun."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from dbcpu import __version__, registry
from dbcpu.config.inventory import is_held_back
from dbcpu.config.targets import Named, Request
from dbcpu.errors import UsageError
from dbcpu.formatting import aligned, count, duration, number, plural
from dbcpu.store.campaigns import Campaign, Item, now_text
from dbcpu.workflows.fleet.station import SIMULATED
from dbcpu.workflows.foresee import Forecast, forecast
from dbcpu.workflows.measure_run import Choices

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
VCPUS = "vcpus"
"""The tag that says how many a target has, which is not known before it is connected to."""
SHOWN = 20
"""Targets in a preview."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Planned:
    """One target and what it will cost; None where that is not known before it is connected to."""

    target: Named
    forecast: Forecast | None


def planned(targets: Sequence[Named], choices: Choices) -> tuple[Planned, ...]:
    """Those that may be measured, with what is known of each beforehand. Raises as ``forecast``, but for the vCPUs."""
    return tuple(Planned(each, _forecast(each, choices)) for each in targets if not is_held_back(each))


def items(targets: Sequence[Planned]) -> tuple[Item, ...]:
    """As a campaign keeps them: with the place of a password, never with one."""
    return tuple(
        Item(each.target.name, request_of(each.target), each.target.tags, each.target.group) for each in targets
    )


def campaign(name: str, options: Sequence[str], at_once: int, failures_share: float) -> Campaign:
    """Raises UsageError for a name that could not be part of a label."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"--campaign {name[:80]!r} is no name; give letters, digits, dots and dashes, at most 63")
    return Campaign(name, now_text(), __version__, tuple(options), at_once, failures_share)


def preview(targets: Sequence[Planned], held_back: int, at_once: int) -> str:
    """A few lines: targets, time, what is burnt, connections; and what is not known."""
    known = [each.forecast for each in targets if each.forecast]
    rows = [_row(each) for each in targets[:SHOWN]]
    lines = list(aligned(("target", "group", "levels", "about", "CPU-hours", "connections"), rows))
    if len(targets) > SHOWN:
        lines.append(f"and {len(targets) - SHOWN} more")
    lines.append("")
    lines.append(f"{plural(len(targets), 'target')}, at most {at_once} at once")
    if known:
        longest_s = max(each.total_s for each in known)
        whole_s = max(longest_s, sum(each.total_s for each in known) / min(at_once, len(targets)))
        lines.append(
            f"{'' if len(known) == len(targets) else f'{len(known)} of them: '}about {duration(whole_s)} in all, "
            f"{number(sum(each.cpu_s for each in known) / 3600)} CPU-hours; the longest takes {duration(longest_s)}"
        )
    real = [each for each in targets if not is_simulated(each.target)]
    if unknown := sum(each.forecast is None for each in real):
        lines.append(
            f"of {plural(unknown, 'target')} the vCPUs, and with them levels and time, are not known beforehand: "
            "give the tag vcpus, or --sessions 1-8"
        )
    if held_back:
        lines.append(
            f'{plural(held_back, "production target")} left out: a target with env = "production" is measured only '
            'with the tag dbcpu = "allowed"'
        )
    return "\n".join(lines)


def longest_s(targets: Sequence[Planned]) -> float:
    """Of the measurements whose time is known."""
    return max((each.forecast.total_s for each in targets if each.forecast), default=0.0)


def window_end_s(text: str | None, now: datetime) -> tuple[float, float] | None:
    """(begin, end) of the window ``01:00-05:00`` in local time that is open, or comes next; as times of day.

    Raises UsageError.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d\d):(\d\d)-(\d\d):(\d\d)", text.strip())
    try:
        if found is None:
            raise ValueError
        begin, end = time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))
    except ValueError:
        raise UsageError(f"--window {text[:40]!r} is not a time such as 01:00-05:00") from None
    if begin == end:
        raise UsageError(f"--window {text} is empty; give another end, such as 01:00-05:00")
    for day in (now - _DAY, now, now + _DAY):
        opens = datetime.combine(day.date(), begin)
        closes = datetime.combine(day.date() + (_DAY if end < begin else timedelta()), end)
        if now.replace(tzinfo=None) < closes:
            return opens.timestamp(), closes.timestamp()
    raise AssertionError("a window opens every day")


def is_simulated(target: Named) -> bool:
    """Whether it is ``simulated://PRESET``, which nothing is measured of."""
    return target.url.partition("://")[0] == SIMULATED


def _forecast(target: Named, choices: Choices) -> Forecast | None:
    kind = target.url.partition("://")[0].partition("+")[0]
    vcpus = target.tags.get(VCPUS, "")
    known = choices.vcpus or (int(vcpus) if vcpus.isascii() and vcpus.isdecimal() and len(vcpus) < 6 else None)
    if is_simulated(target):
        return None
    if not registry.is_known("targets", kind):
        raise UsageError(f"{target.file}, [targets.{target.name}]: no kind of database is called {kind!r}")
    try:
        return forecast(Request(target.name, kind, target.url), replace(choices, vcpus=known or None))
    except UsageError:
        if known is None and choices.sessions in ("auto", "few"):
            return None
        raise


def request_of(target: Named) -> dict[str, str]:
    """Its table as a station needs it: with the place of a password, never with one."""
    found = {
        "url": target.url,
        "host": target.host,
        "password_env": target.password_env,
        "password_file": target.password_file,
    }
    return {key: value for key, value in found.items() if value}


def _row(planned: Planned) -> tuple[str, ...]:
    found = planned.forecast
    if found is None:
        return planned.target.name, planned.target.group, *["-"] * 4
    levels = f"1 to {max(found.levels)}" if len(found.levels) > 1 else count(found.levels[0])
    return (
        planned.target.name, planned.target.group, levels, duration(found.total_s), number(found.cpu_s / 3600),
        str(max(found.levels)),
    )  # fmt: skip
