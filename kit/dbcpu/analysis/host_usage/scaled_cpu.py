"""CPU time that the operating system scales: on AIX, whose processes are charged by the PURR of their hardware thread.

A thread that shares its core is then charged only its part of the core: DB CPU does not rise where a core is shared,
the rest looks like time off the CPU, and busy time of the host less DB CPU looks like the load of others. Times by such
a clock are left out, so that nothing is concluded from them; also where the system may be AIX, since it is not known.
Source: IBM AIX documentation, CPU utilization accounting in simultaneous multithreading (PURR, POWER7 and newer)
"""

import re

from msgspec.structs import replace

from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord

_SCALED = "db_cpu_s"
_NO_AIX = re.compile(r"linux|win|solaris|sunos|hp-?ux|hp |mac os|darwin|bsd", re.IGNORECASE)


def is_scaled(header: Header) -> bool:
    """Whether the server says that it runs on AIX."""
    return "aix" in _platform(header).casefold()


def is_unknown(header: Header) -> bool:
    """Whether the server names no operating system, though asked, and its host was not seen (/proc)."""
    platform = _platform(header)
    return header.host is None and bool(platform) and not is_scaled(header) and not _NO_AIX.search(platform)


def may_be_scaled(header: Header) -> bool:
    """Whether DB CPU may be charged by the PURR."""
    return is_scaled(header) or is_unknown(header)


def without_scaled_cpu(record: RunRecord) -> RunRecord:
    """The record, without DB CPU where it may be scaled; the record itself elsewhere."""
    if not may_be_scaled(record.header):
        return record
    return replace(record, rounds=tuple(without_db_cpu(each) for each in record.rounds))


def without_db_cpu(round_: Round) -> Round:
    """The round with all counters of its sessions but DB CPU."""
    sessions = tuple(
        replace(each, db={name: value for name, value in each.db.items() if name != _SCALED})
        if _SCALED in each.db
        else each
        for each in round_.sessions
    )
    return replace(round_, sessions=sessions)


def _platform(header: Header) -> str:
    return header.database.parameters.get("platform", "")
