"""CPU pressure as shares of time: how long work waited for a CPU, as the kernel counts it (PSI).

Of a control group "full" is the time in which it had work and none of it had a CPU: its quota, one above it, or others
kept it waiting. Sessions that queue behind each other are "some", and never "full". Source: psi.rst
"""

from collections.abc import Iterable
from statistics import median

from msgspec import Struct

from dbcpu.record.rounds import CpuPressure, Round


class PressureShares(Struct, frozen=True):
    """Of the time, 0 to 1. ``path``: the control group, '' for the host; ``full``: None where it is not counted."""

    path: str
    some: float
    full: float | None


def full_share(one: CpuPressure) -> float | None:
    """None where it is not counted."""
    return None if one.full_s is None or one.window_s <= 0 else min(1.0, one.full_s / one.window_s)


def typical_pressure(rounds: Iterable[Round]) -> tuple[PressureShares, ...]:
    """Medians over rounds, the host first; () where nothing was counted."""
    found: dict[str, list[CpuPressure]] = {}
    for each in rounds:
        for one in each.pressure:
            if one.window_s > 0:
                found.setdefault(one.path, []).append(one)
    return tuple(
        PressureShares(
            path,
            median(min(1.0, one.some_s / one.window_s) for one in all_of),
            median(full) if (full := [share for one in all_of if (share := full_share(one)) is not None]) else None,
        )
        for path, all_of in sorted(found.items())
    )
