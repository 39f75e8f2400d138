"""What ``dbcpu store figures`` does: make the figures of all runs that lack them, or delete them all.

They are made on all CPUs of this machine, or by the workers of a Dask cluster, which read the runs in the same store.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from importlib.util import find_spec
from multiprocessing import resource_tracker
from multiprocessing.synchronize import Event
from random import shuffle
from typing import Self

import click

from dbcpu.errors import DbcpuError, Interrupted, RecordFormatError, UsageError
from dbcpu.formatting import plural
from dbcpu.record.figures import VERSION, RunFigures
from dbcpu.reports.extra_packages import not_installed
from dbcpu.store.database import Store, open_store
from dbcpu.store.figures import ALWAYS
from dbcpu.workflows.kept_figures import figures_of
from dbcpu.workflows.readable_runs import say_left_out

FEW = 8
"""Runs that are explained sooner than further processes have started."""
PIECE = 10
"""Runs of one task of a cluster."""
NONE_YET = "interrupted before the first run was explained; no figures were made"
Made = tuple[str, RunFigures | DbcpuError | None]
"""None: another process has made them meanwhile."""


def drop_figures(url: str | None, scheduler: str | None = None) -> str:
    """Delete them; returns a sentence that says of how many runs. Raises StoreError, and UsageError with a cluster."""
    if scheduler is not None:
        raise UsageError("--drop deletes figures, and --scheduler makes them; give one of the two")
    with open_store(url, create=False) as store:
        dropped = plural(store.figures.drop(), "run")
    return f"figures of {dropped} were deleted; they are made again when they are requested"


def make_figures(url: str | None, scheduler: str | None = None) -> str:
    """Returns a sentence that says what was done.

    Args:
        scheduler: of a Dask cluster, each worker of which has the same dbcpu, and the store as DBCPU_STORE.

    Raises:
        UsageError, MeasureError: the cluster cannot be used.
        StoreError: the store cannot be read or written.
        Interrupted: by Ctrl-C; what was made is kept.
    """
    if scheduler is not None and find_spec("distributed") is None:
        raise not_installed("--scheduler", "distributed", "fleet", "dbcpu store figures")
    try:
        return _make_missing(url, scheduler)
    except KeyboardInterrupt:  # later ones are caught where it is known what is kept
        raise Interrupted(f"{NONE_YET}; the same command begins anew") from None


def _make_missing(url: str | None, scheduler: str | None) -> str:
    with open_store(url, create=False) as store:
        before, wanted = store.figures.analysed(VERSION), list(store.figures.lacking(VERSION))
        kept = _Keeping(store, before)
        # Of two at once each begins elsewhere, and leaves out what the other has made meanwhile.
        shuffle(wanted)
        with ExitStack() as stack:
            advance = _progress(stack, len(wanted))
            try:
                making = stack.enter_context(_Making(store, url, wanted, scheduler))
                try:
                    for each in making.found:
                        kept.take(each)
                        advance()
                except KeyboardInterrupt:
                    kept.take_again()
                    for each in making.last():
                        kept.take(each)
                    raise
            except KeyboardInterrupt:
                raise Interrupted(kept.words_interrupted()) from None
        unread = f"; {plural(kept.left_out, 'run')} could not be read" if kept.left_out else ""
        others = f", those of {plural(kept.there, 'run')} were there" if kept.there else ""
        return f"figures of {plural(kept.made, 'run')} were made (analysis {VERSION}){others}{unread}"


class _Keeping:
    """What was made is kept, and counted. ``there``: runs that had figures, or got them by another process."""

    def __init__(self, store: Store, there: int) -> None:
        self._store, self._in_hand = store, list[Made]()
        self.made, self.there, self.left_out = 0, there, 0

    def take(self, given: Made) -> None:
        self._in_hand = [given]
        run_id, found = given
        if isinstance(found, RunFigures):
            self.made += self._store.figures.keep(run_id, VERSION, found.all, int(found.value("rounds") or 0))
        elif found is None:
            self.there += 1
        else:
            self.left_out += 1
            say_left_out(run_id, found)
        self._in_hand = []

    def take_again(self) -> None:
        """What an interruption met halfway; keeping twice what is kept already changes nothing."""
        for given in self._in_hand:
            if isinstance(given[1], RunFigures):
                self.take(given)

    def words_interrupted(self) -> str:
        made = self._store.figures.analysed(VERSION) - self.there  # by the table: the last may be counted twice
        left = len(self._store.figures.lacking(VERSION))
        if not left:
            return f"interrupted; figures of {plural(made, 'run')} were made and are kept, and none is left to be made"
        have = "has" if left == 1 else "have"
        if not made:
            return f"{NONE_YET}, and {plural(left, 'run')} {have} none: the same command begins with these"
        return (
            f"interrupted; figures of {plural(made, 'run')} were made and are kept, {plural(left, 'run')} {have} none "
            "yet: the same command goes on with these"
        )


def _progress(stack: ExitStack, count: int) -> Callable[[], None]:
    """To be called when a run is done: on a terminal a bar shows it."""
    if not sys.stderr.isatty():
        return lambda: None
    bar = stack.enter_context(click.progressbar(length=count, label="runs", file=sys.stderr, show_pos=True))
    return partial(bar.update, 1)


class _Making:
    """The figures of these runs, as they get ready: made in processes of their own where there are many."""

    def __init__(self, store: Store, url: str | None, run_ids: Sequence[str], scheduler: str | None) -> None:
        self._store, self._url, self._run_ids, self._scheduler = store, url, run_ids, scheduler

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._stopped: Event | None = None
        try:
            self.found: Iterator[Made] = self._begun()
        except BaseException:  # Ctrl-C while the processes start: they are not left to themselves
            self._stack.close()
            raise
        return self

    def last(self) -> Iterator[Made]:
        """After an interruption: those that are made or were begun. No other is begun."""
        if self._stopped is not None:
            self._stopped.set()
            yield from self.found

    def _begun(self) -> Iterator[Made]:
        if self._scheduler:
            return self._by_workers(self._scheduler)
        processes = min(len(os.sched_getaffinity(0)), len(self._run_ids))
        if processes < 2 or len(self._run_ids) <= FEW:
            return map(_maker(self._store), self._run_ids)
        # Forked children would share connections and locks of this process. What is blocked here stays blocked there:
        # Ctrl-C goes to them, too, perhaps before they can say that it is not for them. The tracker unblocks it.
        resource_tracker.ensure_running()
        context = multiprocessing.get_context("spawn")
        self._stopped = context.Event()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            pool = context.Pool(processes, _begin, (self._url, self._stopped))
            self._stack.callback(pool.join)
            self._stack.callback(pool.terminate)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return filter(None, pool.imap_unordered(_made, self._run_ids))

    def _by_workers(self, scheduler: str) -> Iterator[Made]:
        from distributed import as_completed

        from dbcpu.workflows.fleet.cluster import connected

        client = self._stack.enter_context(connected(scheduler))
        # In pieces: one task of Dask takes a millisecond of its scheduler.
        pieces = [self._run_ids[at : at + PIECE] for at in range(0, len(self._run_ids), PIECE)]
        for _, found in as_completed(client.map(_made_there, pieces, pure=False), with_results=True):
            yield from found

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _maker(store: Store) -> Callable[[str], Made]:
    def make(run_id: str) -> Made:
        try:
            if store.figures.of([run_id], VERSION, [ALWAYS]):
                return run_id, None
            header = store.header(run_id)
            return run_id, figures_of(header, store.rounds(run_id))
        except (RecordFormatError, UsageError) as error:  # damaged, or deleted meanwhile
            return run_id, error

    return make


# --- in a process of its own

_make: Callable[[str], Made]
_stop: Event


def _begin(url: str | None, stop: Event) -> None:
    global _make, _stop
    _make, _stop = _maker(open_store(url, create=False)), stop


def _made(run_id: str) -> Made | None:
    """None where it is not begun any more."""
    return None if _stop.is_set() else _make(run_id)


# --- on a worker of a cluster


def _made_there(run_ids: Sequence[str]) -> list[Made]:
    return [_worker_maker()(run_id) for run_id in run_ids]


@cache
def _worker_maker() -> Callable[[str], Made]:
    """By the worker's own DBCPU_STORE: a URL may hold a password, and is never part of a task."""
    return _maker(open_store(create=False))
