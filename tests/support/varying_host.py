"""A driver that varies a host and dies at a named step: ``python varying_host.py ROOT STEP N [guard] [VARIANT]``.

Run by tests (forked, see nursery.py) with SIGKILL at every step; ROOT is a recorded host on disk, or / in the emulated
guest, and nowhere else.
"""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.interrupts import read_interrupts
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host
from dbcpu.record.header import Database
from dbcpu.record.plan import RoundSpec
from dbcpu.variants._apply import VariantConditions
from dbcpu.variants._selection import select_variants
from dbcpu.variants.base import VariantContext


def vary(root: str, at: str, times: int, guarded: bool, variant: str) -> None:
    """SMT off, on again, off again, and the end; killed when ``at`` comes for the ``times``-th time.

    ``variant``: another one than ``smt_off``, the same way.
    """
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        seen += name == at
        if name == at and seen == times:
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    host = LocalHost(Path(root))
    with ExitStack() as stack:
        guard = stack.enter_context(Guard()) if guarded else None
        context = VariantContext(read_host(host), Database("postgresql", "18"), interrupts=read_interrupts(host))
        conditions = stack.enter_context(
            VariantConditions(select_variants(variant), context, host, "embedded", guard, step=step)
        )
        for order, name in enumerate((variant, "baseline", variant)):
            conditions.begin(RoundSpec(1, order, name, order))


def main() -> None:
    _, root, at, times, *more = sys.argv
    named = [word for word in more if word not in ("guard", "restore")]
    vary(root, at, int(times), "guard" in more, named[0] if named else "smt_off")


if __name__ == "__main__":
    main()
