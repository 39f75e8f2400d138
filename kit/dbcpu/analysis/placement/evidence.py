"""Who ran where while each session ran: the evidence behind a cause, in seconds, for all sessions of a round.

Everything that happens on a CPU (runnable sessions, their CPU time, steal, other processes, frequency) is
turned into cumulative curves per CPU. What a session met in a stretch of its residency is then the difference
of such a curve between the stretch's ends, so the effort grows with the stretches, not with their pairs. One
search per question finds the ends of all stretches of a round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul
from typing import Any

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.placement.occupancy import Idle, Occupancy
from dbcpu.analysis.placement.residency import ASLEEP, RUNNABLE, STOPPED, Span, Stretches, poll_hz, stretches
from dbcpu.analysis.statistics.cumulative import Curve, Curves, Floats, Keys, slices, spread_by
from dbcpu.record import Round

FOREIGN_BUSY = 0.2
"""A CPU of which other processes used this share of a slice of the timeline was not idle in it."""
PIECE_WHOLE = 1.4
"""CPU time of a piece of the witness with its warm-up and waking, over that of the piece."""
NO_CPU = -1
MAX_OTHERS = 7
"""Hardware threads beside one's own on a core: POWER has 8 in all."""


@dataclass(frozen=True, slots=True)
class Cores:
    """What the record has of the host's CPUs, by CPU: ``siblings`` (itself included), ``core`` and ``node``."""

    siblings: Mapping[int, tuple[int, ...]]
    core: Mapping[int, int]
    node: Mapping[int, int]

    @property
    def count(self) -> int:
        return len(set(self.siblings.values()))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one session met, in seconds. ``None`` where the host did not count it.

    ``watched_s`` of its span it was watched, in ``polls``; ``shared_queue_s`` it was runnable on a CPU where another
    session was runnable too; ``others_cpu_s`` and ``foreign_cpu_s`` are what sessions and other processes
    ran on its CPU meanwhile. Of its CPU time, ``shared_s[k]`` passed with k other threads of its core busy
    with sessions (k = 0: alone), ``sibling_foreign_s`` with another process there; ``sibling_most_s`` is the most
    that sharing can have cost, ``others_busy`` the mean number of other cores in use. ``steal_s`` and
    ``irq_s`` are its part of its CPU's. ``shared_idle_s``: of the shared CPU time, how long a whole allowed
    core was idle; ``queue_idle_s``: of the time it waited, how long an allowed CPU was. ``remote_s``: CPU time
    on nodes where it may have no memory, None when it may have it anywhere. ``mhz``: mean frequency of its
    CPUs. ``stopped_s`` and ``asleep_s`` come from its state.
    """

    watched_s: float
    polls: float
    cpus: tuple[int, ...]
    shared_queue_s: float
    others_cpu_s: float | None
    foreign_cpu_s: float | None
    shared_s: tuple[float, ...]
    sibling_most_s: float
    sibling_foreign_s: float
    others_busy: float
    steal_s: float | None
    irq_s: float
    shared_idle_s: float | None
    queue_idle_s: float | None
    remote_s: float | None
    mhz: float | None
    stopped_s: float
    asleep_s: float

    @property
    def sibling_s(self) -> float:
        """CPU time while at least one other thread of its core ran a session."""
        return sum(self.shared_s[1:])


class Placement:
    """The residency and the CPU timeline of one round, ready to be asked; ``spans``: (start, end) by session."""

    def __init__(self, round_: Round, cores: Cores, spans: Sequence[Span | None]) -> None:
        self.round = round_
        self.cores = cores
        self.siblings = cores.siblings
        self.spans = spans
        self.hz = poll_hz(round_)
        self.all = stretches(round_).snapped(spans, 1 / self.hz)
        runnable = self.all.where(self.all.runnable)
        self.cpu_known = bool(runnable.cpu.size) and not np.isnan(runnable.cpu_s).any()
        self.on_cpu = {int(cpu): runnable.where(np.asarray(runnable.cpu == cpu)) for cpu in np.unique(runnable.cpu)}
        # CPU time of the stretch before the first runnable poll was run, too: it belongs to no other process.
        counted = self.all.where(~np.isnan(self.all.cpu_s))
        self._ran = spread_by(counted.cpu, counted.from_s, counted.to_s, counted.cpu_s)
        times, rows = round_.timeline_s, round_.cpu_timeline
        self._watched = tuple(row.cpu for row in rows)
        self._steal = slices(times, {row.cpu: row.steal_s for row in rows})
        self._irq = slices(times, {row.cpu: tuple(map(add, row.irq_s, row.softirq_s)) for row in rows})
        self._busy = slices(times, {row.cpu: row.busy_s for row in rows})
        self._cycles = slices(times, {row.cpu: tuple(map(mul, row.mhz, np.diff(times))) for row in rows if row.mhz})
        self._witness = Curves(
            {
                each.cpu: Curve(np.array(each.at_us) / 1e6, np.cumsum(np.array(each.ns) * (PIECE_WHOLE / 1e9)))
                for each in (round_.witness.cpus if round_.witness else ())
            }
        )
        self.idle_known = bool(rows) and self.cpu_known
        self._foreign = Curves({} if rows else self._foreign_by_process())
        self.occupancy = Occupancy(runnable, cores.siblings, self._foreign_intervals())
        self._index = {session.ordinal: index for index, session in enumerate(round_.sessions)}
        self._idle: dict[tuple[int, ...], Idle] = {}

    def evidence(self) -> list[Evidence | None]:
        """For each session of the round, within its span; None where it was not watched."""
        rows = self.all.clipped(self.spans)
        ran = rows.where(rows.runnable)
        lasted = {
            "watched_s": rows.length_s,
            "stopped_s": rows.length_s * (rows.kind == STOPPED),
            "asleep_s": rows.length_s * (rows.kind == ASLEEP),
        }
        count = len(self.round.sessions)
        total: dict[str, npt.NDArray[Any]] = {
            name: np.bincount(ran.session, values, count) for name, values in self._met(ran).items()
        }
        total |= {name: np.bincount(rows.session, values, count) for name, values in lasted.items()}
        return [
            self._evidence(rows, index, total) if session.residency and span else None
            for index, (session, span) in enumerate(zip(self.round.sessions, self.spans, strict=True))
        ]

    def _evidence(self, rows: Stretches, index: int, total: Mapping[str, npt.NDArray[Any]]) -> Evidence:
        def of(name: str) -> float:
            return max(0.0, float(total[name][index])) if name in total else 0.0

        foreign_known = bool(self._foreign.keys.size) or (bool(self._watched) and self.cpu_known)
        own_s, cycles = of("own_s"), of("cycles")
        shared = tuple(of(f"shared_{others}") for others in range(MAX_OTHERS + 1))
        last = max((others for others, lasted in enumerate(shared) if lasted > 0), default=0)
        return Evidence(
            watched_s=of("watched_s"),
            polls=of("watched_s") * self.hz,
            cpus=self._cpus(rows, index),
            shared_queue_s=of("shared_queue_s"),
            others_cpu_s=of("others_cpu_s") if self.cpu_known else None,
            foreign_cpu_s=of("foreign_cpu_s") if foreign_known else None,
            shared_s=shared[: last + 1],
            sibling_most_s=of("sibling_most_s"),
            sibling_foreign_s=of("sibling_foreign_s"),
            others_busy=of("others_busy_s") / own_s if own_s > 0 else 0.0,
            steal_s=of("steal_s") if self._watched else None,
            irq_s=of("irq_s"),
            # A CPU without a session need not be idle.
            shared_idle_s=of("shared_idle_s") if self.idle_known else None,
            queue_idle_s=of("queue_idle_s") if self.idle_known else None,
            remote_s=of("remote_s") if self._is_bound(index) else None,
            mhz=cycles / own_s if cycles > 0 and own_s > 0 else None,
            stopped_s=of("stopped_s"),
            asleep_s=of("asleep_s"),
        )

    def _met(self, part: Stretches) -> dict[str, Floats]:
        """What these runnable stretches met, each on its CPU."""
        on, own_s, length_s = (part.cpu, part.from_s, part.to_s), np.nan_to_num(part.cpu_s), part.length_s
        ran_s = self._ran.between(*on)
        foreign_s = self._foreign_s(*on)
        # A stolen or interrupted moment hits whoever is running: in proportion to CPU time.
        all_s = ran_s + np.maximum(0.0, foreign_s)
        mine = np.divide(own_s, all_s, out=np.ones_like(own_s), where=(all_s > 0) & (own_s > 0))
        running = np.divide(own_s, length_s, out=np.ones_like(own_s), where=(length_s > 0) & (own_s > 0))
        waited_s = np.maximum(0.0, length_s - own_s) * (own_s > 0)
        met = {
            "own_s": length_s * running,
            "others_cpu_s": np.maximum(0.0, ran_s - own_s),
            "foreign_cpu_s": foreign_s,
            "sibling_foreign_s": np.clip(self._beside_s(part), 0.0, length_s) * running,
            "steal_s": self._steal.between(*on) * mine,
            "irq_s": self._irq.between(*on) * mine,
            "cycles": self._cycles.between(*on) * running,
            "remote_s": length_s * running * self._is_remote(part),
        }
        if part.cpu.size:
            met |= self._met_together(part, running, waited_s)
        return met

    def _beside_s(self, part: Stretches) -> Floats:
        """CPU time of processes that are no sessions on the other threads of each stretch's core."""
        near = {cpu: [each for each in self.siblings.get(cpu, ()) if each != cpu] for cpu in part.cpu.tolist()}
        found_s = np.zeros(part.cpu.size)
        for at in range(max(map(len, near.values()), default=0)):
            siblings = np.array([near[cpu][at] if at < len(near[cpu]) else NO_CPU for cpu in part.cpu.tolist()])
            found_s += self._foreign_s(siblings, part.from_s, part.to_s)
        return found_s

    def _met_together(self, part: Stretches, running: Floats, waited_s: Floats) -> dict[str, Floats]:
        """Overlaps with other sessions: on the same CPU, on its siblings, and while other CPUs stood idle."""
        at, during = self.occupancy, self.occupancy.during(part)
        others, crowded = np.minimum(at.others, MAX_OTHERS), at.queued >= 2
        contended_s = during.of(crowded)
        met = {
            "shared_queue_s": during.of(at.queue >= 2),
            "sibling_most_s": during.of(others / (others + 1)) * running,
            "others_busy_s": during.of(at.busy_cores - 1) * running,
            "shared_idle_s": np.zeros_like(running),
            "queue_idle_s": np.zeros_like(running),
        }
        for count in range(int(others.max(initial=0)) + 1):
            met[f"shared_{count}"] = during.of(others == count) * running
        may_use = [session.allowed_cpus for session in self.round.sessions]
        for allowed in {may_use[int(session)] for session in np.unique(part.session)}:
            idle = self.idle(allowed)
            own = np.array([each == allowed for each in may_use])[part.session]
            beside_idle_core_s = during.of((others > 0) & (idle.cores > 0)) * running
            beside_idle_cpu_s = during.of(crowded & (idle.cpus > 0))
            share = np.divide(beside_idle_cpu_s, contended_s, out=np.zeros_like(running), where=contended_s > 0)
            met["shared_idle_s"] += beside_idle_core_s * own
            met["queue_idle_s"] += waited_s * share * own
        return met

    def idle(self, allowed: tuple[int, ...]) -> Idle:
        """Idle cores and CPUs among ``allowed`` at each moment of ``occupancy.times``."""
        if allowed not in self._idle:
            self._idle[allowed] = self.occupancy.idle(allowed)
        return self._idle[allowed]

    def partners(self, ordinal: int, span: Span, on_siblings: bool) -> list[tuple[int, int, float]]:
        """Sessions runnable at the same time on the same CPU, or on its siblings, longest first.

        Each as (ordinal, CPU of the asking session, seconds).
        """
        index = self._index[ordinal]
        rows = self.all.of(index)
        met: dict[tuple[int, int], float] = {}
        for cpu in sorted(set(self.all.cpu[rows][self.all.kind[rows] == RUNNABLE].tolist())):
            here = self.on_cpu[cpu]
            own = here.of(index)
            wanted = [c for c in self.siblings.get(cpu, ()) if c != cpu] if on_siblings else [cpu]
            for from_s, to_s in zip(here.from_s[own], here.to_s[own], strict=True):
                low, high = max(from_s, span[0]), min(to_s, span[1])
                for near in (self.on_cpu[c] for c in wanted if c in self.on_cpu):
                    overlap_s = np.minimum(near.to_s, high) - np.maximum(near.from_s, low)
                    touching = np.asarray((overlap_s > 0) & (near.session != index))
                    for other, seconds in zip(near.session[touching], overlap_s[touching], strict=True):
                        met[int(other), cpu] = met.get((int(other), cpu), 0.0) + float(seconds)
        ordered = sorted(met.items(), key=lambda each: (-each[1], each[0]))
        return [(self.round.sessions[other].ordinal, cpu, seconds) for (other, cpu), seconds in ordered]

    def _is_bound(self, index: int) -> bool:
        nodes = self.round.sessions[index].memory_nodes
        return bool(nodes) and not set(self.cores.node.values()) <= set(nodes)

    def _is_remote(self, part: Stretches) -> Floats:
        bound = [self._is_bound(index) for index in range(len(self.round.sessions))]
        away = [
            bound[session] and self.cores.node.get(cpu, -1) not in self.round.sessions[session].memory_nodes
            for session, cpu in zip(part.session.tolist(), part.cpu.tolist(), strict=True)
        ]
        return np.array(away, dtype=np.float64)

    def _foreign_s(self, cpus: Keys, from_s: Floats, to_s: Floats) -> Floats:
        """CPU time of processes that are no sessions: what each CPU was busy beyond the sessions' own."""
        on = (cpus, from_s, to_s)
        if self._foreign.keys.size:
            return self._foreign.between(*on)
        if not self.cpu_known:
            return np.zeros_like(from_s)
        excess_s = self._busy.between(*on) - self._ran.between(*on) - self._witness.between(*on)
        # Kernels that account interrupts apart leave them out of the sessions' run time: they are no process.
        return excess_s - np.minimum(self._irq.between(*on), np.maximum(0.0, excess_s))

    def _foreign_intervals(self) -> dict[int, list[tuple[float, float]]]:
        """By CPU: the slices of the timeline in which other processes kept it from being idle."""
        times = np.array(self.round.timeline_s)
        if times.size < 2 or not self.cpu_known:
            return {}
        slices_count, cpus = times.size - 1, np.array(self._watched, dtype=np.int64)
        from_s, to_s = (np.tile(each, cpus.size) for each in (times[:-1], times[1:]))
        foreign_s = self._foreign_s(np.repeat(cpus, slices_count), from_s, to_s)
        taken = (foreign_s >= FOREIGN_BUSY * (to_s - from_s)).reshape(cpus.size, slices_count)
        return {
            int(cpu): [(float(times[i]), float(times[i + 1])) for i in np.flatnonzero(mask)]
            for cpu, mask in zip(cpus, taken, strict=True)
            if mask.any()
        }

    def _foreign_by_process(self) -> dict[int, Curve]:
        """Without a CPU timeline: each other process spread evenly over its CPUs and the round."""
        if not self.all.from_s.size:
            return {}
        ends = np.array([self.all.from_s.min(), self.all.to_s.max()])
        used_s: dict[int, float] = {}
        for process in self.round.foreign:
            for cpu in process.cpus:
                used_s[cpu] = used_s.get(cpu, 0.0) + process.cpu_s / len(process.cpus)
        return {cpu: Curve(ends, np.array([0.0, used])) for cpu, used in used_s.items()}

    @staticmethod
    def _cpus(rows: Stretches, index: int) -> tuple[int, ...]:
        """CPUs the session was runnable on, longest first."""
        own = rows.of(index)
        runnable = rows.kind[own] == RUNNABLE
        if not runnable.any():
            return ()
        seconds = np.bincount(rows.cpu[own][runnable], (rows.to_s[own] - rows.from_s[own])[runnable])
        return tuple(int(cpu) for cpu in np.argsort(-seconds, kind="stable") if seconds[cpu] > 0)
