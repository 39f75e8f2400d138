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

    ``spread`` is the robust relative standard deviation (1.4826 MAD / median); ``tolerance`` is
    max(10 %, 3 x spread): smaller losses are not explained.
    """

    sessions: int
    elapsed_s: float
    cpu_s: float | None
    mrows_per_s: float
    spread: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session explained. Seconds are per session over all its executions.

    ``slowdown`` is elapsed over the reference for the same number of executions. The loss over the
    reference splits exactly: ``inflation_s + queue_s + throttled_s + gap_s`` = ``elapsed_s - reference``.
    ``group`` is 'fast', 'slow' or '' (no two groups). ``valid`` False: left out of verdicts, ``why`` says so.
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


@dataclass(frozen=True, slots=True)
class LevelView:
    """All rounds of one level and variant: medians over rounds (a round is the independent unit).

    ``slow`` is the median size of the slow group per round. ``throughput`` is Mrows/s as the sum of
    the sessions' rates; ``makespan_throughput`` all work over the time until the last session ended.
    ``ideal_throughput`` is solo rate x min(N, vCPUs).
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


@dataclass(frozen=True, slots=True)
class Scaling:
    """The throughput curve in three numbers; None until enough levels were measured."""

    knees: tuple[float, ...]
    smt_yield: float | None
    effective_cores: float | None


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the renderers show."""

    run_id: str
    verdict: str
    reference: Reference | None
    levels: tuple[LevelView, ...]
    sessions: tuple[SessionView, ...]
    scaling: Scaling
    findings: tuple[Finding, ...]
