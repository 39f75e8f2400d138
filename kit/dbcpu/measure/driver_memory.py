"""The driver's own memory: what closed sessions leave is given back, for the driver may be on the measured host.

A C library that has no such calls, such as musl, is left as it is. Source: mallopt(3), malloc_trim(3).
"""

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8


def one_heap() -> None:
    """From now on threads allocate from the main heap; before the first of them is started.

    Each of the threads that open sessions would have a heap of its own, which keeps what closed sessions gave back
    and from which nothing else is served: of 1,000 sessions 16 MB.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Return free memory to the kernel: a few milliseconds, so never while sessions run."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
