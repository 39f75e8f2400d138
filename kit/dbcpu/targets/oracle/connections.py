"""How many more sessions may connect, and which limit decides: pure.

Source: Oracle Database Reference, V$RESOURCE_LIMIT, SESSIONS, PROCESSES; SQL Language Reference, CREATE PROFILE
"""

from collections.abc import Iterable
from typing import Any

from dbcpu.targets.oracle.facts import Facts

_OWN_IN_PDB = {
    "sessions": "SESSIONS of the pluggable database is {}, which its DBA sets there up to the root's value; how many "
    "are in use is not known there",
    "processes": "PROCESSES of the whole container database is {}, which takes a restart; how many are in use is not "
    "known there",
}
_OF_INSTANCE = "{} of the instance is {}, with {} in use, and more take a restart"
_OF_PROFILE = (
    "SESSIONS_PER_USER of the profile of {} is {}, and dbcpu's own connection is one (alter profile ... limit "
    "sessions_per_user)"
)


def tightest_limit(rows: Iterable[tuple[Any, ...]], facts: Facts) -> tuple[int, str] | None:
    """Free connections, and the limit that leaves so few, in words; None where none is known.

    ``rows``: of session_limits.sql, none in a pluggable database: the control session is one of those in use there.
    """
    found = [
        (int(limit) - int(used), _OF_INSTANCE.format(str(name).upper(), limit, used))
        for name, used, limit in rows
        if str(limit).isdecimal()
    ]
    if not found:
        limits = ((words, facts.parameters.get(name, "")) for name, words in _OWN_IN_PDB.items())
        found = [(int(limit) - 1, words.format(limit)) for words, limit in limits if limit.isdecimal()]
    if (of_user := facts.limits.get("SESSIONS_PER_USER")) is not None:
        # Those of others with this user's name may not be seen.
        found.append((of_user - 1, _OF_PROFILE.format(facts.user, of_user)))
    if not found:
        return None
    free, limit = min(found, key=lambda each: each[0])
    return max(0, free), limit
