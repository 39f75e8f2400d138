"""The answers about the host: its cores by the throughput curve, what sharing one costs, what it can do at most."""

from msgspec import Struct, field

from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.statistics.interval import Interval

STEEP = 0.5
"""A session that adds more than this of one with a core to itself may have a core, too: turbo bends curves as well."""


class TopologyCheck(Struct, frozen=True):
    """The curve against the cores that the kernel shows (see ``topology_check``).

    ``verdict``: agrees, like_full_cores, fewer_cores, ``told`` (none were shown) or unclear. ``cores`` and ``vcpus`` as
    shown, ``cores_told`` by the data, None where it gives no number. ``why`` in words. ``two_speeds``: found by two
    groups of sessions, not by a bend of the curve. ``unmeasured``: what else bends a curve and was not looked at, in
    words; with any of it the verdict is a probability. ``two_kinds``: the host has cores of two kinds. ``grouped``:
    sessions form two groups that nothing seen explains, though each had a CPU of its own.
    """

    verdict: str
    cores: int | None
    vcpus: int
    cores_told: float | None
    why: str
    two_speeds: bool = False
    unmeasured: tuple[str, ...] = ()
    two_kinds: bool = False
    grouped: bool = False

    @property
    def like_cores(self) -> int | None:
        """So many cores it scales like, where these are fewer than it shows and their number is known; else None."""
        return max(1, round(self.cores_told)) if self.verdict == "fewer_cores" and self.cores_told else None


class LicenceNeed(Struct, frozen=True):
    """What one rule asks for this host. ``unit`` says what is counted, ``how`` the sum in words; see ``licences``."""

    rule: str
    count: float
    unit: str
    how: str
    applies: str
    date: str
    source: str


class Evenness(Struct, frozen=True):
    """Fastest over slowest session at the least even level up to the vCPUs or the CPU quota: 1 is even.

    How: ``levels.host_evenness``.

    ``even``: whether all these levels are equal; no: at ``level`` it is shown that they are not. ``interval``: 95 %.
    """

    value: float
    interval: Interval | None
    level: int
    even: Answer


class Capacity(Struct, frozen=True):
    """How many sessions are served evenly, and what the host does at most, in Mrows/s (see ``capacity``).

    ``at_least``: that is the highest level measured, so that there may be more. ``even_again``: a larger level at which
    all are equal again. ``full_speed_up_to``: equal, and as fast as alone. ``peak_throughput`` (in JSON
    ``most_throughput``): of any level.
    ``even_share``: throughput at ``even_up_to`` over the most. ``per_vcpu`` and ``per_core`` need a full host; under
    a CPU quota that bounds the sessions ``per_vcpu`` is per CPU of the quota.
    ``usable_cores`` (the effective cores) and ``evenness`` are what is quoted of a host;
    ``usable_cores_at_least``: work that waits left CPUs idle at every level, or levels that were not measured may do
    more (``Scaling.more_between``).
    """

    even_up_to: int | None
    at_least: bool
    even_again: int | None
    full_speed_up_to: int | None
    even_throughput: float | None
    peak_throughput: float | None = field(name="most_throughput")
    per_vcpu: float | None
    per_core: float | None
    even_share: float | None
    licences: tuple[LicenceNeed, ...] = ()
    usable_cores: float | None = None
    usable_cores_interval: Interval | None = None
    evenness: Evenness | None = None
    usable_cores_at_least: bool = False


class Fall(Struct, frozen=True):
    """With ``to_level`` sessions the host does less in all than with ``from_level``: by this ``share`` of the Mrows/s.

    ``at_least``: it may be more. ``best_level``: the number of sessions that do most, where that is shown; None where
    levels are too near each other. ``between``: first and last level above ``from_level`` that was not measured and at
    which more may be done.
    """

    from_level: int
    to_level: int
    share: float
    at_least: bool = False
    best_level: int | None = None
    between: tuple[int, int] | None = None

    @property
    def advised(self) -> int | None:
        """So many sessions at most: more get less done. None where others may do more, also some not measured."""
        return self.from_level if self.best_level == self.from_level and self.between is None else None


class Scaling(Struct, frozen=True):
    """The throughput curve in a few numbers; None and () until enough levels were measured.

    ``knees``: sessions at which the curve bends. ``effective_cores`` is its flat end in rates of one session alone,
    with a 95 % interval.
    ``turbo``: share of speed that a session loses from one busy core to all; ``turbo_until``: the sessions from which
    on the speed is held, None where it falls up to the first knee. ``clock_measured``: the frequency was measured, so
    that one that falls is a cause of its own. ``further``: what a session beyond the first knee adds, against one with
    a core to itself; below 0 where it costs some. ``saturated``: the curve became
    flat. ``fit_error`` is the relative root mean square over levels, without ``left_out``, a level that misses the
    curve of all others. ``makespan_share``: least makespan over rate sum while cores are shared; well below 1 where
    placement is sticky. ``curve``: (sessions, Mrows/s) points of the fit. ``stickiness``: median over levels of the
    observed CV over that of a placement that never changes: 1 frozen, 0 all take turns. ``fall``: the largest loss of
    throughput by more sessions, None where none is beyond chance. ``more_between``: first and last of the levels that
    were not measured and at which more may be done than at the best one (see ``unmeasured_peak``).
    """

    knees: tuple[float, ...]
    smt_yield: float | None
    effective_cores: float | None
    knee_intervals: tuple[Interval, ...] = ()
    smt_yield_interval: Interval | None = None
    turbo: float | None = None
    further: float | None = None
    saturated: bool | None = None
    fit_error: float | None = None
    makespan_share: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    stickiness: float | None = None
    turbo_until: float | None = None
    left_out: int | None = None
    effective_cores_interval: Interval | None = None
    clock_measured: bool = False
    fall: Fall | None = None
    more_between: tuple[int, int] | None = None

    @property
    def steep(self) -> bool:
        """Sessions beyond the first knee add so much that it need not be where cores are used up."""
        return self.further is not None and self.further > STEEP


class ThreadSpeed(Struct, frozen=True):
    """Speed of a session while ``threads`` threads of its core run sessions, over that alone there; 95 % interval.

    ``costs``: it is below 1 by more than chance explains (once in a thousand runs).
    """

    threads: int
    speed: float
    low: float
    high: float
    costs: bool = False


class CrossTable(Struct, frozen=True):
    """Sessions by whether they shared their core (for half of their CPU time) and whether they lost anything."""

    shared_slow: int
    shared_fine: int
    alone_slow: int
    alone_fine: int


class SharedCore(Struct, frozen=True):
    """What sharing a core costs, over ``sessions`` sessions of ``rounds`` rounds; ``speeds`` () if too few shared."""

    sessions: int
    rounds: int
    speeds: tuple[ThreadSpeed, ...]
    table: CrossTable
