"""Stores the rounds of a run as they end, and says what is stored however it ends."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol, Self

from msgspec.structs import replace

from dbcpu.errors import DbcpuError, Interrupted, MeasureError, RecordFormatError, StoreError
from dbcpu.formatting import plural
from dbcpu.record.header import Header
from dbcpu.record.rounds import TOO_LATE, Round
from dbcpu.store.record_checks import round_inconsistency

SLOWER_NOW = "; the host is much slower than before the round: measure at a quieter time, or with fewer `--executions`"


class Keeper(Protocol):
    """What keeps a run as it is measured, see ``store.database.Store``. Every method raises StoreError."""

    def begin(self, header: Header) -> None: ...

    def reopen(self, header: Header, rounds: int) -> None: ...

    def append(self, run_id: str, finished: Round) -> None: ...

    def finish(self, run_id: str, status: str, notes: Sequence[str] = ()) -> None: ...


class Preparing:
    """Around all of a run: Ctrl-C says that nothing was stored, until ``over``. Raises Interrupted then."""

    def __init__(self) -> None:
        self.over, self._kept = False, ""

    def kept(self, run_id: str) -> str:
        """The run is stored and complete; what it used is still to be cleaned up. Returns ``run_id``."""
        self._kept = run_id
        return run_id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            return
        if self._kept:
            raise Interrupted(
                f"interrupted; run {self._kept} is stored and complete, see: dbcpu show {self._kept}"
            ) from None
        if not self.over:
            raise Interrupted("interrupted before the first round; nothing was stored") from None


def keep_rounds(
    store: Keeper,
    header: Header,
    rounds: Iterable[Round],
    finished: Callable[[Round], object],
    *,
    gaps: bool = False,
    stored: int | None = None,
) -> str:
    """Store each round as it ends, then the status of the run; returns the run_id.

    ``finished`` is called with each stored round. ``gaps``: a failed round does not end the run. ``stored``: rounds
    that the run has already, to which these are added; None of a new run.

    Raises:
        Interrupted, DbcpuError: whatever ended the rounds; the message adds how many are stored, and where.
    """
    run_id, kept = header.run_id, stored or 0
    with _unwritten("nothing was measured, and no run was begun"):
        if stored is None:
            store.begin(header)
        else:
            store.reopen(header, stored)
    try:
        with _ended(rounds):
            for done in rounds:
                _check(header, done)
                with _unwritten(f"the round with N={done.level} was measured, and is not stored"):
                    store.append(run_id, done)
                kept += 1
                finished(done)
                if done.error and not gaps:
                    raise MeasureError(f"{done.error}{SLOWER_NOW if TOO_LATE in done.error else ''}")
    except KeyboardInterrupt:
        _close(store, run_id, "interrupted")
        raise _stopped(Interrupted, "interrupted", header, kept) from None
    except DbcpuError as error:
        _close(store, run_id, "failed", (str(error),))
        raise _stopped(type(error), str(error), header, kept) from None
    with _unwritten(f"all rounds of run {run_id} are stored, but the run is not marked complete"):
        store.finish(run_id, "complete")
    return run_id


@contextmanager
def _unwritten(what: str) -> Iterator[None]:
    """Says what a store that takes no more did not take. Raises StoreError."""
    try:
        yield
    except StoreError as error:
        raise type(error)(f"{what}: {error}") from None


@contextmanager
def _ended(rounds: Iterable[Round]) -> Iterator[None]:
    """The sessions of a soak go on between its rounds: they are ended here, while threads can still be started."""
    try:
        yield
    finally:
        if isinstance(rounds, Generator):
            rounds.close()


def _check(header: Header, done: Round) -> None:
    """One round that cannot be read again would take all others with it. Raises RecordFormatError."""
    if reason := round_inconsistency(header, done):
        raise RecordFormatError(
            f"round {done.order} cannot be kept: its {reason}; this is a fault of dbcpu, please report it"
        )


def _close(store: Keeper, run_id: str, status: str, notes: tuple[str, ...] = ()) -> None:
    """Where the store takes no more, a run without a driver is shown as interrupted; what was stored is named still."""
    with suppress(StoreError):
        store.finish(run_id, status, notes)


def _stopped(kind: type[DbcpuError], why: str, header: Header, kept: int) -> DbcpuError:
    from dbcpu.analysis.levels.rounds_needed import why_no_more  # a run that ends well needs none of the analysis

    run_id, planned = header.run_id, header.plan.rounds
    is_whole = planned is not None and kept >= planned
    can_go_on = not is_whole and not why_no_more(replace(header, status="interrupted"))
    goes_on = f"dbcpu more {run_id} continues it"
    if kept == 0:
        ends = f"{f'{goes_on}, ' if can_go_on else ''}dbcpu delete {run_id} removes it"
        nothing = f"{why}; no round was stored" if issubclass(kind, StoreError) else f"{why}; no round was finished"
        error = kind(f"{nothing}, and the run is kept without one: {ends}")
        error.in_campaign = nothing
        return error
    rounds = plural(kept, "finished round") if planned is None else f"{kept} of {plural(planned, 'round')}"
    return kind(f"{why}; {rounds} stored, see: dbcpu show {run_id}{f'; {goes_on}' if can_go_on else ''}")
