"""What a session used and waited for, and what the host's CPUs do, by views that need no extra licence.

A session's are read before the release and after the call has returned, never while it runs: the time model of an
operation that runs is up to 5 s behind.
Source: Oracle Database Reference, V$MYSTAT, V$SESS_TIME_MODEL, V$SESSION_EVENT, STATISTICS_LEVEL
Rows of V$OSSTAT are the operating system's, also in a pluggable database and with several instances on the host. They
differ by platform and version: OS_CPU_WAIT_TIME is there on some only, and what is not there is not known.
Source: Oracle Database Reference, V$OSSTAT (times in hundredths of a second, totalled over all processors).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from dbcpu.record.rounds import Wait
from dbcpu.targets.base import HostReading

CENTISECOND, MICROSECOND = 1e-2, 1e-6
STATISTICS: Mapping[str, tuple[str, float]] = {
    "CPU used by this session": ("cpu_used_s", CENTISECOND),
    "session logical reads": ("logical_reads", 1),
    "physical reads": ("physical_reads", 1),
    "physical writes": ("physical_writes", 1),
    "physical reads direct temporary tablespace": ("temp_reads", 1),
    "physical writes direct temporary tablespace": ("temp_writes", 1),
    "redo size": ("redo_bytes", 1),
    "parse count (hard)": ("hard_parses", 1),
    "sorts (disk)": ("disk_sorts", 1),
    "queries parallelized": ("parallel_queries", 1),
    "session pga memory max": ("pga_max_bytes", 1),
    "workarea executions - optimal": ("workareas_optimal", 1),
    "workarea executions - onepass": ("workareas_onepass", 1),
    "workarea executions - multipass": ("workareas_multipass", 1),
}
TIME_MODEL: Mapping[str, tuple[str, float]] = {
    "DB time": ("db_time_s", MICROSECOND),
    "DB CPU": ("db_cpu_s", MICROSECOND),
    "hard parse elapsed time": ("hard_parse_s", MICROSECOND),
    "PL/SQL execution elapsed time": ("plsql_s", MICROSECOND),
}
_OF_TIME_MODEL = frozenset(key for key, _ in TIME_MODEL.values())
_ALWAYS_RISE = ("db_time_s", "db_cpu_s")
_ROUNDED = 1.1
"""Clocks of the server and the driver do not go quite alike."""
_HIGH_WATER_MARKS = frozenset({"pga_max_bytes"})
_CLIENT_WAITS = ("SQL*Net ",)
"""Waits for the driver and for the network to it: idle in some versions' reckoning, never part of the work."""

Rows = Iterable[tuple[Any, ...]]


class Snapshot(Struct, frozen=True):
    """Counters by their name here, event -> (waits, seconds).

    ``at_s``: when they were read, by a clock of the driver, where the unit of the waits is not certain.
    """

    counters: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    at_s: float | None = None


def snapshot(
    statistics: Rows | None, time_model: Rows | None, waits: Rows | None, at_s: float | None = None
) -> Snapshot:
    """From rows as the views give them; None for a view that may not be read."""
    counters: dict[str, float] = {}
    for names, rows in ((STATISTICS, statistics), (TIME_MODEL, time_model)):
        for name, value in rows or ():
            if name in names:
                key, unit = names[name]
                counters[key] = float(value) * unit
    waited = {
        str(event): (int(count), float(micro) * MICROSECOND)
        for event, count, micro in waits or ()
        if not str(event).startswith(_CLIENT_WAITS)
    }
    return Snapshot(counters, waited, at_s)


def difference(before: Snapshot, after: Snapshot) -> tuple[dict[str, float], tuple[Wait, ...]]:
    """What was gained in between; high-water marks as they are; waits that did not grow are left out.

    So are waits that would be longer than the time in between: their unit is another than was assumed. A time model in
    which neither DB time nor DB CPU rose is not kept (STATISTICS_LEVEL = BASIC), and says nothing: calls take both.
    """
    most_s = float("inf") if before.at_s is None or after.at_s is None else _ROUNDED * (after.at_s - before.at_s)
    counters = {
        key: round(value - (0.0 if key in _HIGH_WATER_MARKS else before.counters.get(key, 0.0)), 6)
        for key, value in after.counters.items()
    }
    if not any(counters.get(key) for key in _ALWAYS_RISE):
        counters = {key: value for key, value in counters.items() if key not in _OF_TIME_MODEL}
    waits = []
    for event, (count, waited_s) in sorted(after.waits.items()):
        earlier, earlier_s = before.waits.get(event, (0, 0.0))
        if (count > earlier or waited_s > earlier_s) and waited_s - earlier_s <= most_s:
            waits.append(Wait(event, count - earlier, round(waited_s - earlier_s, 6)))
    return counters, tuple(waits)


SOURCE = "V$OSSTAT"
_NAMES = {
    "BUSY_TIME": "busy_s",
    "IDLE_TIME": "idle_s",
    "USER_TIME": "user_s",
    "SYS_TIME": "system_s",
    "NICE_TIME": "nice_s",
    "IOWAIT_TIME": "iowait_s",
    "OS_CPU_WAIT_TIME": "queue_s",
    "RSRC_MGR_CPU_WAIT_TIME": "managed_s",
}


def numbers(rows: Iterable[tuple[Any, ...]]) -> dict[str, float]:
    """By statistic; a decimal comma is read as a point, and a value that is no number is left out."""
    found = {}
    for name, value in rows:
        try:
            found[str(name)] = float(str(value).replace(",", "."))
        except ValueError:
            continue
    return found


def host_reading(statistics: dict[str, float], at_s: float, host: str = "") -> HostReading | None:
    """None without busy and idle time, of which everything else follows."""
    seconds = {_NAMES[name]: value * CENTISECOND for name, value in statistics.items() if name in _NAMES}
    if not {"busy_s", "idle_s"} <= set(seconds):
        return None
    cpus = statistics.get("NUM_CPUS")
    return HostReading(SOURCE, at_s, seconds, int(cpus) if cpus else None, statistics.get("LOAD"), host)
