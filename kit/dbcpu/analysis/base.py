"""The answers that analysis gives of a record; ``None`` always means "cannot be told from this record"."""

from dataclasses import dataclass

from dbcpu.findings import Finding

CAUSES = (
    "none",
    "shared_core",
    "run_queue",
    "steal",
    "throttled",
    "frequency",
    "remote_memory",
    "competitor",
    "irq",
    "resource_manager",
    "wait",
    "stopped",
    "slower_cpu",
    "unexplained",
)


@dataclass(frozen=True, slots=True)
class Reference:
    """What one session takes alone: medians over the valid solo sessions (level 1), per execution.

    ``spread`` is the robust relative standard deviation of sessions that share nothing (see ``noise``); ``tolerance``
    is max(10 %, 3 x spread): smaller losses are not explained. ``queue_s`` and ``throttled_s`` are what a
    session loses even alone (an own quota, a busy host): only what goes beyond is a loss of sharing.
    """

    sessions: int
    elapsed_s: float
    cpu_s: float | None
    mrows_per_s: float
    spread: float
    tolerance: float
    queue_s: float | None = None
    throttled_s: float | None = None


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session explained. Seconds are per session over all its executions.

    ``elapsed_s`` runs from the first start to the last end. ``slowdown`` is elapsed over the reference for
    the same number of executions. The loss over the reference splits exactly:
    ``inflation_s + queue_s + throttled_s + gap_s`` = ``elapsed_s - reference_s``, each part beyond the
    reference's own; a part is None where the host did not count it, and then ``unsplit_s`` is what it leaves of
    the loss. ``group`` is 'fast', 'slow' or ''
    (no two groups). ``valid`` False: left out of verdicts, ``why`` says so. ``shared_s`` of its CPU time another
    session ran on its core; ``avoidable_s`` it lost to its cause (shared core, run queue, competitor) while
    another core or CPU that it may use was idle.
    """

    level: int
    repeat: int
    variant: str
    order: int
    ordinal: int
    elapsed_s: float | None
    connect_s: float
    executions: int
    mrows_per_s: float | None
    slowdown: float | None
    inflation_s: float | None
    queue_s: float | None
    throttled_s: float | None
    gap_s: float | None
    reference_s: float | None
    cause: str
    evidence: str
    group: str
    valid: bool
    why: str = ""
    unsplit_s: float | None = None
    shared_s: float | None = None
    avoidable_s: float | None = None


@dataclass(frozen=True, slots=True)
class LevelView:
    """All rounds of one level and variant: medians over rounds (a round is the independent unit).

    ``rounds`` and ``sessions`` are those that the figures rest on: rounds without a failed session, or, if
    there is none, what is left of the others. ``median_s`` is per execution. ``connect_max_s`` and
    ``skew_s`` are the largest of all rounds.
    ``slow`` is the median size of the slow group per round. ``throughput`` is Mrows/s as the sum of
    the sessions' rates; ``makespan_throughput`` all work over the time until the last session ended.
    ``ideal_throughput`` is solo rate x min(N, vCPUs), ``efficiency`` the part of it that was reached, and
    ``ideal_slowdown`` max(1, N / vCPUs). ``slower`` is the median number of sessions that lost more than the
    tolerance, ``slower_factor`` their median slowdown. ``causes`` counts sessions by cause, commonest first;
    ``main_cause`` is what most rounds lost most sessions to, 'none' if nobody lost anything. ``uneven`` and ``slowed``:
    ``max_over_min`` and ``slowdown_median`` are beyond what chance and the tolerance allow at this level.
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
    causes: tuple[tuple[str, int], ...] = ()
    main_cause: str = "none"
    uneven: bool = False
    slowed: bool = False


@dataclass(frozen=True, slots=True)
class Scaling:
    """The throughput curve in three numbers; None until enough levels were measured."""

    knees: tuple[float, ...]
    smt_yield: float | None
    effective_cores: float | None


@dataclass(frozen=True, slots=True)
class ThreadSpeed:
    """Speed of a session while ``threads`` threads of its core run sessions, over that alone there; 95 % interval."""

    threads: int
    speed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Sessions by whether they shared their core (for half of their CPU time) and whether they lost anything."""

    shared_slow: int
    shared_fine: int
    alone_slow: int
    alone_fine: int


@dataclass(frozen=True, slots=True)
class SharedCore:
    """What sharing a core costs, over ``sessions`` sessions of ``rounds`` rounds; ``speeds`` () if too few shared."""

    sessions: int
    rounds: int
    speeds: tuple[ThreadSpeed, ...]
    table: CrossTable


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the renderers show.

    ``vcpus`` and ``cores`` are those the sessions may use. ``telling_order`` is the ``order`` of the round
    that shows best what happened: the median round of the most uneven level.
    """

    run_id: str
    verdict: str
    reference: Reference | None
    levels: tuple[LevelView, ...]
    sessions: tuple[SessionView, ...]
    scaling: Scaling
    findings: tuple[Finding, ...]
    vcpus: int | None = None
    cores: int | None = None
    telling_order: int | None = None
    shared_core: SharedCore | None = None
