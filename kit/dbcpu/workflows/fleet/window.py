"""The hours in which a campaign may start measurements: ``01:00-05:00`` in the local time of this machine."""

import re
from datetime import datetime, time, timedelta

from msgspec import Struct

from dbcpu.errors import UsageError

_FORM = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")


class Window(Struct, frozen=True):
    """From ``begin`` to ``end`` of every day; over midnight where ``end`` is earlier."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> "Window":
        """Raises UsageError."""
        found = _FORM.fullmatch(text.strip())
        if not found or found[1].zfill(2) + found[2] == found[3].zfill(2) + found[4]:
            raise UsageError(f"--window {text!r} is not understood; write two times of a day, such as 01:00-05:00")
        hours = [int(each) for each in found.groups()]
        return cls(time(hours[0], hours[1]), time(hours[2], hours[3]))

    def opens_in_s(self, now: datetime) -> float:
        """Seconds until it opens; 0 while it is open."""
        begin, end = self._around(now)
        return 0.0 if begin <= now < end else (begin - now).total_seconds()

    def left_s(self, now: datetime) -> float:
        """Seconds until it closes; 0 while it is closed."""
        begin, end = self._around(now)
        return (end - now).total_seconds() if begin <= now < end else 0.0

    def _around(self, now: datetime) -> tuple[datetime, datetime]:
        """The one that is open, else the next."""
        for day in (-1, 0, 1):
            begin = datetime.combine(now.date() + timedelta(days=day), self.begin)
            end = datetime.combine(begin.date() + timedelta(days=self.end <= self.begin), self.end)
            if now < end:
                return begin, end
        raise AssertionError("tomorrow's window is not over")
