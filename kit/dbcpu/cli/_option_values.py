"""What options take, where click has no type for it: durations, members of a room, numbers that are no NaN."""

import math
import re
from typing import Any

import click
from click.shell_completion import CompletionItem

from dbcpu import registry
from dbcpu.errors import did_you_mean
from dbcpu.formatting import as_whole_number
from dbcpu.record.plan import MAX_PACE_HZ

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
LONGEST_S = 30 * 86400.0


class Duration(click.ParamType[float]):
    """Seconds from ``90``, ``90s``, ``500ms``, ``10m``, ``1h30m`` or ``2d``; above 0, at most 30 days or ``max_s``."""

    name = "duration"

    def __init__(self, max_s: float = LONGEST_S) -> None:
        self.max_s = max_s

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = re.sub(r"^(\d+(?:\.\d+)?)$", r"\1s", str(value).strip().lower())
        parts = _PART.findall(text)
        seconds = math.fsum(float(number) * _UNIT_S[unit] for number, unit in parts)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            self.fail(f"{value!r} is not a duration; give 90, 90s, 10m or 1h30m", param, ctx)
        if not 0 < seconds <= self.max_s:
            most = f"{self.max_s / 86400:g} days" if self.max_s >= 86400 else f"{self.max_s:g} s"
            self.fail(f"{value!r} is not above 0 and at most {most}", param, ctx)
        return seconds


class Member(click.ParamType[str]):
    """The name of a member of a room; the folder is looked at only when the option is used."""

    def __init__(self, room: str) -> None:
        self.room = room
        self.name = room.rpartition(".")[2].removesuffix("s")

    def known(self) -> tuple[str, ...]:
        return registry.all_names(self.room)

    def is_known(self, value: str) -> bool:
        return registry.is_known(self.room, value)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not self.is_known(value):
            known = self.known()
            hint = did_you_mean(value, known)
            self.fail(f"no {self.name} is called {value!r}{hint}; there are: {', '.join(known)}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


class SessionsPerCpu(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between, in order and each once; ``auto`` is 1,2,4,8."""

    name = "sessions per CPU"
    MAX = 1000

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = ("1,2,4,8" if value == "auto" else str(value)).split(",")
        if None in (numbers := {as_whole_number(part, 1, self.MAX) for part in parts}):
            self.fail(f"{value!r} is no number from 1 to {self.MAX}; give 2, 1,2,4 or auto", param, ctx)
        return tuple(sorted(filter(None, numbers)))


class Number(click.FloatRange):
    """As ``click.FloatRange``, and NaN is no number: it is beyond no limit, and would switch off what it limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            known = not math.isnan(float(value))
        except ValueError:
            known = False
        if not known:
            self.fail(f"{value!r} is not a number{of_percent(str(value))}", param, ctx)
        return super().convert(value, param, ctx)


def of_percent(text: str) -> str:
    """How a percentage is written instead; '' of what is none."""
    found = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*", text)
    if found is None:
        return ""
    share = float(found[1]) / 100
    return f"; for {found[1]} % give {share:g} where a share is wanted, and {1 + share:g} where a ratio is"


class WantedPace(click.ParamType[float | None]):
    """``auto`` (None), ``off`` (0) or pieces per second, 0.1 to 25."""

    name = "pace"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        known = {"auto": None, "off": 0.0}
        if value in known:
            return known[value]
        try:
            return Number(0.1, MAX_PACE_HZ).convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not auto, off, or pieces per second from 0.1 to {MAX_PACE_HZ:g}", param, ctx)


class Format(Member):
    """The name of a format of documents, or with ``pictures`` of a form of pictures; help lists those there are.

    ``none``: this word, too, for no format at all.
    """

    def __init__(self, *, pictures: bool = False, none: bool = False) -> None:
        super().__init__("reports.formats")
        self.pictures, self.none = pictures, none

    def known(self) -> tuple[str, ...]:
        return tuple(sorted((*super().known(), *self._further())))

    def is_known(self, value: str) -> bool:
        return super().is_known(value) or value in self._further()

    def _further(self) -> tuple[str, ...]:
        from dbcpu.reports.write import NO_REPORT, PICTURES

        return (*(PICTURES if self.pictures else ()), *((NO_REPORT,) if self.none else ()))

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.known())}]"
