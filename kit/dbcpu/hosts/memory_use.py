"""What a database's processes hold of memory, processes, threads and sockets, as /proc shows it.

Source: proc(5), status, smaps_rollup and fd
"""

import re
from collections.abc import Iterable

from dbcpu.errors import HostError
from dbcpu.hosts.base import Host
from dbcpu.hosts.topology.reading import bytes_of
from dbcpu.record.rounds import ServerUse

_SOCKET = re.compile(r"-> socket:\[(\d+)\]$", re.MULTILINE)
_LISTING_S = 10.0


def server_use(host: Host, sessions: Iterable[int]) -> ServerUse | None:
    """Sums over the sessions' processes and their family, or None when none can be read.

    The family is the parent and its other children, if the parent runs the same program (PostgreSQL's postmaster).
    Where it does not (Oracle's dedicated servers belong to init or a listener) only the sessions' own are counted.
    """
    own = set(sessions)
    found = {pid: status for pid in own if (status := _status(host, pid)) is not None}
    parents = {int(status.get("PPid", "0")) for status in found.values()}
    parent = next(iter(parents), 0) if len(parents) == 1 else 0
    chief = _status(host, parent) if parent > 1 else None
    if chief is not None and chief.get("Name") in {status.get("Name") for status in found.values()}:
        found[parent] = chief
        for entry in host.list("/proc"):
            if entry.isdecimal() and int(entry) not in found:
                status = _status(host, int(entry))
                if status is not None and status.get("PPid") == str(parent):
                    found[int(entry)] = status
    if not found:
        return None
    shares = [_pss_bytes(host, pid) for pid in found]
    known = [share for share in shares if share is not None]
    return ServerUse(
        processes=len(found),
        threads=sum(int(status.get("Threads", "1")) for status in found.values()),
        rss_bytes=sum(bytes_of(status.get("VmRSS")) or 0 for status in found.values()),
        pss_bytes=sum(known) if len(known) == len(shares) else None,
        sockets=_sockets(host, found),
    )


def _sockets(host: Host, pids: Iterable[int]) -> int | None:
    """Different sockets among the open files of all of them; None where not all may be looked at."""
    try:
        listing = host.run(("ls", "-l", *(f"/proc/{pid}/fd" for pid in sorted(pids))), _LISTING_S)
    except HostError:
        return None
    return len(set(_SOCKET.findall(listing.stdout))) if listing.code == 0 else None


def _status(host: Host, pid: int) -> dict[str, str] | None:
    try:
        lines = host.read(f"/proc/{pid}/status").splitlines()
    except OSError:
        return None
    return {key: value.strip() for key, colon, value in (line.partition(":") for line in lines) if colon}


def _pss_bytes(host: Host, pid: int) -> int | None:
    try:
        lines = host.read(f"/proc/{pid}/smaps_rollup").splitlines()
    except OSError:
        return None
    return next((bytes_of(line.partition(":")[2]) for line in lines if line.startswith("Pss:")), None)
