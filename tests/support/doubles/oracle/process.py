"""What a server process does to itself: its name, its end with the listener, the CPUs it may use."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from support.priority import prefer

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_ARG_START, _ARG_END = 45, 46
_libc = ctypes.CDLL(None)


def end_with_parent(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Be ended when the parent is. Source: prctl(2)"""
    _libc.prctl(_PR_SET_PDEATHSIG, int(how))
    if os.getppid() != parent:
        os._exit(1)


def rename(name: str, title: str) -> None:
    """Show ``name`` as command (15 characters) and ``title`` as command line, as Oracle's server processes do.

    The arguments' memory is overwritten in place; its bounds are fields 48 and 49 of stat, see proc(5).
    """
    _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]))
    stat = Path("/proc/self/stat").read_text()
    fields = stat[stat.rindex(")") + 2 :].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    if start and end > start:
        ctypes.memmove(start, title.encode()[: end - start - 1].ljust(end - start, b"\0"), end - start)


def go_ahead() -> None:
    """Be scheduled before everything else of the ordinary kind, if permitted."""
    with contextlib.suppress(OSError):
        os.setsid()
    prefer(os.getpid(), -20)


def pin(cpu: int) -> None:
    """Run on this CPU only, if the machine lets it."""
    os.sched_setaffinity(0, {cpu})


def bind(group: Iterable[int]) -> None:
    """Run on the CPUs of this group alone, as far as this machine has them; anywhere for an empty one."""
    if there := set(group) & os.sched_getaffinity(0):
        os.sched_setaffinity(0, there)
