"""What is known of all sessions of a run when their losses are divided: columns, one row for each session.

NaN: not known. The rows are those of the run as delivered, in the order of its rounds.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.causes.database_waits import beyond_alone, waits_alone
from dbcpu.analysis.causes.loss import AloneTimes
from dbcpu.analysis.host_usage.host_time import throttled_shares
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.placement.evidence import Cores, Evidence, Placement
from dbcpu.analysis.placement.joined_rounds import batches
from dbcpu.analysis.placement.neighbours import Neighbours
from dbcpu.analysis.results.run import SPREADS, Reference
from dbcpu.analysis.sessions.valid_sessions import Key, Timed, kernel_node_of
from dbcpu.analysis.statistics.columns import column, columns, floats
from dbcpu.analysis.statistics.cumulative import Floats, Mask, or_zero
from dbcpu.analysis.statistics.robust import median
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import Round, RunRecord, Wait

Partners = Sequence[tuple[int, int, float]]
"""(ordinal, CPU of the asking session, seconds together), longest first."""


class WatchedRun(Struct, frozen=True):
    """What was seen of each session of a run, and who was near it in its round: ``row`` is that of its key.

    ``round_at``: by row, the index of its round.
    """

    evidence: Evidence
    rounds: tuple[Round, ...]
    neighbours: tuple[Neighbours, ...]
    round_at: npt.NDArray[np.int64]
    row: Mapping[Key, int]


def watched_run(context: RunContext) -> WatchedRun | None:
    """What the sessions of the run met on their CPUs; None of a run without a session."""
    cores = cores_of(context.record)
    rounds = context.watched
    if not rounds:
        return None
    together = batches(rounds, len(cores.siblings), cores.siblings.keys())
    evidence = Evidence.joined([Placement(some, cores).evidence() for some in together])
    neighbours = tuple(Neighbours(each.round, each.stretches, cores.siblings) for each in rounds)
    counts = [len(each.round.sessions) for each in rounds]
    row = dict(zip(map(attrgetter("key"), context.delivered), count()))
    rounds_at = np.repeat(np.arange(len(counts)), counts)
    return WatchedRun(evidence, tuple(each.round for each in rounds), neighbours, rounds_at, row)


def cores_of(record: RunRecord) -> Cores:
    """The online CPUs of the record's host."""
    host = record.header.host
    cpus = [each for each in host.topology.cpus if each.online] if host else []
    return Cores(
        {each.cpu: each.siblings for each in cpus},
        {each.cpu: each.core for each in cpus},
        kernel_node_of(host),
    )


def full_cores(cores: Cores) -> frozenset[int]:
    """The CPUs of the cores with most threads: efficiency cores have one."""
    most = max(map(len, cores.siblings.values()), default=0)
    return frozenset(cpu for cpu, each in cores.siblings.items() if len(each) == most)


class CountedTimes(Struct, frozen=True):
    """What the host counted of sessions' losses beyond what one loses alone, in seconds.

    ``steal_s`` and ``irq_s``: taken from its CPUs; ``slow_clock_s``: more CPU time than at the frequency it has
    alone; ``mhz`` and ``alone_mhz``: both frequencies, where they are measured. ``unseen``: why a steal of 0
    says nothing, so that it may be in the CPU time; '' where it is counted.
    """

    steal_s: Floats
    irq_s: Floats
    slow_clock_s: Floats
    mhz: Floats
    alone_mhz: float | None
    unseen: str

    def beyond(self, gap_s: Floats) -> "CountedTimes":
        """What is left of steal and interrupts after they have explained ``gap_s``."""
        lost_s = self.steal_s + self.irq_s
        left = np.where(lost_s > 0, np.maximum(0.0, 1 - np.maximum(0.0, gap_s) / lost_s), 1.0)
        return replace(self, steal_s=self.steal_s * left, irq_s=self.irq_s * left)


class Paces(Struct, frozen=True):
    """Of the CPUs of those sessions of which the witness knows it: see ``SessionPace``. ``known``: which these are."""

    known: Mask
    speed: Floats
    slower: Floats
    error: Floats
    pieces: list[int | None]


class Sessions:
    """All sessions of a run with their times, their reference, and what they met.

    ``cpu_s`` and ``delay_s`` are NaN where they were not counted, ``executions`` is 0 and ``elapsed_s`` NaN without a
    span. ``valid``: it counts; ``lone``: it was the only session of its round; ``shares_known``: of its round more is
    known than the rate; ``waits`` and ``traced``: the database counted waits of it, and the kernel who ran instead.
    """

    def __init__(self, context: RunContext, seen: WatchedRun, lost_alone: "SingleLosses") -> None:
        self.timed, self.evidence, self.seen = context.delivered, seen.evidence, seen
        cores = cores_of(context.record)
        self.core_of, self.node, self.full_cores = cores.core, cores.node, full_cores(cores)
        self.sessions, spans = ([*map(attrgetter(name), self.timed)] for name in ("session", "span"))
        self.valid = ~self._mask(map(bool, map(attrgetter("why"), self.timed)))
        self.shares_known = self._mask([each.shares_known for each in seen.rounds])[seen.round_at]
        self.lone = self._mask([len(each.sessions) == 1 for each in seen.rounds])[seen.round_at]
        self.waits = self._mask(map(bool, map(attrgetter("waits"), self.sessions)))
        self.traced = self._mask(map(bool, map(attrgetter("ran_instead"), self.sessions)))
        if all(spans):
            self.executions = floats([*map(len, map(attrgetter("executions"), spans))])
            self.elapsed_s = column(spans, "elapsed_s")
        else:
            self.executions = floats([len(each.executions) if each else 0 for each in spans])
            self.elapsed_s = floats([each.elapsed_s if each else None for each in spans])
        self.cpu_s, self.delay_s = columns(self.sessions, "cpu_s", "run_delay_s")
        self.throttled_s = self._throttled()
        self.pace = self._paces(context)
        self.reference, self.delivered = context.reference, context.as_delivered()
        self.alone = self._alone()
        self._single = lost_alone
        self.waits_alone = waits_alone(context.single)
        self._unseen = steal_unseen(context.record)
        self.vcpus = context.vcpus

    def __len__(self) -> int:
        return len(self.timed)

    def _mask(self, values: Iterable[bool]) -> Mask:
        return np.fromiter(values, np.bool_)

    def _throttled(self) -> Floats:
        """By their quota, 0 where nothing was."""
        shares = {at: throttled_shares(each) for at, each in enumerate(self.seen.rounds) if each.cgroups}
        if not shares:
            return np.zeros(len(self.timed))
        none: Mapping[int, float] = {}
        rows = zip(self.seen.round_at.tolist(), self.timed, strict=True)
        return floats([shares.get(at, none).get(each.session.ordinal, 0.0) for at, each in rows])

    def _paces(self, context: RunContext) -> Paces:
        paces = context.split.sessions if context.split else {}
        if not paces:
            one = np.ones(len(self.timed))
            return Paces(np.zeros(len(self.timed), dtype=np.bool_), one, one, 0 * one, [None] * one.size)
        found = [paces.get(each.key) for each in self.timed]
        return Paces(
            self._mask([each is not None for each in found]),
            floats([each.speed if each else 1.0 for each in found]),
            floats([each.slower if each else 1.0 for each in found]),
            floats([each.error if each else 0.0 for each in found]),
            [each.pieces if each else None for each in found],
        )

    def reference_of(self, row: int) -> Reference | None:
        """At one pace where that of the session is known, else as delivered."""
        return self.reference if self.pace.known[row] else self.delivered

    def _alone(self) -> AloneTimes:
        """The reference of each row, for as many executions."""

        def of(name: str, default: float | None) -> Floats:
            paced, other = (
                default if each is None or (value := getattr(each, name)) is None else value
                for each in (self.reference, self.delivered)
            )
            return np.where(self.pace.known, *(np.nan if each is None else each for each in (paced, other)))

        many, error = self.executions, self.pace.error
        tolerance = np.where(self.pace.known, np.hypot(of("tolerance", 0.0), SPREADS * error), of("tolerance", 0.0))
        return AloneTimes(
            of("elapsed_s", None) * many, of("cpu_s", None) * many, of("queue_s", 0.0) * many,
            of("throttled_s", 0.0) * many, tolerance, of("counted_tolerance", None),
            np.where(self.pace.known, np.hypot(of("spread", 0.0), error), of("spread", 0.0)),
        )  # fmt: skip

    @cached_property
    def pace_s(self) -> Floats:
        """Of the CPU time: what their CPUs' pace explains, below 0 where they were faster than for single sessions."""
        return np.where(self.pace.known, or_zero(self.cpu_s) * (1 - 1 / self.pace.slower), 0.0)

    @property
    def less_stolen_s(self) -> Floats:
        """Steal that was spared of what a single session usually meets; where the pace is known."""
        less_s = np.maximum(0.0, self._single.steal_s * self.executions - self.evidence.steal_s)
        return np.where(self.pace.known & self.evidence.known & ~np.isnan(less_s), less_s, 0.0)

    @cached_property
    def counted(self) -> CountedTimes:
        """What the host counted beyond what a single session loses."""
        met, alone = self.evidence, self._single
        steal_s = or_zero(met.steal_s)
        some = met.known & (self.executions > 0) & ((steal_s > 0) | (met.irq_s > 0) | (met.mhz > 0))
        slow_s = np.zeros(len(self))
        if alone.mhz:
            share = or_zero(np.maximum(0.0, 1 - met.mhz / alone.mhz))
            slow_s = np.where(some, or_zero(self.cpu_s) * share, 0.0)
        return CountedTimes(
            np.where(some, np.maximum(0.0, steal_s - alone.steal_s * self.executions), 0.0),
            np.where(some, np.maximum(0.0, met.irq_s - alone.irq_s * self.executions), 0.0),
            slow_s, np.where(some, met.mhz, np.nan), alone.mhz, self._unseen,
        )  # fmt: skip

    @property
    def asleep_s(self) -> Floats:
        """By its polls, beyond what a single session sleeps: work that waits does so alone, too."""
        return np.maximum(0.0, self.evidence.asleep_s - self._single.asleep_s * self.executions)

    def waits_beyond(self, row: int) -> list[Wait]:
        """That the database counted beyond those of a single session, in as many executions."""
        return beyond_alone(self.timed[row].session.waits, self.waits_alone, float(self.executions[row]))

    def partners(self, row: int, *, on_siblings: bool) -> Partners:
        """With whom it was on its CPU, or on its siblings."""
        each = self.timed[row]
        assert each.span is not None
        near = self.seen.neighbours[int(self.seen.round_at[row])]
        return near.partners(each.session.ordinal, (each.span.start_s, each.span.end_s), on_siblings)

    def quota_cpus(self, row: int) -> float | None:
        """The least quota of its control groups."""
        round_, ordinal = self.timed[row].round, self.timed[row].session.ordinal
        return min(_quotas(round_, ordinal), default=None)


def _quotas(round_: Round, ordinal: int) -> list[float]:
    return [group.quota_cpus for group in round_.cgroups if ordinal in group.sessions and group.quota_cpus is not None]


class SingleLosses(Struct, frozen=True):
    """Time that a single session loses per execution, and its CPU frequency."""

    steal_s: float = 0.0
    irq_s: float = 0.0
    asleep_s: float = 0.0
    mhz: float | None = None

    @classmethod
    def of(cls, alone: Sequence[Timed], seen: WatchedRun) -> "SingleLosses":
        """Of these sessions of that run."""
        met = seen.evidence
        known = [
            (row, len(each.span.executions)) for each in alone if each.span and met.known[row := seen.row[each.key]]
        ]
        if not known:
            return cls()
        rows, executions = (np.array(column) for column in zip(*known, strict=True))
        mhz = met.mhz[rows]
        mhz = mhz[~np.isnan(mhz)]
        return cls(
            median(or_zero(met.steal_s[rows]) / executions),
            median(met.irq_s[rows] / executions),
            median(met.asleep_s[rows] / executions),
            median(mhz) if mhz.size else None,
        )
