"""What is reported of a soak, a pool and several targets at once, beyond the levels; ``None`` is "not known"."""

from msgspec import Struct

from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.statistics.interval import Interval

DISTURBANCES = {"foreign-load": "other processes", "steal": "steal", "throttled": "throttling"}
"""By finding: what else takes CPU, in words."""
MIN_ROUNDS_APART = 3
"""Of several targets, alone and beside each other: with fewer rounds the answer is inconclusive."""


class Conclusion(Struct, frozen=True):
    """What an experiment other than a sweep found, in a headline."""

    headline: str
    tone: Outcome


class Segment(Struct, frozen=True):
    """One segment of a soak. ``at_s`` counts from the first; times of executions are per execution.

    ``fast_s`` and ``slow_s``: 5 % and 95 % of its executions are faster. ``second``: share of executions at the
    second value. ``steal``: share of the CPUs' time; ``queue`` and ``throttled``: of the sessions' time, in run queues
    and held back by a CPU quota. ``cut``: why it ended early.
    """

    at_s: float
    lasted_s: float
    executions: int
    median_s: float | None
    fast_s: float | None
    slow_s: float | None
    second: float | None = None
    steal: float | None = None
    queue: float | None = None
    cut: str = ""
    throttled: float | None = None


class Gap(Struct, frozen=True):
    """A time in which nothing ran, and what ended the sessions before it."""

    from_s: float
    to_s: float
    why: str


class SecondValue(Struct, frozen=True):
    """Two preferred values of the time of one execution (see ``two_modes``).

    ``share`` of the executions is at ``second_s``. ``sessions`` are there nearly always, and only some are;
    ``segments`` are those in which nearly everybody is; neither: all take turns. ``statistic``: square root of n times
    the dip.
    """

    first_s: float
    second_s: float
    border_s: float
    share: float
    statistic: float
    sessions: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()

    @property
    def ratio(self) -> float:
        return self.second_s / self.first_s

    @property
    def slow(self) -> tuple[float, float]:
        """The share of the executions that are slow, and how many times as long as the fast ones they take."""
        return (self.share, self.ratio) if self.ratio > 1 else (1 - self.share, 1 / self.ratio)


class SoakTrend(Struct, frozen=True):
    """``change`` of the segments' medians from the start to the end, as a share; ``p``: how likely by chance."""

    change: float
    p: float


class SizeView(Struct, frozen=True):
    """One size of several. ``x_alone``: mean against that of one session alone; ``slow_over_fast``: 95 % over 5 %."""

    size: str
    rows: int
    executions: int
    alone_s: float | None
    median_s: float
    x_alone: float | None
    slow_over_fast: float
    cv: float
    second: SecondValue | None


class Heat(Struct, frozen=True):
    """Mean time of an execution by session and time, ``values[session][bin]``; None where none ran."""

    ordinals: tuple[int, ...]
    edges_s: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]


class Histogram(Struct, frozen=True):
    """Executions by their time: ``edges_s`` has one value more than ``counts``; edges rise by equal ratios."""

    edges_s: tuple[float, ...]
    counts: tuple[int, ...]


class Soak(Struct, frozen=True):
    """A soak as a whole. ``worst``: index of the segment with the slowest median. ``lasted_s`` includes gaps.

    ``whole``: whether there is a segment in which no session failed or gave a wrong answer.
    """

    sessions: int
    lasted_s: float
    executions: int
    alone_s: float | None
    median_s: float | None
    segments: tuple[Segment, ...]
    gaps: tuple[Gap, ...]
    second: SecondValue | None
    trend: SoakTrend | None
    worst: int | None
    sizes: tuple[SizeView, ...]
    heat: Heat | None
    histogram: Histogram | None
    whole: bool = True

    @property
    def has_course(self) -> bool:
        """Whether a segment lasted to its end: in others no drift is sought."""
        return any(each.median_s is not None and not each.cut for each in self.segments)


class CallTime(Struct, frozen=True):
    """One of the times of a call (``part``), over all calls that were answered, ``calls`` of them.

    connect: to open its connection; send: from the caller to the pool; wait: for a session; work: in the session;
    receive: back to the caller; whole: from sent to answered. Percentiles are None where there are too few calls.
    """

    part: str
    calls: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float


class PoolSize(Struct, frozen=True):
    """So many active sessions: medians over rounds. Memory and processes are the servers' at the end of a round.

    ``enough``: yes when no other size is faster by a tenth or more, no when one is, else undecided. Times of
    jobs are of those that compute: ``fast_s`` and ``slow_s``, 5 % and 95 % of them are faster, and ``done_s`` and
    ``late_s``, half and 95 % of them are done so long after the first began, waiting for a session included.
    ``calls``: the times of the calls for all jobs, where there were callers. ``over_best``: 95 % interval of the total
    over the shortest one; None where the noise is not known, and of the shortest.
    """

    active: int
    enough: Answer
    rounds: int
    total_s: float
    piece_s: float
    x_alone: float | None
    pieces_per_s: float
    rss_bytes: float | None
    pss_bytes: float | None
    processes: float | None
    threads: float | None
    switches: float | None
    fast_s: float | None = None
    slow_s: float | None = None
    done_s: float | None = None
    late_s: float | None = None
    sockets: float | None = None
    calls: tuple[CallTime, ...] = ()
    over_best: Interval | None = None


class Pool(Struct, frozen=True):
    """``best`` K has the least total. ``detectable``: differences of two sizes below this factor are within noise.

    ``blocking`` of the pieces only wait, ``block_s`` each. ``connections``: over which they were called,
    ``one_at_a_time`` as in ``record.Plan``. ``larger``: the largest size is as fast as any, and a larger one may be
    faster. ``lost``: sizes that were measured and of which no round did all of its jobs.
    """

    pieces: int
    sizes: tuple[PoolSize, ...]
    best: int
    detectable: float | None
    blocking: int = 0
    block_s: float | None = None
    connections: int | None = None
    one_at_a_time: bool = False
    larger: bool = False
    lost: tuple[int, ...] = ()

    @property
    def enough(self) -> int | None:
        """The smallest K that is shown to be enough, None where there is none: the knee."""
        return next((each.active for each in self.sizes if each.enough is Answer.YES), None)

    def has_lost_beyond(self, active: int) -> bool:
        """Whether larger pools were measured, without a whole round."""
        return any(each > active for each in self.lost)

    def size(self, active: int) -> PoolSize:
        return next(each for each in self.sizes if each.active == active)


class PartyView(Struct, frozen=True):
    """One of several targets: seconds per execution and Mrows/s alone and beside the others, medians over rounds.

    ``loss`` is beside over alone, ``low`` to ``high`` over the rounds beside; ``told``: significant (``gate``).
    ``slower``: yes where it is that, no where none of three rounds or more was slower by a tenth. ``rounds``: so
    many alone and beside, at least; ``whole``: beside, no session of any target failed, else the others had more CPU.
    ``counted``: how many times slower it was beside than alone by what the kernel counted, None where it did not; if by
    a tenth or more, most of it by ``counted_cause``.
    """

    name: str
    sessions: int
    cpus: tuple[int, ...]
    alone_s: float | None
    beside_s: float | None
    alone_rate: float | None
    beside_rate: float | None
    loss: float | None
    low: float | None
    high: float | None
    gate: float
    told: bool
    cpus_seen: tuple[int, ...] = ()
    slower: Answer = Answer.UNDECIDED
    rounds: int = 0
    whole: bool = True
    counted: float | None = None
    counted_cause: Cause = Cause.NONE


class Together(Struct, frozen=True):
    """Several targets; ``apart``: no two of them could use the same CPU, ``common_cores``: but the same core."""

    parties: tuple[PartyView, ...]
    apart: bool
    common_cores: bool = False
