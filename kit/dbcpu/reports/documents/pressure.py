"""CPU pressure of the highest level, in words."""

from dbcpu.analysis.host_usage.pressure import PressureShares, typical_pressure
from dbcpu.formatting import percent, plain
from dbcpu.record import RunRecord


def pressure_lines(record: RunRecord) -> tuple[str, ...]:
    """A sentence without its full stop; () where the kernel does not count it."""
    top = max((each.level for each in record.rounds if each.pressure), default=0)
    found = typical_pressure(each for each in record.rounds if each.level == top)
    if not found:
        return ()
    return (f"CPU pressure at N={top}: {', '.join(map(_words, found))}",)


def _words(one: PressureShares) -> str:
    if not one.path:
        return f"for {percent(one.some)} of the time some process of the host waited for a CPU"
    full = "" if one.full is None else f" and none of its work had one for {percent(one.full)}"
    return f"for {percent(one.some)} one of control group {plain(one.path)} did{full}"
