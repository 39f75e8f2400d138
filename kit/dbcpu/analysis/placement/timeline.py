"""Where each session of one round was, and with whom, at evenly spaced moments: what the map and the lanes show.

Moments rather than edges: 500 columns are what a picture can show, and polls are no finer. Where a share of
time is computed from these moments, it is right to about one moment. Pure; the record is all it needs.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.occupancy import Occupancy, cpus_of_same_core
from dbcpu.analysis.placement.others import PERHAPS, USED, used_by_others
from dbcpu.analysis.placement.residency import OTHER, ResidencyStretches, stretches_as_polled
from dbcpu.analysis.placement.usable_cpus import core_by_cpu
from dbcpu.analysis.sessions.valid_sessions import session_spans, timed_round
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.record.header import Cpu
from dbcpu.record.rounds import Round, RunRecord

MOMENTS = 480

ABSENT, UNSEEN, OFF, ALONE, SIBLING, QUEUED = range(6)
"""What a session does: not yet or no longer there, not sampled, asleep or stopped, alone on its core, beside a
session on the core's other thread, beside one on its CPU."""
SPARE, WASTED, UNPOLLED, TAKEN, SINGLE, DOUBLED, CROWDED = range(7)
"""What a CPU does: no session; none although its whole core is free and another core has two; not known (a session
was not seen, or another process may have been there); none, but another process; one session; one session and one on
the core's other thread; two sessions or more."""

STATE_WORDS = {
    ABSENT: "not running",
    UNSEEN: "not sampled",
    OFF: "asleep or stopped",
    ALONE: "alone on its core",
    SIBLING: "shares its core",
    QUEUED: "shares its CPU",
}
USE_WORDS = {
    SPARE: "free",
    WASTED: "core free while another is shared",
    UNPOLLED: "not known",
    TAKEN: "used by others",
    SINGLE: "one session",
    DOUBLED: "core shared by its threads",
    CROWDED: "two or more sessions on a CPU",
}
CPU_WASTED = "CPU free while another is shared"
"""The same where each core has one CPU."""

States = npt.NDArray[np.int8]


class Run(Struct, frozen=True):
    """Consecutive moments of the same ``state`` (and CPU); ``cpu`` is -1 where there is none."""

    state: int
    cpu: int
    from_s: float
    to_s: float


class Timeline(Struct, frozen=True):
    """One round. M moments, S sessions in the order of ``ordinals``, C CPUs sorted by socket, node and core.

    ``edges_s`` (M + 1) bounds the moments, in seconds from the release. ``doing`` and ``where`` (S, M) are a
    session's state and CPU; ``use`` (C, M) is a CPU's. ``moves_s`` are a session's moves between CPUs as
    polled. ``wasted_core_s`` sums over cores the time in which they stood free while another core had two sessions;
    a core that another process used, or may have used, is not counted.
    """

    level: int
    repeat: int
    edges_s: npt.NDArray[np.float64]
    ordinals: tuple[int, ...]
    cpus: tuple[Cpu, ...]
    doing: States
    where: npt.NDArray[np.int32]
    use: States
    moves_s: tuple[tuple[float, ...], ...]
    wasted_core_s: float

    @property
    def has_threads(self) -> bool:
        """Whether some core has two CPUs or more."""
        return len({each.core for each in self.cpus}) < len(self.cpus)

    @property
    def use_words(self) -> Mapping[int, str]:
        """What a CPU does, in words."""
        return USE_WORDS if self.has_threads else {**USE_WORDS, WASTED: CPU_WASTED}

    @property
    def moment_s(self) -> float:
        return float(self.edges_s[1] - self.edges_s[0])

    def lane(self, index: int) -> tuple[Run, ...]:
        """The runs of one session, moments in which it is absent left out."""
        return tuple(run for run in self._runs(self.doing[index], self.where[index]) if run.state != ABSENT)

    def row(self, index: int) -> tuple[Run, ...]:
        """The runs of one CPU."""
        return self._runs(self.use[index], np.full(self.use.shape[1], self.cpus[index].cpu, np.int32))

    def cores(self) -> tuple[tuple[int, ...], States]:
        """Cores in the order of ``cpus``, and (cores, M): of a core's CPUs the one that is used most."""
        core_of = [each.core for each in self.cpus]
        cores = tuple(dict.fromkeys(core_of))
        rows = [np.flatnonzero(np.array(core_of) == core) for core in cores]
        return cores, np.array([self.use[row].max(axis=0) for row in rows], np.int8)

    def _runs(self, states: States, cpus: npt.NDArray[np.int32]) -> tuple[Run, ...]:
        changes = np.flatnonzero((np.diff(states) != 0) | (np.diff(cpus) != 0)) + 1
        bounds = [0, *changes.tolist(), states.size]
        edges = self.edges_s
        return tuple(
            Run(int(states[first]), int(cpus[first]), float(edges[first]), float(edges[last]))
            for first, last in pairwise(bounds)
        )


def timeline(record: RunRecord, order: int | None) -> Timeline | None:
    """The round with this ``order``, or None where no session of it was seen while it ran.

    What no poll saw is UNSEEN, and a CPU without a session is UNPOLLED while some session is: it may be there.
    """
    members = timed_round(record, order)
    if not members or not any(each.session.residency for each in members):
        return None
    round_ = members[0].round
    spans = session_spans(members)
    rows = stretches_as_polled(round_, spans)
    if not (rows.kind < OTHER).any():
        return None
    first_s, last_s = float(np.nanmin(spans.starts_s)), float(np.nanmax(spans.ends_s))
    edges = np.linspace(min(0.0, first_s), last_s, MOMENTS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    cpus = _cpus(record, round_)
    doing = np.zeros((len(members), MOMENTS), np.int8)
    where = np.full((len(members), MOMENTS), -1, np.int32)
    for at, (start_s, end_s) in enumerate(zip(*spans, strict=True)):
        doing[at, (middles >= start_s) & (middles < end_s)] = UNSEEN
    firsts, lasts = np.searchsorted(middles, rows.from_s), np.searchsorted(middles, rows.to_s)
    for row in range(rows.cpu.size):
        here = (int(rows.session[row]), slice(int(firsts[row]), int(lasts[row])))
        doing[here] = ALONE if rows.runnable[row] else OFF if rows.kind[row] < OTHER else UNSEEN
        where[here] = rows.cpu[row]
    core = {each.cpu: each.core for each in cpus}
    occupancy = Occupancy(rows.where(rows.runnable), cpus_of_same_core(core), {})
    others = used_by_others(members, occupancy, middles)
    use, wasted = _together(occupancy, middles, cpus, doing, where, others)
    return Timeline(
        level=round_.level,
        repeat=round_.repeat,
        edges_s=edges,
        ordinals=tuple(each.session.ordinal for each in members),
        cpus=cpus,
        doing=doing,
        where=where,
        use=use,
        moves_s=tuple(_moves(rows, at) for at in range(len(members))),
        wasted_core_s=float(wasted.sum() * (edges[1] - edges[0])),
    )


def _cpus(record: RunRecord, round_: Round) -> tuple[Cpu, ...]:
    """CPUs that the sessions may use or were seen on; one that the topology does not know is a core of its own."""
    known = {each.cpu: each for each in record.header.host.topology.cpus} if record.header.host else {}
    seen = {stretch.cpu for session in round_.sessions for stretch in session.residency}
    allowed = {cpu for session in round_.sessions for cpu in session.allowed_cpus}
    usable = set(core_by_cpu(record))
    # A variant may leave fewer than the host has; what contradicts the places seen is not believed.
    wanted = {*(usable & allowed if seen <= allowed else usable), *seen}
    beyond = max((each.core for each in known.values()), default=-1) + 1
    found = [
        known[cpu] if cpu in known and known[cpu].core >= 0 else Cpu(cpu, beyond + cpu, 0, 0, (cpu,)) for cpu in wanted
    ]
    return tuple(sorted(found, key=lambda each: (each.socket, each.node, each.core, each.cpu)))


def _together(
    occupancy: Occupancy, middles: Floats, cpus: Sequence[Cpu], doing: States, where: npt.NDArray[np.int32],
    others: States,
) -> tuple[States, npt.NDArray[np.int64]]:  # fmt: skip
    """Refine ``doing`` in place by who is near; the use of each CPU, and the number of wasted cores per moment."""
    index = [occupancy.cpus.index(each.cpu) for each in cpus]
    queue, threads = (counts[index] for counts in occupancy.at(middles))
    row = {each.cpu: at for at, each in enumerate(cpus)}
    near = np.select([queue > 1, threads > 1], [QUEUED, SIBLING], ALONE).astype(np.int8)
    row_of = np.full(max(row) + 1, -1)
    row_of[list(row)] = list(row.values())
    # Session by session: at once, 1,000 of them take 18 MB for a moment.
    for states, places in zip(doing, where, strict=True):
        moments = np.flatnonzero(states == ALONE)
        states[moments] = near[row_of[places[moments]], moments]
    use = np.select([queue > 1, (queue == 1) & (threads > 1), queue == 1], [CROWDED, DOUBLED, SINGLE], SPARE).astype(
        np.int8
    )
    use[(use == SPARE) & (others[index] == USED)] = TAKEN
    use[(use == SPARE) & (others[index] == PERHAPS)] = UNPOLLED
    use[(use == SPARE) & (doing == UNSEEN).any(axis=0)] = UNPOLLED
    crowded, wasted = (use >= DOUBLED).any(axis=0), np.zeros(middles.size, np.int64)
    for group in dict.fromkeys(cpus_of_same_core({each.cpu: each.core for each in cpus}).values()):
        of_core = np.array([row[cpu] for cpu in group])
        free = crowded & (use[of_core] == SPARE).all(axis=0)
        use[np.ix_(of_core, np.flatnonzero(free))] = WASTED
        wasted += free
    return use, wasted


def _moves(rows: ResidencyStretches, session: int) -> tuple[float, ...]:
    """When a session was first seen on another CPU than before."""
    own = np.flatnonzero(np.asarray((rows.session == session) & rows.runnable))
    own = own[np.argsort(rows.from_s[own], kind="stable")]
    moved = np.flatnonzero(np.diff(rows.cpu[own]) != 0) + 1
    return tuple(float(at_s) for at_s in rows.from_s[own][moved])
