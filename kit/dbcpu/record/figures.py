"""The figures of a run that everything can read: name, unit and meaning of each, one row per value in the store.

Names carry their units: ``_s`` seconds, ``_x`` a ratio, ``_share`` of one, ``_mrows_per_s`` the workload's unit (see
``unit``). Those of the whole run have level 0 and no variant. A figure that is not known has no row.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

VERSION = 29
"""Of the analysis that makes them: stored figures of another version are not read. Counted up when the figures of any
record change (a test sees it).
"""
ROUNDS_BYTES = "rounds_bytes"
ROUNDS_COLUMNS = "rounds_columns"
"""The metrics that a store adds: of rounds that have other bytes or columns now, figures are not believed."""
RUN, LEVEL = "run", "level"
LONGEST_VARIANT = 128
FINDING = "finding:"
"""Before the code of a finding; the value is its severity (1 info, 2 warning, 3 problem), the text what was seen."""


class Figure(Struct, frozen=True):
    """One value of a run: of all of it (level 0, variant ''), or of a level and variant.

    ``low`` and ``high``: its interval, where one is known. ``text``: a word or a sentence; of an answer, ``value`` is 1
    for yes and 0 for no, and None for undecided.
    """

    metric: str
    level: int = 0
    variant: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str | None = None


class Metric(Struct, frozen=True):
    """What a figure is of (RUN or LEVEL), and what it says."""

    name: str
    of: str
    meaning: str


METRICS = (
    Metric("verdict", RUN, "the answer in a word: equal, partly, unequal, slower, inconclusive; '' for an experiment"),
    Metric("headline", RUN, "the answer in a sentence"),
    Metric("lost_to", RUN, "text: the main cause at the level with the largest loss"),
    Metric("unit", RUN, "text: the unit of every rate"),
    Metric("variant", RUN, "text: the variant that figures of the whole run are of"),
    Metric("variants", RUN, "variants of the run; figures of the whole run are of the first"),
    Metric("history_key", RUN, "text: runs with the same one are in one history"),
    Metric("history_figures", RUN, "text: what a history shows of the run, as JSON; the same as its rows"),
    Metric("rounds", RUN, "rounds of the run"),
    Metric(ROUNDS_BYTES, RUN, "of these as the store keeps them; counted there"),
    Metric(ROUNDS_COLUMNS, RUN, "a checksum of their order, level, repeat and length of variant; made there"),
    Metric("vcpus", RUN, "vCPUs that the sessions may use; of a CPU quota of 5.5 that are 6"),
    Metric("cpu_quota", RUN, "the CPU quota that bounds the sessions, in CPUs; none where the vCPUs do"),
    Metric("cores", RUN, "cores that they may use, as the kernel shows them; at most as many as these vCPUs"),
    Metric("scales_like_cores", RUN, "cores that the throughput is like; text: how they agree with those shown"),
    Metric("solo_s", RUN, "elapsed time of one execution of a single session"),
    Metric("solo_mrows_per_s", RUN, "throughput of a single session"),
    Metric("noise_share", RUN, "what chance does to a session: relative standard deviation, with its interval"),
    Metric("tolerance_share", RUN, "losses below are not explained"),
    Metric(
        "peak_mrows_per_s",
        RUN,
        "the largest sustained throughput: above the vCPUs or a quota corrected for sessions that end early",
    ),
    Metric("usable_cores", RUN, "the top of the throughput curve in rates of a single session, at most the vCPUs"),
    Metric(
        "evenness", RUN, "fastest / slowest at the least even level up to these vCPUs, with its interval; text: even?"
    ),
    Metric("evenness_sessions", RUN, "the N of that level"),
    Metric("smt_yield_share", RUN, "what the second hardware threads add: 0 nothing, 1 as much as real cores"),
    Metric("knee_sessions", RUN, "concurrency at which throughput stops rising in proportion"),
    Metric("second_knee_sessions", RUN, "the concurrency of the second bend, where there is one"),
    Metric("equal_up_to_sessions", RUN, "all smaller levels have equal shares, too"),
    Metric("full_speed_up_to_sessions", RUN, "the same for equal, and the median session as fast as one alone"),
    Metric("two_speeds_x", RUN, "CPUs are slow by turns, by this factor (the witness)"),
    Metric("two_speeds_share", RUN, "of the time they are slow"),
    Metric("steal_share", RUN, "CPU steal, median of the rounds"),
    Metric("others_share", RUN, "what other processes used of all vCPUs, median of the rounds"),
    Metric("disturbance", RUN, "text: the finding of what typically took most of the host's CPU time meanwhile"),
    Metric("elapsed_s", LEVEL, "elapsed time of one execution, median"),
    Metric("elapsed_p50_s", LEVEL, "half of the single executions are faster"),
    Metric("elapsed_p95_s", LEVEL, "95 % of the single executions are faster; from 20 executions on"),
    Metric("elapsed_p99_s", LEVEL, "99 % of the single executions are faster; from 100 executions on"),
    Metric("throughput_mrows_per_s", LEVEL, "work per second while all sessions run"),
    Metric("makespan_mrows_per_s", LEVEL, "all work by the time until the last session ended"),
    Metric(
        "efficiency_share",
        LEVEL,
        "throughput over single-session rate x min(N, room), up to 1; room: sessions "
        "that the vCPUs or the quota can run, at least 1",
    ),
    Metric("slowdown_x", LEVEL, "elapsed over that of a single session, of the median session; with its interval"),
    Metric("slowdown_max_x", LEVEL, "the same of the slowest session"),
    Metric(
        "max_over_min_x",
        LEVEL,
        "slowest over fastest session of a round; high: the true ratio is below it (95 %), and the value can be above",
    ),
    Metric("cv_share", LEVEL, "standard deviation over mean of the elapsed times of a round"),
    Metric("counted_slowdown_x", LEVEL, "of the median session by what the kernel counted alone"),
    Metric("slow_sessions", LEVEL, "sessions in the slower of two groups"),
    Metric("run_delay_share", LEVEL, "of its elapsed time a session waited in run queues, median of the sessions"),
    Metric("level_steal_share", LEVEL, "of all CPU time, median of the rounds"),
    Metric("throttled_share", LEVEL, "of its elapsed time a session was throttled, median of the sessions"),
    Metric("cpu_used_share", LEVEL, "busy share of all vCPUs"),
    Metric("connect_s", LEVEL, "time to connect, median"),
    Metric("job_x", LEVEL, "of a pool: the time of a job over that with one session"),
    Metric("even", LEVEL, "equal shares: 1 yes, 0 no; text: yes, no or undecided"),
    Metric("full_speed", LEVEL, "the median session is as fast as one alone: 1 yes, 0 no; text: yes, no or undecided"),
    Metric("main_cause", LEVEL, "text: the cause that cost the sessions most time, in most rounds"),
)


class RunFigures:
    """The figures of one run, to be read by name."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self.all = tuple(figures)
        self._by_key: Mapping[tuple[str, int, str], Figure] = {
            (each.metric, each.level, each.variant): each for each in self.all
        }

    def figure(self, metric: str, level: int = 0, variant: str = "") -> Figure | None:
        """With its interval and text; None where it is not known."""
        return self._by_key.get((metric, level, variant))

    def value(self, metric: str, level: int = 0, variant: str = "") -> float | None:
        """None where it is not known."""
        found = self._by_key.get((metric, level, variant))
        return found.value if found else None

    def text(self, metric: str, level: int = 0, variant: str = "") -> str:
        """'' where there is none."""
        found = self._by_key.get((metric, level, variant))
        return (found.text or "") if found else ""

    def levels(self, variant: str) -> tuple[int, ...]:
        """Those with a figure of this variant, in order."""
        return tuple(sorted({each.level for each in self.all if each.level and each.variant == variant}))

    def severities(self) -> Mapping[str, int]:
        """Code of a finding -> 1 info, 2 warning, 3 problem."""
        found = (each for each in self.all if each.metric.startswith(FINDING))
        return {each.metric.removeprefix(FINDING): min(3, max(1, round(each.value or 0.0))) for each in found}

    def findings(self) -> Mapping[str, str]:
        """Code -> what was seen, the severest first."""
        found = [each for each in self.all if each.metric.startswith(FINDING)]
        found.sort(key=lambda each: (-(each.value or 0.0), each.metric))
        return {each.metric.removeprefix(FINDING): each.text or "" for each in found}
