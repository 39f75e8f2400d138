"""From moment to moment: who shares a core, who queues, and was there a better place? A sweep over interval ends.

Only what a change touches is reckoned anew, so that the effort grows with the number of intervals, not with
sessions times CPUs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Change = tuple[float, int, int, int | None]
"""(time, +1 or -1, CPU, group of equal affinity; None for a foreign process, which takes a place and has no time)."""

ALONE, MISPLACED, SHARING, OVERSUBSCRIBED = range(4)


@dataclass(slots=True)
class _Group:
    """Sessions with the same allowed CPUs: what they do now, what is idle for them, and the time so far."""

    idle_cpus: int
    idle_cores: int
    alone: int = 0
    shared: int = 0
    queued: int = 0
    crowding: float = 0.0
    """Threads beyond one on shared cores, each core's divided among its sessions."""
    queueing: float = 0.0
    """Sessions beyond one on a CPU, likewise."""
    since_s: float = 0.0
    seconds: list[float] = field(default_factory=lambda: [0.0] * 4)


class Sweep:
    """``cores``: core by CPU. ``groups``: the allowed CPUs of each group."""

    def __init__(self, cores: Mapping[int, int], groups: Sequence[frozenset[int]]) -> None:
        self.core = cores
        self.cpus_of: dict[int, list[int]] = {}
        for cpu, core in cores.items():
            self.cpus_of.setdefault(core, []).append(cpu)
        self.may_use = {cpu: [i for i, allowed in enumerate(groups) if cpu in allowed] for cpu in cores}
        self.may_use_core = {
            core: sorted({i for cpu in cpus for i in self.may_use[cpu]}) for core, cpus in self.cpus_of.items()
        }
        self.here: dict[int, list[int | None]] = {cpu: [] for cpu in cores}
        self.busy = dict.fromkeys(self.cpus_of, 0)
        """CPUs of each core with anything on them: what is not idle."""
        self.groups = [
            _Group(len(allowed), sum(i in users for users in self.may_use_core.values()))
            for i, allowed in enumerate(groups)
        ]

    def run(self, changes: Iterable[Change], edges_s: Sequence[float]) -> list[tuple[float, float, float, float]]:
        """Seconds alone, misplaced, sharing and oversubscribed between each two of the rising ``edges_s``.

        Changes before the first edge set the scene; those after the last are passed over.
        """
        ordered = sorted(changes, key=lambda change: change[:3])
        position, found = 0, []
        for number, edge_s in enumerate(edges_s):
            while position < len(ordered) and ordered[position][0] <= edge_s:
                self._apply(*ordered[position])
                position += 1
            for group in self.groups:
                self._settle(group, edge_s)
            if number:
                found.append(self._total())
            for group in self.groups:
                group.seconds = [0.0] * 4
        return found

    def _total(self) -> tuple[float, float, float, float]:
        alone, misplaced, sharing, over = (sum(g.seconds[kind] for g in self.groups) for kind in range(4))
        return alone, misplaced, sharing, over

    def _apply(self, now_s: float, step: int, cpu: int, group: int | None) -> None:
        core, here = self.core[cpu], self.here[cpu]
        touched = {i for each in self.cpus_of[core] for i in self.here[each] if i is not None}
        touched |= {*self.may_use_core[core]} | ({group} if group is not None else set())
        for i in touched:
            self._settle(self.groups[i], now_s)
        self._count(core, -1)
        was_busy, core_was_busy = bool(here), self.busy[core] > 0
        if step > 0:
            here.append(group)
        elif group in here:
            here.remove(group)
        self.busy[core] += bool(here) - was_busy
        if bool(here) != was_busy:
            for i in self.may_use[cpu]:
                self.groups[i].idle_cpus += 1 if was_busy else -1
        if (self.busy[core] > 0) != core_was_busy:
            for i in self.may_use_core[core]:
                self.groups[i].idle_cores += 1 if core_was_busy else -1
        self._count(core, 1)

    def _count(self, core: int, sign: int) -> None:
        """Add (or take away) what the sessions of one core are doing to each other; a foreign process is no session."""
        sessions = [[i for i in self.here[cpu] if i is not None] for cpu in self.cpus_of[core]]
        busy = sum(bool(here) for here in sessions)
        for here in sessions:
            for i in here:
                group = self.groups[i]
                if len(here) > 1:
                    group.queued += sign
                    group.queueing += sign * (len(here) - 1) / len(here)
                elif busy > 1:
                    group.shared += sign
                    group.crowding += sign * (busy - 1) / busy
                else:
                    group.alone += sign

    @staticmethod
    def _settle(group: _Group, now_s: float) -> None:
        """Book the time since the last change. An idle place relieves one session, not all who crowd."""
        lasted_s = now_s - group.since_s
        group.since_s = now_s
        if lasted_s <= 0:
            return
        seconds = group.seconds
        seconds[ALONE] += group.alone * lasted_s
        if group.shared:
            share = min(1.0, group.idle_cores / group.crowding)
            seconds[MISPLACED] += group.shared * share * lasted_s
            seconds[SHARING] += group.shared * (1 - share) * lasted_s
        if group.queued:
            share = min(1.0, group.idle_cpus / group.queueing)
            seconds[MISPLACED] += group.queued * share * lasted_s
            seconds[OVERSUBSCRIBED] += group.queued * (1 - share) * lasted_s
