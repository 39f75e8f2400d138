"""What a host without losses would do: the rule of the ideal throughput and of the fair share, and its words."""

from collections.abc import Sequence

from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import number, percent
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.style import quota_under

BUSY_BELOW = 0.995
"""A session alone that wants a CPU for less of its time waits in between."""


def room_of(levels: Sequence[LevelView]) -> float | None:
    """From so many sessions on they have to share CPU time, as the fair share of these levels has it; else None."""
    shares = ((each.level, each.ideal_slowdown or 1.0) for each in levels)
    return next((level / share for level, share in shares if share > 1.0), None)


def ideal_line(levels: Sequence[LevelView]) -> tuple[tuple[float, float], ...]:
    """(sessions, throughput) of the ideal: at the levels, and where it bends between two of them."""
    known = [(float(each.level), each.ideal_throughput) for each in levels if each.ideal_throughput is not None]
    points, room = [(n, rate) for n, rate in known], room_of(levels)
    beyond = next(((n, rate) for n, rate in known if room is not None and n > room), None)
    if room is not None and beyond is not None and known[0][0] < room:
        points.append((room, beyond[1]))
    return tuple(sorted(points))


def ideal_words(record: RunRecord, analysis: Analysis, variants: Sequence[str]) -> str:
    """The rule of the ideal throughput, in the panels of these variants."""
    busy = f" / {number(analysis.busy, 2)}" if _waits(analysis) else ""
    cpus = _cpus(record, variants)
    room = f"({cpus}){busy}" if busy and " or " in cpus else f"{cpus}{busy}"
    return f"ideal: single-session rate x min(N, {room}){_busy_words(analysis)}"


def fair_words(record: RunRecord, analysis: Analysis, variants: Sequence[str]) -> str:
    """The rule of the fair share, in the panels of these variants."""
    busy = f" x {number(analysis.busy, 2)}" if _waits(analysis) else ""
    cpus = _cpus(record, variants)
    return f"fair share: N{busy} / {f'({cpus})' if ' or ' in cpus else cpus}{_busy_words(analysis)}"


def _cpus(record: RunRecord, variants: Sequence[str]) -> str:
    """A legend is of all panels, and a quota may bound some of them: which, the line in each panel says."""
    quotas = dict.fromkeys(quota_under(record, each) for each in variants)
    return " or ".join(map(_room, quotas))


def _room(quota: float | None) -> str:
    if quota is None:
        return "vCPUs"
    return f"quota {quota:g}" if quota > 1 else "1"  # what one alone does is of less than a CPU there


def _waits(analysis: Analysis) -> bool:
    return analysis.busy < BUSY_BELOW


def _busy_words(analysis: Analysis) -> str:
    return f"; alone {percent(analysis.busy)} busy" if _waits(analysis) else ""
