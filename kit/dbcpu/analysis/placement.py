"""Who ran where while each session ran: the evidence behind a cause, in seconds, for all sessions of a round.

Everything that happens on a CPU (runnable sessions, their CPU time, steal, other processes) is turned into
one cumulative curve per CPU. What a session met in a stretch of its residency is then the difference of
that curve between the stretch's ends, so the effort grows with the stretches, not with their pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.curves import FLAT, Curve, Floats, at_least, slices, spread
from dbcpu.analysis.stretches import ASLEEP, DEFAULT_HZ, STOPPED, Span, Stretches, stretches
from dbcpu.record import Round


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one session met, in seconds. ``None`` where the host did not tell.

    ``watched_s`` of its span it was watched, in ``polls``; ``shared_queue_s`` it was runnable on a CPU where another
    session was runnable too; ``others_cpu_s`` and ``foreign_cpu_s`` are what sessions and other processes
    ran on its CPU meanwhile; ``sibling_s`` of its CPU time another session, ``sibling_foreign_s`` a foreign
    process was on the other thread of its core. ``steal_s`` and ``irq_s`` are its part of its CPU's.
    ``stopped_s`` and ``asleep_s`` come from its state.
    """

    watched_s: float
    polls: float
    cpus: tuple[int, ...]
    shared_queue_s: float
    others_cpu_s: float | None
    foreign_cpu_s: float | None
    sibling_s: float
    sibling_foreign_s: float
    steal_s: float | None
    irq_s: float
    stopped_s: float
    asleep_s: float


_MET = (
    "shared_queue_s",
    "others_cpu_s",
    "foreign_cpu_s",
    "sibling_s",
    "sibling_foreign_s",
    "steal_s",
    "irq_s",
)


class Placement:
    """The residency and the CPU timeline of one round, ready to be asked.

    ``siblings``: all CPUs of the same core, itself included, by CPU.
    """

    def __init__(self, each: Round, siblings: Mapping[int, tuple[int, ...]]) -> None:
        self.round = each
        self.siblings = siblings
        self.all = stretches(each)
        runnable = self.all.where(self.all.runnable)
        self.cpu_known = bool(runnable.cpu.size) and not np.isnan(runnable.cpu_s).any()
        self.on_cpu = {int(cpu): runnable.where(np.asarray(runnable.cpu == cpu)) for cpu in np.unique(runnable.cpu)}
        self.one = {cpu: at_least(here.from_s, here.to_s, 1) for cpu, here in self.on_cpu.items()}
        self.two = {cpu: at_least(here.from_s, here.to_s, 2) for cpu, here in self.on_cpu.items()}
        # CPU time of the stretch before the first runnable poll was run, too: it is no foreign process's.
        counted = self.all.where(~np.isnan(self.all.cpu_s))
        self.ran = {
            int(cpu): spread(counted.from_s[here], counted.to_s[here], counted.cpu_s[here])
            for cpu in np.unique(counted.cpu)
            for here in [np.asarray(counted.cpu == cpu)]
        }
        times = each.timeline_s
        self.steal = {row.cpu: slices(times, row.steal_s) for row in each.cpu_timeline}
        self.irq = {row.cpu: slices(times, tuple(np.add(row.irq_s, row.softirq_s))) for row in each.cpu_timeline}
        self.busy = {row.cpu: slices(times, row.busy_s) for row in each.cpu_timeline}
        self.foreign = {} if self.busy else self._foreign_by_process()

    def evidence(self, spans: Sequence[Span | None]) -> list[Evidence | None]:
        """For each session of the round, given its (start, end) offsets; None where it was not watched."""
        rows = self.all.clipped(spans)
        met = {name: np.zeros(rows.cpu.size) for name in _MET}
        for cpu in np.unique(rows.cpu):
            here = np.asarray((rows.cpu == cpu) & rows.runnable)
            for name, values in self._met_on(int(cpu), rows.where(here)).items():
                met[name][here] = values
        count = len(self.round.sessions)
        lasted = {
            "watched_s": rows.length_s,
            "stopped_s": rows.length_s * (rows.kind == STOPPED),
            "asleep_s": rows.length_s * (rows.kind == ASLEEP),
        }
        total = {name: np.bincount(rows.session, values, count) for name, values in (met | lasted).items()}
        hz = (self.round.cost.hz if self.round.cost else None) or DEFAULT_HZ
        foreign_told = bool(self.foreign) or (bool(self.busy) and self.cpu_known)

        def of(name: str, index: int) -> float:
            return max(0.0, float(total[name][index]))

        return [
            Evidence(
                watched_s=of("watched_s", i),
                polls=of("watched_s", i) * hz,
                cpus=self._cpus(rows, i),
                shared_queue_s=of("shared_queue_s", i),
                others_cpu_s=of("others_cpu_s", i) if self.cpu_known else None,
                foreign_cpu_s=of("foreign_cpu_s", i) if foreign_told else None,
                sibling_s=of("sibling_s", i),
                sibling_foreign_s=of("sibling_foreign_s", i),
                steal_s=of("steal_s", i) if self.steal else None,
                irq_s=of("irq_s", i),
                stopped_s=of("stopped_s", i),
                asleep_s=of("asleep_s", i),
            )
            if session.residency and span
            else None
            for i, (session, span) in enumerate(zip(self.round.sessions, spans, strict=True))
        ]

    def _met_on(self, cpu: int, part: Stretches) -> dict[str, Floats]:
        """What these runnable stretches met on their common CPU."""
        ends, own_s, length_s = (part.from_s, part.to_s), np.nan_to_num(part.cpu_s), part.length_s
        ran_s = self.ran.get(cpu, FLAT).between(*ends)
        # A stolen or interrupted moment hits whoever is running: in proportion to CPU time.
        mine = np.divide(own_s, ran_s, out=np.ones_like(own_s), where=(ran_s > 0) & (own_s > 0))
        running = np.divide(own_s, length_s, out=np.ones_like(own_s), where=(length_s > 0) & (own_s > 0))
        others = [sibling for sibling in self.siblings.get(cpu, ()) if sibling != cpu]
        nothing = np.zeros_like(length_s)
        taken = sum((self.one.get(sibling, FLAT).between(*ends) for sibling in others), nothing)
        foreign = sum((self._foreign_s(sibling, *ends) for sibling in others), nothing)
        return {
            "shared_queue_s": self.two.get(cpu, FLAT).between(*ends),
            "others_cpu_s": np.maximum(0.0, ran_s - own_s),
            "foreign_cpu_s": self._foreign_s(cpu, *ends),
            "sibling_s": np.minimum(taken, length_s) * running,
            "sibling_foreign_s": np.clip(foreign, 0.0, length_s) * running,
            "steal_s": self.steal.get(cpu, FLAT).between(*ends) * mine,
            "irq_s": self.irq.get(cpu, FLAT).between(*ends) * mine,
        }

    def partners(self, ordinal: int, span: Span, on_siblings: bool) -> list[tuple[int, int, float]]:
        """Sessions runnable at the same time on the same CPU, or on its siblings, longest first.

        Each as (ordinal, CPU of the asking session, seconds).
        """
        index = next(i for i, session in enumerate(self.round.sessions) if session.ordinal == ordinal)
        met: dict[tuple[int, int], float] = {}
        for cpu in np.unique(self.all.cpu[(self.all.session == index) & self.all.runnable]).tolist():
            here = self.on_cpu[cpu]
            own = np.asarray(here.session == index)
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

    def _foreign_s(self, cpu: int, from_s: Floats, to_s: Floats) -> Floats:
        """CPU time of processes that are no sessions: what the CPU was busy beyond the sessions' own."""
        if self.foreign:
            return self.foreign.get(cpu, FLAT).between(from_s, to_s)
        if not self.cpu_known:
            return np.zeros_like(from_s)
        return self.busy.get(cpu, FLAT).between(from_s, to_s) - self.ran.get(cpu, FLAT).between(from_s, to_s)

    def _foreign_by_process(self) -> dict[int, Curve]:
        """Without a CPU timeline: each foreign process spread evenly over its CPUs and the round."""
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
        own = np.asarray((rows.session == index) & rows.runnable)
        if not own.any():
            return ()
        seconds = np.bincount(rows.cpu[own], rows.length_s[own])
        return tuple(int(cpu) for cpu in np.argsort(-seconds, kind="stable") if seconds[cpu] > 0)
