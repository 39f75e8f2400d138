"""The limits of ``dbcpu check``, and how a table [check] of dbcpu.toml gives them: by name, "off" for none."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dbcpu.config.toml_checks import number_above_0, only, whole_number
from dbcpu.errors import UsageError

OFF = "off"
SHARES, RATIOS = ("throughput_drop", "steal"), ("slowdown", "max_over_min")


class CheckLimits(Struct, frozen=True):
    """Limits of ``dbcpu check``; None switches one off.

    ``slowdown`` and ``max_over_min`` hold for levels that have a core for every session. ``throughput_drop`` is a
    share of the median of the target's own history, ``steal`` one of the CPU time of a round. ``runs`` is how many
    earlier runs the history looks at, ``widths`` the width of its band in robust standard deviations.
    """

    slowdown: float | None = 1.25
    max_over_min: float | None = 1.25
    throughput_drop: float | None = 0.10
    connect_s: float | None = 1.0
    steal: float | None = 0.05
    runs: int = 14
    widths: float = 4.0


def read_limits(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Those that a table [check] has, by name. Raises UsageError naming ``where`` and key."""
    known = CheckLimits.__struct_fields__
    only(table, known, where)
    made: dict[str, Any] = {}
    for key, value in table.items():
        if value == OFF and key not in ("runs", "widths"):
            made[key] = None
        elif key == "runs":
            if whole_number(value, 5, f"{where}: runs") > 1000:
                raise UsageError(f"{where}: runs is more than 1000")
            made[key] = value
        else:
            made[key] = limit(key, number_above_0(value, f"{where}: {key}"), f"{where}: {key}")
    return made


def limit(key: str, value: float, where: str) -> float:
    """A limit of ``CheckLimits`` as it is given. Raises UsageError for a share of 1 or more, and a ratio below 1."""
    if key in SHARES and value >= 1:
        raise UsageError(f"{where} is {value:g}, and a share is below 1: for 10 % give 0.10")
    if key in RATIOS and value < 1:
        raise UsageError(f"{where} is {value:g}, which every run is beyond; give a ratio from 1 on, such as 1.25")
    return value
