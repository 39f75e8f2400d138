"""Why a dbcpu process of a campaign failed: a line for its station, beside the sentence for people.

It is in the log of the process, so that who takes up the campaign later reads it, too. Exit codes cannot say it: they
are those of every user, and the process may have ended without anybody who waited for it.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from dbcpu.errors import DbcpuError, StoreError

FAILURE_LINE = "DBCPU_FAILURE_LINE"
"""What is set in the environment of a process that has to write the line."""
_MARK = "dbcpu-failure "


class Failure(Struct, frozen=True):
    """``said``: the sentence, '' if not known. ``of_store``: the store failed, and nothing is wrong with the target."""

    said: str = ""
    of_store: bool = False


def failure_line(error: DbcpuError) -> str:
    """The line for an error, without what its sentence advises where a run is on its own: a campaign is resumed."""
    failure = Failure(error.in_campaign or str(error), isinstance(error, StoreError))
    return _MARK + msgspec.json.encode(failure).decode()


def read_failure(lines: Iterable[str]) -> Failure | None:
    """What the last such line says; None where there is none, as in the log of an older dbcpu."""
    found = [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]
    try:
        return msgspec.json.decode(found[-1], type=Failure) if found else None
    except msgspec.MsgspecError:  # cut off by a full disk
        return None
