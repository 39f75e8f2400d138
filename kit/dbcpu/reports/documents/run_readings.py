"""How the pictures of a run are read: only of what can be in the pictures of this run."""

from collections.abc import Sequence

from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.placement.timeline import CROWDED, DOUBLED, QUEUED, SIBLING, TAKEN, UNSEEN, WASTED, Timeline
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import LASTING_THROUGHPUT
from dbcpu.analysis.results.experiments import Pool
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.reports.documents.run_summary import order_words

MAX_CPU_ROWS = 64
MAX_CORE_ROWS = 160
"""More cores than this are shown as how many do what: single rows would be thinner than a pixel of a screen."""
DRAWN_LANES = 48
"""More lanes than this bear no numbers."""
MAX_POINTS = 4000
MAX_LEVELS = 40
"""More points or levels than this run together: they are counted on a grid instead."""

READINGS = {
    "soak": (
        "A row per session: the darker, the slower its executions at that time. Below: the median of all, the band "
        "from 5 % to 95 %, and to the right how often each time occurred; two humps mean that the times are bimodal. "
        "A row that stays dark is a session that stayed on a shared core or CPU; in a dark column all sessions were "
        "slow."
    ),
    "sizes": (
        "How much longer the slow executions of a size take than its fast ones. Many scheduling decisions average out "
        "over a long statement; a short one ends before they do."
    ),
    "pool": ("Total seconds are those until all jobs are done. Memory grows with each session."),
    "together": (
        "Bars of equal length: the targets do not slow each other. The number is the slowdown: together / separately."
    ),
    "variants": (
        "The same sessions under another setting of the host, relative to the first variant = 1; the legend names "
        f"the levels. Lower max/min is more even. Throughput is {LASTING_THROUGHPUT}."
    ),
    "host": "A box with a dark edge is a core; the fields in it are the CPUs (hardware threads) that share it.",
    "slowdown": (
        "Every mark is a session; its colour and shape are the cause, the black bar is the median. All marks of one N "
        "on one line: even. Two clouds above one N: a fast and a slow group. The dashed line is a fair share of all "
        "vCPUs."
    ),
    "throughput": (
        "The sum of rates counts while all sessions ran, the makespan until the last one ended: a gap between "
        "them means that some sessions finish late while CPUs are idle."
    ),
    "sessions": "Grey is the single-session time, the rest is the time lost to each cause.",
    "cpu_map": "A row per CPU.",
    "lanes": "A lane per session.",
    "connect": (
        "Sessions connect in small batches, and each connection is timed. It is not part of any slowdown; a rise "
        "with N is the cost of new server processes."
    ),
}
"""By the name of a picture, of any run; ``reading`` adds what only some have."""
IN_FIELDS = (
    "So many sessions are counted in fields: a field has the colour of its most frequent cause, the darker the more."
)


MIN_SHOWN = 0.02
"""Of the single-session time: less is no wider than a line."""


def reading(name: str, analysis: Analysis, lines: Sequence[Timeline]) -> str:
    """Of one picture; ``lines`` are the representative rounds that were sampled."""
    more: list[str] = []
    if name == "host" and _threads(analysis) is False:
        return "A box with a dark edge is a core, which has one CPU."
    if name == "slowdown" and _in_fields(analysis):
        return f"{IN_FIELDS} The dashed line is a fair share of all vCPUs."
    if name == "pool" and analysis.pool is not None:
        more = _of_pool(analysis.pool)
    if name == "throughput" and _threads(analysis):
        more = ["A knee at the number of cores is where every core has a session and SMT begins."]
    if name == "sessions":
        orders = {each.order for each in representative_rounds(analysis)}
        shown = [view for view in analysis.sessions if view.order in orders]
        causes = {view.cause for view in shown}
        more = [
            *(
                ["Where grey is shorter than the single-session time, a session needed less CPU time than one alone."]
                * _saved(shown)
            ),
            *(["Shared core on exactly two sessions: they ran on one."] if Cause.SHARED_CORE in causes else []),
            *(["Run-queue wait on all: more sessions than vCPUs."] if Cause.RUN_QUEUE in causes else []),
        ]
    if name == "cpu_map":
        return " ".join(_of_map(lines))
    if name == "lanes":
        return " ".join((f"A lane per session, {order_words(analysis)} on top.", *_of_lanes(lines)))
    return " ".join((READINGS[name], *more))


def _of_pool(pool: Pool) -> list[str]:
    if pool.enough is None:
        return []
    said = ["The dashed line is the smallest of the tested pool sizes that is as fast as any."]
    beyond = any(each.active > pool.enough for each in pool.sizes)
    if not beyond and pool.has_lost_beyond(pool.enough):
        return [*said, "Larger ones have no whole round."]
    return [*said, "Larger ones were not shown to be faster." if beyond else "Larger ones were not measured."]


def _saved(views: Sequence[SessionView]) -> bool:
    """Whether any of these needed so much less CPU time than one alone that a picture shows it."""
    return any((view.inflation_s or 0.0) < -MIN_SHOWN * (view.reference_s or 0.0) for view in views)


def _threads(analysis: Analysis) -> bool | None:
    """Whether cores have several CPUs; None where that is not known."""
    return analysis.cores < analysis.vcpus if analysis.cores and analysis.vcpus else None


def _in_fields(analysis: Analysis) -> bool:
    points = sum(view.valid and view.slowdown is not None for view in analysis.sessions)
    return points > MAX_POINTS or len({each.level for each in analysis.levels}) > MAX_LEVELS


def _of_map(lines: Sequence[Timeline]) -> list[str]:
    cpus = max((len(line.cpus) for line in lines), default=0)
    cores = max((len({each.core for each in line.cpus}) for line in lines), default=0)
    if cpus > MAX_CPU_ROWS and cores > MAX_CORE_ROWS:
        said = ["How many cores did what at each moment."]
    elif cpus > MAX_CPU_ROWS:
        said = ["A row per core."]
    else:
        said = [f"A row per CPU{', the CPUs of a core together' if cores < cpus else ''}."]
    use = {state for line in lines for state in line.use.ravel().tolist()}
    if WASTED in use and DOUBLED in use:
        said.append(
            "Orange beside yellow: two sessions shared a core while another core was idle, so a better placement was "
            "possible."
        )
    if WASTED in use and CROWDED in use:
        idle = "a whole core" if cores < cpus else "another"
        said.append(f"Dark blue beside yellow: sessions shared a CPU while {idle} was idle.")
    if TAKEN in use:
        said.append("Brown: no session was there, but another process used the CPU.")
    return said


def _of_lanes(lines: Sequence[Timeline]) -> list[str]:
    states = {state for line in lines for state in line.doing.ravel().tolist()}
    moved = any(moves for line in lines for moves in line.moves_s)
    shared = bool(states & {SIBLING, QUEUED})
    if max((len(line.ordinals) for line in lines), default=0) > DRAWN_LANES:
        said = ["The colour is what a session shared."]
    else:
        parts = ["The number is the CPU, the colour its core"]
        parts += ["hatching means sharing"] if shared else []
        parts += ["a black line is a migration"] if moved else []
        said = [f"{', '.join(parts)}."]
    if SIBLING in states:
        said.append("Lanes of unequal length without migrations: sessions stayed on a shared core.")
    if UNSEEN in states:
        said.append("What lies between the outermost polls and the ends of a session is not sampled.")
    return said
