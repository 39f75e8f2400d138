"""What ``dbcpu store figures`` does: make the figures of all runs that lack them, on all CPUs, or delete them all."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import click

from dbcpu.analysis.figures import VERSION
from dbcpu.errors import DbcpuError, Interrupted, RecordFormatError, UsageError
from dbcpu.figures import RunFigures
from dbcpu.formatting import plural
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.kept_figures import figures_of
from dbcpu.workflows.readable_runs import say_left_out

FEW = 8
"""Runs that are explained sooner than further processes have started."""
Made = tuple[str, RunFigures | DbcpuError]


def drop_figures(url: str | None) -> str:
    """Delete them; returns a sentence that says of how many runs. Raises StoreError."""
    with open_store(url, create=False) as store:
        dropped = plural(store.figures.drop(), "run")
    return f"figures of {dropped} were deleted; they are made again when they are requested"


def make_figures(url: str | None) -> str:
    """Returns a sentence that says what was done.

    Raises:
        StoreError: the store cannot be read or written.
        Interrupted: by Ctrl-C; what was made is kept.
    """
    with open_store(url, create=False) as store:
        before, wanted, left_out = store.figures.analysed(VERSION), store.figures.lacking(VERSION), 0
        with ExitStack() as stack:
            bar = stack.enter_context(
                click.progressbar(length=len(wanted), label="runs", file=sys.stderr, show_pos=True)
            )
            try:
                for run_id, found in stack.enter_context(_Making(store, url, wanted)):
                    if isinstance(found, RunFigures):
                        store.figures.keep(run_id, VERSION, found.all, int(found.value("rounds") or 0))
                    else:
                        left_out += 1
                        say_left_out(run_id, found)
                    bar.update(1)
            except KeyboardInterrupt:
                made = store.figures.analysed(VERSION) - before
                raise Interrupted(
                    f"interrupted; figures of {made} of {plural(len(wanted), 'run')} are kept, and the same command "
                    "makes the others"
                ) from None
        unread = f"; {plural(left_out, 'run')} could not be read" if left_out else ""
        made = store.figures.analysed(VERSION) - before
        there = f", those of {plural(before, 'run')} were there" if before else ""
        return f"figures of {plural(made, 'run')} were made (analysis {VERSION}){there}{unread}"


class _Making:
    """The figures of these runs, as they get ready: made in processes of their own where there are many."""

    def __init__(self, store: Store, url: str | None, run_ids: Sequence[str]) -> None:
        self._store, self._url, self._run_ids = store, url, run_ids

    def __enter__(self) -> Iterator[Made]:
        self._stack = ExitStack()
        processes = min(len(os.sched_getaffinity(0)), len(self._run_ids))
        if processes < 2 or len(self._run_ids) <= FEW:
            return map(_maker(self._store), self._run_ids)
        # Forked children would share connections and locks of this process.
        pool = multiprocessing.get_context("spawn").Pool(processes, _begin, (self._url,))
        self._stack.callback(pool.join)
        self._stack.callback(pool.terminate)
        return pool.imap_unordered(_made, self._run_ids)

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _maker(store: Store) -> Callable[[str], Made]:
    def make(run_id: str) -> Made:
        try:
            header = store.header(run_id)
            return run_id, figures_of(header, store.rounds(run_id))
        except (RecordFormatError, UsageError) as error:  # damaged, or deleted meanwhile
            return run_id, error

    return make


# --- in a process of its own

_make: Callable[[str], Made]


def _begin(url: str | None) -> None:
    global _make
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that started this one ends it
    _make = _maker(open_store(url, create=False))


def _made(run_id: str) -> Made:
    return _make(run_id)
