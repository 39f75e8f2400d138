"""A window of a day, or over midnight."""

from datetime import datetime

import pytest

from dbcpu.errors import UsageError
from dbcpu.workflows.fleet.window import Window


@pytest.mark.parametrize(
    ("text", "now", "opens_in_h", "left_h"),
    [
        ("01:00-05:00", "2026-03-01T02:00", 0.0, 3.0),
        ("01:00-05:00", "2026-03-01T00:00", 1.0, 0.0),
        ("01:00-05:00", "2026-03-01T05:00", 20.0, 0.0),
        ("22:00-04:00", "2026-03-01T23:00", 0.0, 5.0),
        ("22:00-04:00", "2026-03-01T03:00", 0.0, 1.0),
        ("22:00-04:00", "2026-03-01T12:00", 10.0, 0.0),
    ],
)
def test_it_opens_and_closes(text: str, now: str, opens_in_h: float, left_h: float) -> None:
    window, moment = Window.parse(text), datetime.fromisoformat(now)
    assert (window.opens_in_s(moment) / 3600, window.left_s(moment) / 3600) == (opens_in_h, left_h)


@pytest.mark.parametrize("text", ["", "1-5", "01:00", "25:00-26:00", "03:00-3:00", "01:60-02:00"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="two times of a day"):
        Window.parse(text)
