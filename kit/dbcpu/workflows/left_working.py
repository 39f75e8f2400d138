"""What a run that was stopped leaves at work on a server, said with the error that stopped it."""

from collections.abc import Iterator
from contextlib import contextmanager

from dbcpu.errors import DbcpuError, Interrupted
from dbcpu.targets.base import LeavesWork, Target


@contextmanager
def telling_what_is_left(target: Target) -> Iterator[None]:
    """Around what uses the open target: an error gets a second sentence where sessions go on without a driver."""
    try:
        yield
    except (DbcpuError, KeyboardInterrupt) as error:
        left = target.still_working() if isinstance(target, LeavesWork) else ""
        if not left:
            raise
        if not isinstance(error, DbcpuError):  # its text is the number of the signal
            raise Interrupted(f"interrupted; {left}") from None
        raise type(error)(f"{error}; {left}") from None
