"""One stretch of a soak: sessions that stay connected, and a round for each segment of their time.

A session that ends its segment delivers what it has and goes on at once; when the last one has delivered, the
gate pauses (the sessions do not), the sampler is read, and the round is handed over to be kept. A segment begins
when the sampler is read for the one before: its counters and its time are of the same stretch.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import MeasureError
from dbcpu.hosts.quiesce import Quiet
from dbcpu.measure import host_counters
from dbcpu.measure.blocking_sessions import Order
from dbcpu.measure.gate import Released, SessionGate
from dbcpu.measure.rounds import Observed, RoundSetup, assemble, settled, timeout_of, watched_of
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Clock, HostCounters, Round
from dbcpu.targets.base import DatabaseSession, HostReading, SessionOutcome

MIN_PART = 0.5
"""Of a segment: one that would be shorter belongs to the one before."""


class _Deliveries:
    """Who has delivered the running segment. ``again`` is the gate's; it may be called from several threads."""

    def __init__(
        self,
        gate: SessionGate,
        first_until_s: float,
        segment_s: float,
        end_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gate, self._first_until_s, self._segment_s, self._end_s = gate, first_until_s, segment_s, end_s
        self._clock = clock
        self._lock = threading.Lock()
        self._until_s: dict[int, float] = {}
        self.brought: dict[int, SessionOutcome] = {}
        self._ended: set[int] = set()
        self.failed = False

    def again(self, session: DatabaseSession) -> Order | None:
        with self._lock:
            if session.failed():
                # It may have delivered this segment already, and failed while the slowest was waited for.
                self._bring(session, more=False)
                self.failed = True
                self._gate.pause()
                return None
            until_s = self._until_s.get(session.ordinal, self._first_until_s)
            next_s = self._next(until_s)
            self._bring(session, more=next_s is not None)
            whole = len(self.brought) == len(self._gate.members)
            if next_s is None:
                self._ended.add(session.ordinal)
                return None
            self._until_s[session.ordinal] = next_s
            if whole:
                self._gate.pause()
            return None, next_s

    def _next(self, until_s: float) -> float | None:
        """When the next segment of a session ends; None: there is none. One that is late skips what is past."""
        part_s = MIN_PART * self._segment_s
        if until_s >= self._end_s - part_s:
            return None
        next_s, earliest_s = until_s + self._segment_s, self._clock() + part_s
        if next_s >= earliest_s:
            return next_s
        next_s += self._segment_s * math.ceil((earliest_s - next_s) / self._segment_s)
        next_s = min(next_s, self._end_s)
        return next_s if next_s >= earliest_s else None

    def _bring(self, session: DatabaseSession, *, more: bool) -> None:
        """A session may deliver twice before the slowest delivers once: executions may last longer than a segment."""
        now, before = session.outcome(more=more), self.brought.get(session.ordinal)
        self.brought[session.ordinal] = now if before is None else before.followed_by(now)

    def take(self, sessions: Iterable[DatabaseSession]) -> list[SessionOutcome]:
        """What each delivered, or has so far; and room for the next segment."""
        with self._lock:
            taken, self.brought = self.brought, {}
            return [taken.get(each.ordinal) or self._undelivered(each) for each in sessions]

    def _undelivered(self, session: DatabaseSession) -> SessionOutcome:
        """Its outcome would be that of its last segment once more, where it delivered this one before the others."""
        return SessionOutcome((), None) if session.ordinal in self._ended else session.outcome()


class Stretch(Struct):
    """``broken`` afterwards: a session failed, and the target may have to be opened anew.

    ``end_s``: until when; None: for ``for_s`` from the first release, when sessions are open and the host is settled.
    """

    setup: RoundSetup
    spec: RoundSpec
    segment_s: float
    for_s: float
    end_s: float | None = None
    broken: bool = False
    _released: bool = False
    _counted: HostReading | None = None
    """The host's counters at the end of the last segment, where no sampler sees it."""
    _since: tuple[Released, float] | None = None
    """When the running segment began, after the first, and the CPU time of this process then."""

    def rounds(self, begun: Callable[[RoundSpec], object]) -> Iterator[Round]:
        """Each segment as it ends; the one that was cut short by Ctrl-C too, before that is raised again.

        Raises:
            MeasureError: the sessions of a soak's first stretch could not be opened; later that is a gap.
        """
        setup = self.setup
        work = replace(setup.work, timeout_s=timeout_of(replace(setup, for_s=self.segment_s), self.spec.level))
        try:
            clock = setup.target.clock()
            with SessionGate(setup.target, setup.host, setup.clock_ticks) as gate:
                gate.gather(self.spec.level, work)
                quiet = settled(setup)
                yield from self._segments(gate, clock, quiet, work.timeout_s, begun)
        except MeasureError:
            if self.spec.order <= 1 and not self._released:
                raise
            self.broken = True

    def _segments(
        self, gate: SessionGate, clock: Clock, quiet: Quiet, timeout_s: float, begun: Callable[[RoundSpec], object]
    ) -> Iterator[Round]:
        now_s = time.monotonic()
        self.end_s = now_s + self.for_s if self.end_s is None else self.end_s
        deliveries = _Deliveries(gate, now_s + self.segment_s, self.segment_s, self.end_s)
        self._counted = host_counters.reading(self.setup.target) if self.setup.not_sampled else None
        self.setup.sampler.start(watched_of(gate.members), self.setup.kit_pids)
        going = True
        while going:
            stopped = False
            released, cpu_s = self._since or (_now(), time.process_time())
            try:
                if not self._released:
                    released = gate.release(None, self.segment_s, timeout_s, again=deliveries.again)
                else:
                    gate.resume(timeout_s)
            except KeyboardInterrupt:
                stopped = True
            self._released = True
            window_s, spent_s = time.monotonic() - released.monotonic_s, time.process_time() - cpu_s
            released = replace(released, window_s=window_s, driver_cpu_s=spent_s)
            going = gate.running and not deliveries.failed and not stopped
            done, clock = self._round(gate, deliveries, released, clock, quiet, going=going)
            if not stopped or any(session.executions for session in done.sessions):
                yield done
            if stopped:
                raise KeyboardInterrupt
            self.spec = replace(self.spec, order=self.spec.order + 1, repeat=self.spec.repeat + 1)
            if going:
                begun(self.spec)
        self.broken = deliveries.failed

    def _round(
        self, gate: SessionGate, deliveries: _Deliveries, released: Released, clock: Clock, quiet: Quiet, *, going: bool
    ) -> tuple[Round, Clock]:
        """The segment, and the clock as it is after it."""
        before, self._counted = self._counted, host_counters.reading(self.setup.target) if self._counted else None
        sampled = self.setup.sampler.stop()
        witness = self.setup.witness
        paced = witness.end() if witness else None
        if going and witness:
            witness.begin()
        if going:
            self._since = _now(), time.process_time()
            self.setup.sampler.start(watched_of(gate.members), self.setup.kit_pids)
        outcomes = deliveries.take([each.session for each in gate.members])
        ended = [outcome.error for outcome in outcomes if outcome.error]
        after = self.setup.target.clock() if going else clock
        counted = self._gained(before, outcomes, released)
        observed = Observed(
            gate.members, outcomes, released, sampled, quiet, clocks=(clock, after), paced=paced, counted=counted
        )
        done = assemble(self.setup, self.spec, observed)
        if ended:
            done = replace(done, error=f"{len(ended)} of {self.spec.level} sessions ended: {ended[0]}")
        return done, after

    def _gained(
        self, before: HostReading | None, outcomes: Sequence[SessionOutcome], released: Released
    ) -> HostCounters | None:
        """What the host's CPUs did in the segment. Its sessions delivered at different moments, and go on."""
        after = self._counted
        if before is None or after is None:
            return None
        kit_cpu_s = released.driver_cpu_s if self.setup.target.host() else 0.0
        return host_counters.between(before, after, kit_cpu_s, host_counters.unsettled_s(outcomes, after.at_s))


def _now() -> Released:
    at, epoch_s, now_s = datetime.now(UTC), time.time(), time.monotonic()
    return Released(at.isoformat(), now_s, epoch_s, 0.0, False, 0.0, 0.0)
