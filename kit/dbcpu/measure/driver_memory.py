"""The driver's own memory: what closed sessions leave is given back, for the driver may be on the measured host.

A C library that has no such calls, such as musl, is left as it is. Source: mallopt(3), malloc_trim(3).
"""

import ctypes
from contextlib import suppress

_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3
_MAPPED_BYTES = 128 * 1024
"""The default of the library, which raises it by and by to 32 MB unless it is set."""


def one_heap() -> None:
    """From now on threads allocate from the main heap, and large blocks stand alone; before the first thread starts.

    Each of the threads that open sessions would have a heap of its own, which keeps what closed sessions gave back
    and from which nothing else is served: of 1,000 sessions 16 MB.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


def give_back() -> None:
    """Return free memory to the kernel: a few milliseconds, so never while sessions run."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
