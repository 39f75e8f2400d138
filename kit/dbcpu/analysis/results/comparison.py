"""What a comparison says: the answers of ``compare``, as data for every format. None: not known."""

from dataclasses import dataclass

THROUGHPUT = "throughput"
SPREAD = "spread"
SUMMARIES = {
    THROUGHPUT: "sum of the sessions' rates at N = vCPUs, each run at its own (else the largest N that all measured)",
    SPREAD: "mean logarithm of max/min over every N measured in both runs, from the fewer cores to the more vCPUs",
}
"""The two summaries that decide, declared before anything is seen; levels are detail and are not tested."""

MORE, LESS = "more", "less"
NOT_SHOWN, BELOW_FLOOR, TOO_FEW, NOT_MEASURED = "not shown", "below the floor", "too few rounds", "not measured"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same in both runs."""

    fact: str
    base: str
    other: str


@dataclass(frozen=True, slots=True)
class Floor:
    """The least relative difference that is detectable on this host, for level and for spread, and where it is from."""

    level: float
    spread: float
    source: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one run. ``ratio`` is over the baseline's, with its 95 % interval (rounds resampled)."""

    metric: str
    unit: str
    value: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What one of the two summaries says of a run against the baseline.

    ``ratio`` is Hodges-Lehmann's over per-round values (for the spread: of max/min), ``p`` of the exact
    Mann-Whitney test (spread: of the permutation test). ``detectable``: relative difference that would have been
    seen with 80 % power. ``outcome`` is one of the six words above; ``levels`` where it was taken, base first.
    """

    summary: str
    outcome: str
    levels: str
    rounds: tuple[int, int]
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    floor: float | None = None

    @property
    def shown(self) -> bool:
        return self.outcome in (MORE, LESS)


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """Detail of one level of one run: medians over rounds."""

    level: int
    median_s: float | None
    throughput: float | None
    max_over_min: float | None
    slowdown_max: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A session for the picture: seconds per execution and what took its loss."""

    level: int
    elapsed_s: float
    cause: str


@dataclass(frozen=True, slots=True)
class Side:
    """One run (or one variant of it) among those compared; the first is the baseline."""

    name: str
    run_id: str
    variant: str
    label: str
    started_at: str
    host: str
    database: str
    vcpus: int | None
    cores: int | None
    figures: tuple[Figure, ...]
    levels: tuple[LevelFigures, ...]
    points: tuple[Point, ...]
    differs: tuple[Difference, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def figure(self, metric: str) -> Figure:
        return next(each for each in self.figures if each.metric == metric)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs against the first. ``verdict`` has one sentence per run; ``floor`` is what no claim goes below."""

    workload: str
    sides: tuple[Side, ...]
    verdict: tuple[str, ...]
    floor: Floor | None = None

    @property
    def baseline(self) -> Side:
        return self.sides[0]


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One level of one variant. Seconds are per execution; the mean is over sessions, the least and most are too.

    ``throughput`` is by makespan, in Mrows/s; ``ratio`` is over the first variant's at the same level.
    """

    variant: str
    level: int
    rounds: int
    median_s: float
    mean_s: float
    least_s: float
    most_s: float
    max_over_min: float | None
    cv: float | None
    slow: float | None
    throughput: float
    ratio: float | None
    cause: str


@dataclass(frozen=True, slots=True)
class VariantResult:
    """One variant: its rows, the CPUs its sessions had, and what is decided of it (() for the first)."""

    name: str
    vcpus: int | None
    cores: int | None
    rows: tuple[VariantRow, ...]
    decisions: tuple[Decision, ...] = ()

    def row(self, level: int | None) -> VariantRow | None:
        return next((each for each in self.rows if each.level == level), None)


@dataclass(frozen=True, slots=True)
class Variants:
    """``telling``: the level at which the first variant is most uneven, of those that all have; None if there is none.

    ``penalties``: (N, seconds packed over seconds spread) where both were measured and no thread stood in a queue.
    """

    workload: str
    variants: tuple[VariantResult, ...]
    telling: int | None
    penalties: tuple[tuple[int, float], ...] = ()

    @property
    def first(self) -> VariantResult:
        return self.variants[0]
