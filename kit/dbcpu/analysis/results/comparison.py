"""What a comparison says: the answers of ``compare``, as data for every format. None: not known."""

from msgspec import Struct

from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import Pool
from dbcpu.analysis.results.quote import AT_LEAST, Quote, QuoteNotes
from dbcpu.record.findings import Finding
from dbcpu.record.header import ROWS_UNIT

THROUGHPUT = "throughput"
SPREAD = "spread"
LASTING_THROUGHPUT = (
    "throughput while all sessions run; above the vCPUs or a quota corrected for sessions that end early"
)
"""What ``levels.lasting_throughput`` reckons, in words."""
SUMMARIES = {
    THROUGHPUT: f"{LASTING_THROUGHPUT}; at N = vCPUs, each run at its own (else the largest N that all measured)",
    SPREAD: "mean logarithm of max/min over every N measured in all runs, from the fewer cores to the fewer vCPUs",
}
"""The two summaries that decide, declared before anything is seen; levels are detail and are not tested."""
BY_LOAD = (
    "mean logarithm of max/min over every number of sessions per {unit} measured in both (within 10 %), from the "
    "cores to the vCPUs"
)
"""The second of them where levels are shared by load."""

PER_SESSION, PER_CORE, PER_VCPU = "session", "core", "vcpu"
"""What levels are shared by: the same number of sessions, or of sessions per core or per vCPU."""
LOAD_WORDS = {PER_SESSION: "concurrent sessions (N)", PER_CORE: "sessions per core", PER_VCPU: "sessions per vCPU"}
LOAD_UNITS = {PER_CORE: "core", PER_VCPU: "vCPU"}
LOAD_HEADINGS = {PER_SESSION: "N", PER_CORE: "N/core", PER_VCPU: "N/vCPU"}

MORE, LESS = "more", "less"
NOT_SHOWN, BELOW_FLOOR, TOO_FEW, NOT_MEASURED = "not shown", "below the floor", "too few rounds", "not measured"
OTHER_WORK = "other work"
HOST_STATE = "host state"

RUNS, HISTORY, SITTING, NOT_KNOWN = "runs", "history", "one sitting", "not known"
"""Where it is known from how much runs differ: the runs of a side, the history of the target; the two need no such
knowledge where they are variants measured in turns within one run. Otherwise it is not known, and left out."""


class Difference(Struct, frozen=True):
    """A fact that is not the same in both runs."""

    fact: str
    base: str
    other: str


class Floor(Struct, frozen=True):
    """The least relative difference that is detectable on this host, for level and for spread, and where it is from."""

    level: float
    spread: float
    source: str


class SideFigure(Struct, frozen=True):
    """One metric of one side: of a run the median over its rounds, of several the (geometric) mean of theirs.

    ``ratio`` is over the baseline's value ``base`` at the same levels, with its 95 % interval. Those of the two
    summaries are the decision's; of the others, rounds are resampled (one run a side) or runs are the unit.
    """

    metric: str
    unit: str
    value: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    base: float | None = None


class Decision(Struct, frozen=True):
    """What one of the two summaries says of a side against the baseline.

    ``ratio`` is that of the sides' figures (see ``SideFigure``). ``between_run_source`` says what is tested: RUNS and
    HISTORY take the run as the unit (Student's t, ``between_run_spread``: the relative standard deviation from run to
    run, known from ``between_run_runs`` runs); else the round is (exact Mann-Whitney test). ``detectable``: relative
    difference that would have been seen with 80 % power. ``host_state``: what others took of a host, or its drift, in
    words; the interval includes it, and HOST_STATE is a difference that may be this alone. ``outcome`` is one of the
    eight words above; ``levels`` where it was taken, base first; ``rounds`` and ``runs`` of either side. ``left_out``
    are levels with more sessions than vCPUs on one side only. ``remedy``: the command that measures more rounds.
    ``then``: the baseline is an earlier run of the same target and host.
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
    runs: tuple[int, int] = (1, 1)
    between_run_spread: float | None = None
    between_run_source: str = NOT_KNOWN
    between_run_runs: int = 0
    left_out: tuple[int, ...] = ()
    remedy: str = ""
    then: bool = False
    host_state: str = ""

    @property
    def shown(self) -> bool:
        return self.outcome in (MORE, LESS)

    @property
    def likely(self) -> bool:
        """Not shown at the level of the decision, and yet the 95 % interval leaves out 1."""
        known = self.low is not None and self.high is not None
        return self.outcome == NOT_SHOWN and known and not self.low <= 1 <= self.high  # type: ignore[operator]


class LevelFigures(Struct, frozen=True):
    """Detail of one level of one run: medians over rounds."""

    level: int
    median_s: float | None
    throughput: float | None
    max_over_min: float | None
    slowdown_max: float | None
    slowdown_median: float | None = None


class Point(Struct, frozen=True):
    """A session for the picture: seconds per execution and what took its loss."""

    level: int
    elapsed_s: float
    cause: Cause


class SideRun(Struct, frozen=True):
    """A run of a side: its own two summaries, at the levels of the side's (Mrows/s, max/min); what is quoted of it."""

    run_id: str
    label: str
    started_at: str
    status: str
    rounds: int
    throughput: float | None
    spread: float | None
    quote: Quote


class Side(Struct, frozen=True):
    """One side: a run (or one variant of it), or several of the same target and work; the first is the baseline.

    ``findings`` are those of its runs from a warning on, each code once. ``mixed``: facts in which its runs differ.
    ``run_id``, ``label``, ``started_at``, ``host`` and ``database`` are those of its first run. ``other_work``: how its
    work differs from the baseline's, '' if it does not; then speed is not compared, evenness and scaling are.
    ``shared_levels``: (N of the baseline, N of the side) of the same load; () on hosts of the same size. ``pools``: of
    those of its runs that shared jobs among active sessions.
    ``shown_vcpus``: those that its host shows, of which a CPU quota may leave fewer.
    """

    name: str
    run_id: str
    variant: str
    label: str
    started_at: str
    host: str
    database: str
    vcpus: int | None
    cores: int | None
    figures: tuple[SideFigure, ...]
    levels: tuple[LevelFigures, ...]
    points: tuple[Point, ...]
    runs: tuple[SideRun, ...]
    findings: tuple[Finding, ...] = ()
    mixed: tuple[str, ...] = ()
    differs: tuple[Difference, ...] = ()
    decisions: tuple[Decision, ...] = ()
    other_work: str = ""
    shared_levels: tuple[tuple[int, int], ...] = ()
    pools: tuple[Pool, ...] = ()
    shown_vcpus: int | None = None

    @property
    def even(self) -> str:
        """Whether all levels up to its vCPUs are even, as quoted of its runs: 'undecided' where these differ."""
        answers = {each.quote.even for each in self.runs}
        return answers.pop() if len(answers) == 1 else "undecided"

    @property
    def at_least_words(self) -> str:
        """``at least `` before its effective cores, where other numbers of sessions may show more in some run."""
        return f"{AT_LEAST} " if any(each.quote.at_least for each in self.runs) else ""

    def figure(self, metric: str) -> SideFigure:
        return next(each for each in self.figures if each.metric == metric)


class Comparison(Struct, frozen=True):
    """Sides against the first. ``verdict`` has one sentence per side; ``floor`` is what no claim goes below.

    ``levels_per``: what decides is compared at the same N (PER_SESSION), or the same N PER_CORE or PER_VCPU.
    ``loads_per``: the unit of the sides' ``shared_levels``, '' for hosts of the same size. ``unit``: of throughput.
    ``full_at``: the N that stands for N = vCPUs where some run lacks that, None where each has its own.
    ``as_delivered``: a run had a witness, so that its own page has other figures, at one pace.
    """

    workload: str
    sides: tuple[Side, ...]
    verdict: tuple[str, ...]
    floor: Floor | None = None
    levels_per: str = PER_SESSION
    loads_per: str = ""
    unit: str = ROWS_UNIT
    full_at: int | None = None
    as_delivered: bool = False

    def in_unit(self, words: str) -> str:
        """Words with ``{unit}`` in them."""
        return words.format(unit=self.unit)

    @property
    def summaries(self) -> dict[str, str]:
        """What the two decisions are of."""
        if self.levels_per == PER_SESSION:
            return SUMMARIES
        return SUMMARIES | {SPREAD: BY_LOAD.format(unit=LOAD_UNITS[self.levels_per])}

    @property
    def other_work(self) -> str:
        """How the work of the first side that has other work differs; '' if all have the same."""
        return next((side.other_work for side in self.sides if side.other_work), "")

    @property
    def baseline(self) -> Side:
        return self.sides[0]


class VariantRow(Struct, frozen=True):
    """One level of one variant. Seconds are per execution; the mean is over sessions, the least and most are too.

    ``throughput`` is what lasts, in Mrows/s, and ``ratio`` over the first variant's at the same level; ``makespan`` is
    that of whole rounds. ``moves_per_s``: of one session to another CPU, as the kernel counts them; None where it is
    not known. ``p95_s``: 95 % of the single executions are faster; None of too few of them. ``causes`` counts sessions.
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
    cause: Cause
    moves_per_s: float | None = None
    p95_s: float | None = None
    makespan: float = 0.0
    causes: tuple[tuple[Cause, int], ...] = ()


class VariantResult(Struct, frozen=True):
    """One variant: its rows, the CPUs its sessions had, what is decided of it (() for the first) and quoted of it."""

    name: str
    vcpus: int | None
    cores: int | None
    rows: tuple[VariantRow, ...]
    decisions: tuple[Decision, ...] = ()
    quote: Quote = Quote()
    quote_notes: QuoteNotes = QuoteNotes()

    def row(self, level: int | None) -> VariantRow | None:
        return next((each for each in self.rows if each.level == level), None)


class Variants(Struct, frozen=True):
    """``telling``: the level at which the first variant is most uneven, of those that all have; None if there is none.

    ``penalties``: (N, seconds packed over seconds spread) where both were measured and no thread stood in a queue.
    ``as_delivered``: the run had a witness, so that its page may have other figures of a level, at one pace.
    """

    workload: str
    variants: tuple[VariantResult, ...]
    telling: int | None
    penalties: tuple[tuple[int, float], ...] = ()
    as_delivered: bool = False

    @property
    def first(self) -> VariantResult:
        return self.variants[0]
