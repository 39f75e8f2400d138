"""CPU pressure of the host and of the sessions' control groups, before and after a round.

A file that is absent, or that cannot be read because the kernel does not count (psi=0), is "unknown". The kernel shows
a line "full" for a whole host, too, where it means nothing. Source: Documentation/accounting/psi.rst, cgroup-v2.rst
"""

from collections.abc import Mapping, Sequence

from dbcpu.hosts.base import Host
from dbcpu.hosts.topology.limits import pressure_groups
from dbcpu.measure.samplers.base import Watched
from dbcpu.record.rounds import CpuPressure

HOST_FILE = "/proc/pressure/cpu"
_US = 1e-6

PressureFiles = dict[str, tuple[str, list[int]]]
"""By file: path of the control group, '' for the host, and the ordinals of its sessions."""
Texts = Mapping[str, str | None]


def pressure_files(host: Host, watched: Sequence[Watched]) -> PressureFiles:
    """What to read. Processes in the same group are looked up once."""
    files: PressureFiles = {HOST_FILE: ("", [])}
    groups: dict[str, tuple[tuple[str, str], ...]] = {}
    for one in watched:
        try:
            membership = host.read(f"/proc/{one.pid}/cgroup")
        except OSError:
            continue
        if membership not in groups:
            groups[membership] = tuple((each.pressure_file, each.path) for each in pressure_groups(host, one.pid))
        for file, path in groups[membership]:
            files.setdefault(file, (path, []))[1].append(one.ordinal)
    return files


def pressure_between(files: PressureFiles, before: Texts, after: Texts, window_s: float) -> tuple[CpuPressure, ...]:
    """What was counted between two readings; nothing of a file that was not readable both times."""
    found = []
    for file, (path, ordinals) in files.items():
        first, last = _totals(before.get(file)), _totals(after.get(file))
        if window_s <= 0 or not {"some"} <= first.keys() & last.keys() or last["some"] < first["some"]:
            continue
        full_s = None
        if path and "full" in first and "full" in last:
            full_s = round(max(0, last["full"] - first["full"]) * _US, 6)
        some_s = round((last["some"] - first["some"]) * _US, 6)
        found.append(CpuPressure(path, round(window_s, 6), some_s, full_s, tuple(ordinals)))
    return tuple(found)


def _totals(text: str | None) -> dict[str, int]:
    """Microseconds by kind: some, full."""
    found = {}
    for line in (text or "").splitlines():
        kind, *pairs = line.split() or [""]
        total = next((pair.partition("=")[2] for pair in pairs if pair.startswith("total=")), "")
        if total.isascii() and total.isdecimal() and len(total) < 19:
            found[kind] = int(total)
    return found
