"""The answers that analysis gives of a record; ``None`` always means "not known from this record"."""

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import Variants
from dbcpu.analysis.results.experiments import Conclusion, Pool, Soak, Together
from dbcpu.analysis.results.failures import Failures
from dbcpu.analysis.results.host import Capacity, Scaling, SharedCore, TopologyCheck
from dbcpu.analysis.results.pace import Pace, TwoSpeeds
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.noise_range import NoiseRange
from dbcpu.record.findings import Finding
from dbcpu.record.header import ROWS_UNIT

SPREADS = 3.0
"""So many standard deviations of noise are tolerated."""
REGIME_SHARE = 0.05
"""Share of the sessions' time from which a regime is reported: polls place a move up to half their distance wrong."""


class Reference(Struct, frozen=True):
    """What one session takes alone: medians over the valid solo sessions (level 1), per execution.

    ``spread`` is the robust relative standard deviation of sessions that share nothing (see ``noise``); ``tolerance``
    is max(10 %, 3 x robust spread): smaller losses are not explained. ``queue_s`` and ``throttled_s`` are what a
    session loses even alone (an own quota, a busy host): only what goes beyond is a loss of sharing.
    ``db_cpu_s`` is the CPU time that the database counts, where it does. ``spread_freedom``: degrees of freedom with
    which the spread is known. ``noise_low`` and ``noise_high``: the noise of a session lies between these standard
    deviations of logarithms (99 %); None where nothing was measured twice, and then ``spread`` is an assumption.
    ``counted_tolerance`` is max(10 %, 3 x spread) of what is counted apart from CPU time (queues, throttling, the
    gap), or beside a witness max(7.5 %, 3 x spread): that this is lost is known however much CPU times differ.
    ``busy``: share of its time in which a session alone wants a CPU: 1 for CPU-only work, less for work that waits in
    between. ``pace``: where the witness was used, all of this is of times at one pace, the median of the single
    sessions'. ``counted_slowdown``: how many times as long they took by what the kernel counted.
    """

    sessions: int
    elapsed_s: float
    cpu_s: float | None
    mrows_per_s: float
    spread: float
    tolerance: float
    queue_s: float | None = None
    throttled_s: float | None = None
    db_cpu_s: float | None = None
    spread_freedom: float = 4.0
    noise_low: float | None = None
    noise_high: float | None = None
    counted_tolerance: float | None = None
    busy: float = 1.0
    pace: Pace | None = None
    counted_slowdown: float = 1.0

    @property
    def noise(self) -> Chance:
        """What chance does to one session."""
        return Chance(self.spread, self.spread_freedom)

    @property
    def limit(self) -> float:
        """Below this a session's slowdown is noise, unless it was counted."""
        return 1 + max(self.tolerance, SPREADS * self.spread)

    @property
    def noise_range(self) -> NoiseRange | None:
        """Between which values its standard deviation lies; None where it is assumed."""
        if self.noise_low is None or self.noise_high is None:
            return None
        return NoiseRange(self.noise_low, self.noise_high)


class Words:
    """A text that may be given as what makes it, and is made when it is first read; equal to any with the same text.

    Of a large run few sessions are shown; the words of all others, and with whom they ran, need not be found.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str | Callable[[], str]) -> None:
        self._text = text

    def __str__(self) -> str:
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type["Words"], tuple[str]]:
        return Words, (str(self),)


class SessionView(Struct, frozen=True):
    """One session explained. Seconds are per session over all its executions.

    ``elapsed_s`` runs from the first start to the last end. ``slowdown`` is elapsed over the reference for
    the same number of executions. The loss over the reference splits exactly:
    ``inflation_s + queue_s + throttled_s + gap_s`` = ``elapsed_s - reference_s``, each part beyond the
    reference's own; a part is None where the host did not count it, and then ``unsplit_s`` is what it leaves of
    the loss. ``group`` is 'fast', 'slow' or ''
    (no two groups). ``valid`` False: left out of verdicts, ``why`` says so. ``shared_s`` of its CPU time another
    session ran on its core; ``avoidable_s`` it lost to its cause (shared core, run queue, competitor) while
    another core or CPU that it may use was idle. ``counted_s`` was lost to what the kernel counted: run-queue wait,
    throttling, steal, and sleep beyond that of a session alone; it needs no baseline. None where it was not counted.
    ``counted_cause``: to what most of that was lost, 'none' below 5 % of its time.
    ``cause``: what most of the loss is, of a session slower than the fastest of its round by more than 1.10 and noise:
    what most of that is. ``second_cause``: the next one, where it is more than a third of the first. ``parts``: seconds
    of the loss by cause, as far as the evidence goes.
    ``pace_s`` of ``inflation_s`` is explained by the pace of its CPUs; ``pace`` is their speed meanwhile (1: full) by
    so many ``pieces`` of the witness. ``pace_only``: it lost nothing beyond noise but that. ``paced_slowdown``: without
    it, at levels whose figures are at one pace.
    """

    level: int
    repeat: int
    variant: str
    order: int
    ordinal: int
    elapsed_s: float | None
    connect_s: float | None
    executions: int
    mrows_per_s: float | None
    slowdown: float | None
    inflation_s: float | None
    queue_s: float | None
    throttled_s: float | None
    gap_s: float | None
    reference_s: float | None
    cause: Cause
    words: Words = field(name="evidence")
    second_cause: Cause = Cause.NONE
    parts: tuple[tuple[Cause, float], ...] = ()
    group: str = ""
    valid: bool = True
    why: str = ""
    unsplit_s: float | None = None
    shared_s: float | None = None
    avoidable_s: float | None = None
    counted_s: float | None = None
    counted_cause: Cause = Cause.NONE
    pace_s: float | None = None
    pace: float | None = None
    pieces: int | None = None
    pace_only: bool = False
    paced_slowdown: float | None = None

    @property
    def evidence(self) -> str:
        """By which figures its cause was found, in words."""
        return str(self.words)

    def at_one_pace(self) -> "SessionView":
        """The same without what the pace of its CPUs explains of its slowdown, and of its cause."""
        if self.paced_slowdown is None:
            return self
        return replace(self, slowdown=self.paced_slowdown, cause=Cause.NONE if self.pace_only else self.cause)


class LevelDetails(Struct, frozen=True):
    """Percentiles of single executions over all sessions and rounds of a level, in seconds; None for too few of them.

    ``utilisation``: busy share of all vCPUs (median over rounds), other processes included. ``moves_per_s``: of one
    session to another CPU, as the kernel counts them. None where the host did not say.
    """

    executions: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    utilisation: float | None = None
    moves_per_s: float | None = None


class RoundsApart(Struct, frozen=True):
    """Rounds of one level that come in two kinds, as where sessions share a core in some rounds and in others do not.

    In ``rounds`` of them sessions had a ``slowdown`` (median), ``sessions`` to ``max_sessions`` of them in each; none
    had in the others. ``cause``: to what those lost most. ``counted``: the slowdown is by what the kernel counted of
    the median session's time alone, not over the single-session time.
    """

    rounds: int
    sessions: int
    slowdown: float
    max_sessions: int
    cause: Cause = Cause.NONE
    counted: bool = False


class LevelView(Struct, frozen=True):
    """All rounds of one level and variant: medians over rounds (a round is the independent unit).

    ``rounds`` and ``sessions`` are those that the figures rest on: rounds without a failed session, or, if
    there is none, what is left of the others. ``median_s`` is per execution. ``connect_max_s`` and
    ``skew_s`` are the largest of all rounds.
    ``slow`` is the median size of the slow group per round. ``throughput`` is Mrows/s as the sum of
    the sessions' rates; ``makespan_throughput`` all work over the time until the last session ended.
    ``ideal_throughput`` is solo rate x min(N, room), ``efficiency`` the part of it that was reached (None where that
    is impossible), and ``ideal_slowdown`` max(1, N / room). Room is max(1, vCPUs / busy), instead of the vCPUs a
    quota that is the limit (``busy``: see ``Reference``). ``slower`` is the median number of sessions whose
    cause is not 'none', ``slower_factor`` their median slowdown, ``slower_min`` the least. ``causes`` counts sessions,
    first or second: the main one, ``second_cause``, and then the commonest.
    ``main_cause`` is what cost the sessions most time in most
    rounds, 'none' if nothing was lost. Where
    shares are unequal that is of the time over the fastest session, unless what all lose alike is more.
    ``second_cause``: where what all lose and what makes them differ are two causes the smaller one, and ``unequal_by``
    is the latter (else 'none'); what took more than a third of that from the same sessions; or what more sessions have.
    ``even``
    (equal shares) and ``full_speed`` (as fast as alone) are this level's answers; ``even_bound``, ``slowdown_low``,
    ``slowdown_high`` and ``detectable`` are what they rest on (see ``answers``). ``counted_slowdown``: of the median
    session by what the kernel counted alone; ``counted_cause``: what most rounds counted most of it for.
    ``alone_s``, ``misplaced_s``, ``sharing_s`` and ``oversubscribed_s`` are session-seconds per round by regime, while
    all sessions ran, ``tail_misplaced_s`` those misplaced later (see ``regimes``). ``slow_expected`` and ``frozen_cv``:
    slow sessions and CV if nobody were ever moved (see ``stickiness``), ``stickiness`` is ``cv`` over ``frozen_cv``.
    ``likely_cause``: where nothing was seen of the host, what groups, curve and database counters point to;
    ``likely_by``: the source of the host's CPU counters that agree with it, None where none do.
    Where only total rates are known (not ``shares_known``, as in the rounds) all figures of spread and of single
    sessions are None: ``slowdown_max max_over_min cv slow gap_ratio slower slower_factor slower_min``; the slowdown is
    a mean.
    ``at_one_pace``: times, rates, slowdowns and answers are those at the usual pace of single sessions, by the witness;
    what the CPUs' own changes of speed cost is not in them. ``pace_ratio``, with a 90 % interval: how many times slower
    the CPUs are than with at most one session. ``details``: see there. ``rounds_apart``: None where rounds
    are alike. ``slowdown_min``: of the fastest session, as ``slowdown_max`` of the slowest.
    ``lasting_throughput``: the rate sum; above the vCPUs or a quota without what early ends leave to others, but of
    even sessions that wait. ``calm_rounds``: so many rounds, of this and larger levels, have no slow session, which are
    too few for a yes; else None. ``left_node``: sessions ran much on another memory node than where they began.
    ``slow_middle`` and ``slower_middle``: the two middle ones of these counts, of which they are the mean.
    ``others_share``: what other processes used of the vCPUs, where sessions lacked it; else None. ``held_on``: so many
    CPUs its sessions can keep busy at once, where targets were held on fewer than the vCPUs; these count in their place
    for ideal, efficiency and throughput that lasts.
    """

    level: int
    variant: str
    rounds: int
    sessions: int
    median_s: float | None
    slowdown_median: float | None
    slowdown_max: float | None
    max_over_min: float | None
    cv: float | None
    slow: float | None
    gap_ratio: float | None
    throughput: float | None
    makespan_throughput: float | None
    ideal_throughput: float | None
    mrows_per_s: float | None
    connect_median_s: float | None
    connect_max_s: float | None
    skew_s: float | None
    server_start_spread_s: float | None
    regime: str
    efficiency: float | None = None
    ideal_slowdown: float | None = None
    slower: float | None = None
    slower_factor: float | None = None
    slower_min: float | None = None
    causes: tuple[tuple[Cause, int], ...] = ()
    main_cause: Cause = Cause.NONE
    even: Answer = Answer.UNDECIDED
    full_speed: Answer = Answer.UNDECIDED
    even_bound: float | None = None
    slowdown_low: float | None = None
    slowdown_high: float | None = None
    detectable: float | None = None
    counted_slowdown: float | None = None
    counted_cause: Cause = Cause.NONE
    second_cause: Cause = Cause.NONE
    unequal_by: Cause = Cause.NONE
    alone_s: float | None = None
    misplaced_s: float | None = None
    sharing_s: float | None = None
    oversubscribed_s: float | None = None
    tail_misplaced_s: float | None = None
    slow_expected: float | None = None
    frozen_cv: float | None = None
    stickiness: float | None = None
    likely_cause: Cause | None = None
    likely_why: str = ""
    likely_by: str | None = None
    shares_known: bool = True
    at_one_pace: bool = False
    pace_ratio: float | None = None
    pace_low: float | None = None
    pace_high: float | None = None
    details: LevelDetails | None = None
    rounds_apart: RoundsApart | None = None
    slowdown_min: float | None = None
    lasting_throughput: float | None = None
    calm_rounds: int | None = None
    left_node: bool = False
    slow_middle: tuple[int, int] | None = None
    slower_middle: tuple[int, int] | None = None
    others_share: float | None = None
    held_on: int | None = None

    def share(self, part_s: float | None) -> float:
        """What a regime's seconds are of all runnable session-seconds of the level; 0 where nothing was seen."""
        whole_s = sum(s or 0.0 for s in (self.alone_s, self.misplaced_s, self.sharing_s, self.oversubscribed_s))
        return (part_s or 0.0) / whole_s if whole_s > 0 else 0.0


class NoiseFloor(Struct, frozen=True):
    """What two runs of the same thing differ by here, from two interleaved halves (see ``noise_floor``).

    ``level_ratio`` and ``spread_ratio``: the least ratio of throughput, and of max/min, that this run could have
    distinguished from noise (5 % error, 80 % power). ``level_seen`` and ``spread_seen``: the largest seen.
    """

    levels: int
    rounds: int
    level_ratio: float
    spread_ratio: float | None
    level_seen: float
    spread_seen: float | None


class MoreRounds(Struct, frozen=True):
    """What would probably decide what is open in a run: rounds ``added`` of each of these levels, as (level, rounds).

    Of undecided levels; of a run without any, of levels of which one answer is open beside a loss, or above the vCPUs.
    One session alone is among them as often as the level with the most. ``rounds``: of such a level in all
    then, at most; ``more``: of all levels together, which take about ``about_s`` seconds. Measured by ``dbcpu more``.
    """

    added: tuple[tuple[int, int], ...]
    rounds: int
    more: int
    about_s: float


class Analysis(Struct, frozen=True):
    """Everything the reports show.

    ``vcpus`` and ``cores`` are those the sessions may use. ``telling_order`` is the ``order`` of the round
    that shows best what happened: the median round of the most uneven level. ``variants``: each against
    the first, if there are several. ``experiment``: the headline of a soak, a pool or several targets; None: a sweep.
    ``unit``: of every figure that is named Mrows/s elsewhere. ``two_speeds``: of the CPUs, by the witness.
    ``more_rounds``: what would decide what is open, by ``dbcpu more``; None for nothing, or no number of rounds would.
    ``disturbance``: the finding of what typically took most of the host's CPU time meanwhile; '' for nothing much.
    ``two_kinds``: the host has cores of two kinds. ``steal_share``: of the vCPUs' time, as the kernel counted; median
    of the rounds, None where none was sampled. ``own_baselines``: targets are of different kinds, and each session is
    over its own target's single sessions; ``reference`` is of the first. ``limiting_quota``:
    where a CPU quota and not the vCPUs is the limit, reached or not; None where it left all CPUs in use and stopped
    nobody. ``levels_lost``: of a sweep's first variant, or of a pool, those of which no round is whole.
    """

    run_id: str
    verdict: str
    reference: Reference | None
    levels: tuple[LevelView, ...]
    sessions: tuple[SessionView, ...]
    scaling: Scaling
    findings: tuple[Finding, ...]
    capacity: Capacity | None = None
    topology: TopologyCheck | None = None
    noise_floor: NoiseFloor | None = None
    vcpus: int | None = None
    cores: int | None = None
    telling_order: int | None = None
    shared_core: SharedCore | None = None
    soak: Soak | None = None
    pool: Pool | None = None
    together: Together | None = None
    experiment: Conclusion | None = None
    variants: Variants | None = None
    unit: str = ROWS_UNIT
    two_speeds: TwoSpeeds | None = None
    more_rounds: MoreRounds | None = None
    disturbance: str = ""
    two_kinds: bool = False
    steal_share: float | None = None
    own_baselines: bool = False
    limiting_quota: float | None = None
    levels_lost: tuple[int, ...] = ()
    failures: Failures | None = None

    @property
    def busy(self) -> float:
        """Share of its time in which a session alone wants a CPU; 1 where that is not known."""
        return self.reference.busy if self.reference else 1.0

    @property
    def first_levels(self) -> tuple[LevelView, ...]:
        """Those of the first variant."""
        return tuple(each for each in self.levels if each.variant == self.levels[0].variant)
