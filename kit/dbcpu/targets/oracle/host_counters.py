"""What the host's CPUs do, through SQL*Net alone: V$OSSTAT, in the names and units of the record. Pure.

Its rows are the operating system's, also in a pluggable database and with several instances on the host. Rows differ
by platform and version: OS_CPU_WAIT_TIME is there on some only, and what is not there is not known.
Source: Oracle Database Reference, V$OSSTAT (times in hundredths of a second, totalled over all processors).
"""

from collections.abc import Iterable
from typing import Any

from dbcpu.targets.base import HostReading

SOURCE = "V$OSSTAT"
CENTISECOND = 1e-2
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
