"""CPU time that the operating system scales: on AIX, whose processes are charged by the PURR of their hardware thread.

A thread that shares its core is then charged only its part of the core: DB CPU does not rise where a core is shared,
the rest looks like time off the CPU, and busy time of the host less DB CPU looks like the load of others. Times by such
a clock are left out, so that nothing is concluded from them.
Source: IBM AIX documentation, CPU utilization accounting in simultaneous multithreading (PURR, POWER7 and newer)
"""

from dataclasses import replace

from dbcpu.record import Database, Round, RunRecord

_SCALED = "db_cpu_s"


def is_scaled(database: Database) -> bool:
    """Whether the server says that it runs on AIX."""
    return "aix" in database.parameters.get("platform", "").casefold()


def without_scaled_cpu(record: RunRecord) -> RunRecord:
    """The record, on AIX without DB CPU; the record itself elsewhere."""
    if not is_scaled(record.header.database):
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
