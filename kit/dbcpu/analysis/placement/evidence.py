"""Who ran where while each session ran: the evidence behind a cause, in seconds, for all sessions of some rounds.

Everything that happens on a CPU (runnable sessions, their CPU time, steal, other processes, frequency) is
turned into cumulative curves per CPU. What a session met in a stretch of its residency is then the difference
of such a curve between the stretch's ends, so the effort grows with the stretches, not with their pairs. One
search per question finds the ends of all stretches of all rounds.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.joined_rounds import JoinedRounds, WatchedRound
from dbcpu.analysis.placement.occupancy import During, Occupancy
from dbcpu.analysis.placement.residency import ASLEEP, STOPPED, ResidencyStretches
from dbcpu.analysis.statistics.cumulative import Floats, Keys, Mask, or_zero, order_by, spread_by

FOREIGN_BUSY = 0.2
"""A CPU of which other processes used this share of a slice of the timeline was not idle in it."""
NO_CPU = -1
MAX_OTHERS = 7
"""Hardware threads beside one's own on a core: POWER has 8 in all."""
SHARED = tuple(f"shared_{others}" for others in range(MAX_OTHERS + 1))


class Cores(Struct, frozen=True):
    """What the record has of the host's CPUs, by CPU: ``siblings`` (itself included), ``core`` and ``node``."""

    siblings: Mapping[int, tuple[int, ...]]
    core: Mapping[int, int]
    node: Mapping[int, int]

    @property
    def count(self) -> int:
        return len(set(self.siblings.values()))


class Evidence(Struct, frozen=True):
    """What sessions met, in seconds, one row each; NaN where the host did not count it.

    ``known``: it was watched; else its row has zeros. ``watched_s`` of its span it was watched, in ``polls``;
    ``shared_queue_s`` it was runnable on a CPU where another
    session was runnable too; ``others_cpu_s`` and ``foreign_cpu_s`` are what sessions and other processes
    ran on its CPU meanwhile. Of its CPU time, ``shared_s[:, k]`` passed with k other threads of its core busy
    with sessions (k = 0: alone), ``sibling_foreign_s`` with another process there; ``sibling_most_s`` is the most
    that sharing can have cost, ``others_busy`` the mean number of other cores in use. ``steal_s`` and
    ``irq_s`` are its part of its CPU's. ``shared_idle_s``: of the shared CPU time, how long a whole allowed
    core was idle; ``queue_idle_s``: of the time it waited, how long an allowed CPU was. ``remote_s``: CPU time
    on nodes where it may have no memory, NaN when it may have it anywhere. ``mhz``: mean frequency of its
    CPUs, which are ``cpus``, the longest first. ``stopped_s`` and ``asleep_s`` come from its state.
    """

    known: Mask
    watched_s: Floats
    polls: Floats
    cpus: tuple[tuple[int, ...], ...]
    shared_queue_s: Floats
    others_cpu_s: Floats
    foreign_cpu_s: Floats
    shared_s: Floats
    sibling_most_s: Floats
    sibling_foreign_s: Floats
    others_busy: Floats
    steal_s: Floats
    irq_s: Floats
    shared_idle_s: Floats
    queue_idle_s: Floats
    remote_s: Floats
    mhz: Floats
    stopped_s: Floats
    asleep_s: Floats

    @classmethod
    def joined(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """The rows of all of them."""
        columns = {name: [getattr(part, name) for part in parts] for name in cls.__struct_fields__}
        cpus = tuple(chain.from_iterable(columns.pop("cpus")))
        return cls(cpus=cpus, **{name: np.concatenate(values) for name, values in columns.items()})

    @property
    def sibling_s(self) -> Floats:
        """CPU time while at least one other thread of its core ran a session."""
        return np.asarray(self.shared_s[:, 1:].sum(axis=1))


class Placement:
    """The residency and the CPU timelines of rounds, ready to be asked."""

    def __init__(self, rounds: Sequence[WatchedRound], cores: Cores) -> None:
        self.joined = joined = JoinedRounds(rounds)
        self.cores, self.siblings = cores, cores.siblings
        self._several_threads = any(len(each) > 1 for each in cores.siblings.values())
        every = joined.stretches
        # CPU time of the stretch before the first runnable poll was run, too: it belongs to no other process.
        counted = every.where(~np.isnan(every.cpu_s))
        self._ran = spread_by(counted.cpu, counted.from_s, counted.to_s, counted.cpu_s)
        self.occupancy = Occupancy(every.where(every.runnable), cores.siblings, self._foreign_intervals())
        nodes = set(cores.node.values())
        own = [*map(attrgetter("memory_nodes"), joined.sessions)]
        is_bound = {each: bool(each) and not nodes.issubset(each) for each in frozenset(own)}
        self._bound = [*map(is_bound.__getitem__, own)]

    def evidence(self) -> Evidence:
        """A row for each session of the rounds, within its span."""
        rows = self.joined.stretches.clipped(self.joined.spans)
        ran = rows.where(rows.runnable)
        lasted = {
            "watched_s": rows.length_s,
            "stopped_s": rows.length_s * (rows.kind == STOPPED),
            "asleep_s": rows.length_s * (rows.kind == ASLEEP),
        }
        count = len(self.joined.sessions)
        total: dict[str, npt.NDArray[Any]] = {
            name: np.bincount(ran.session, values, count) for name, values in self._met(ran).items()
        }
        total |= {name: np.bincount(rows.session, values, count) for name, values in lasted.items()}
        # A session that changes threads between two polls is on both for a moment: then its own time looks like that
        # of others on its sibling, and is missing on its CPU. Over both threads that is nothing.
        total["sibling_foreign_s"] = np.clip(total["sibling_foreign_s"], 0.0, np.maximum(0.0, total["core_foreign_s"]))
        return self._evidence(total, _cpus(ran, count))

    def _evidence(self, total: Mapping[str, npt.NDArray[Any]], cpus: tuple[tuple[int, ...], ...]) -> Evidence:
        """By session, from what all its stretches met."""
        joined = self.joined
        known = joined.spans.known & np.array([bool(each.residency) for each in joined.sessions], dtype=np.bool_)
        none = np.zeros(known.size)

        def of(name: str, counted: Mask | None = None) -> Floats:
            found = total.get(name)
            seen = none if found is None else np.where(known & (found > 0), found, 0.0)
            return seen if counted is None else np.where(counted, seen, np.nan)

        own_s, cycles = of("own_s"), of("cycles")
        cpu_known, watched_cpus = joined.counted[joined.round_at], joined.has_timeline[joined.round_at]
        idle_known = watched_cpus & cpu_known
        foreign_known = joined.has_processes[joined.round_at] | idle_known
        return Evidence(
            known=known,
            watched_s=of("watched_s"),
            polls=of("watched_s") * joined.hz,
            cpus=cpus,
            shared_queue_s=of("shared_queue_s"),
            others_cpu_s=of("others_cpu_s", cpu_known),
            foreign_cpu_s=of("foreign_cpu_s", foreign_known),
            shared_s=np.stack([of(name) for name in SHARED], axis=1),
            sibling_most_s=of("sibling_most_s"),
            sibling_foreign_s=of("sibling_foreign_s"),
            others_busy=np.divide(of("others_busy_s"), own_s, out=np.zeros_like(own_s), where=own_s > 0),
            steal_s=of("steal_s", watched_cpus),
            irq_s=of("irq_s"),
            # A CPU without a session need not be idle.
            shared_idle_s=of("shared_idle_s", idle_known),
            queue_idle_s=of("queue_idle_s", idle_known),
            remote_s=np.where(self._bound, of("remote_s"), np.nan),
            mhz=np.divide(cycles, own_s, out=np.full_like(own_s, np.nan), where=(cycles > 0) & (own_s > 0)),
            stopped_s=of("stopped_s"),
            asleep_s=of("asleep_s"),
        )

    def _met(self, part: ResidencyStretches) -> dict[str, Floats]:
        """What these runnable stretches met, each on its CPU."""
        on, own_s, length_s = (part.cpu, part.from_s, part.to_s), or_zero(part.cpu_s), part.length_s
        ran_s, irq_s = self._ran.between(*on), self.joined.irq.between(*on)
        foreign_s = self._foreign_s(*on, self.joined.round_at[part.session], ran_s, irq_s)
        # A stolen or interrupted moment hits whoever is running: in proportion to CPU time.
        all_s = ran_s + np.maximum(0.0, foreign_s)
        mine = np.divide(own_s, all_s, out=np.ones_like(own_s), where=(all_s > 0) & (own_s > 0))
        running = np.divide(own_s, length_s, out=np.ones_like(own_s), where=(length_s > 0) & (own_s > 0))
        waited_s = np.maximum(0.0, length_s - own_s) * (own_s > 0)
        beside_s = self._beside_s(part)
        met = {
            "own_s": length_s * running,
            "others_cpu_s": np.maximum(0.0, ran_s - own_s),
            "foreign_cpu_s": foreign_s,
            "sibling_foreign_s": np.clip(beside_s, 0.0, length_s) * running,
            "core_foreign_s": foreign_s + beside_s,
            "steal_s": self.joined.steal.between(*on) * mine,
            "irq_s": irq_s * mine,
            "cycles": self.joined.cycles.between(*on) * running,
            "remote_s": length_s * running * self._is_remote(part),
        }
        if part.cpu.size:
            met |= self._met_together(part, running, waited_s)
        return met

    def _beside_s(self, part: ResidencyStretches) -> Floats:
        """CPU time of processes that are no sessions on the other threads of each stretch's core."""
        if not self._several_threads:
            return np.zeros(part.cpu.size)
        cpus, at = np.unique(part.cpu, return_inverse=True)
        near = [[each for each in self.siblings.get(cpu, ()) if each != cpu] for cpu in cpus.tolist()]
        found_s = np.zeros(part.cpu.size)
        for nth in range(max(map(len, near), default=0)):
            siblings = np.array([each[nth] if nth < len(each) else NO_CPU for each in near])
            found_s += self._foreign_s(siblings[at], part.from_s, part.to_s, self.joined.round_at[part.session])
        return found_s

    def _met_together(self, part: ResidencyStretches, running: Floats, waited_s: Floats) -> dict[str, Floats]:
        """Overlaps with other sessions: on the same CPU, on its siblings, and while other CPUs stood idle."""
        at, during = self.occupancy, self.occupancy.during(part)
        ran = RunTime(during, self._within_quota(), running)
        none_beside = np.zeros(0, dtype=np.int32)
        queued, others = at.queue >= 2, none_beside if at.is_single else np.minimum(at.others, MAX_OTHERS)
        queued_s, most = during.of(queued), int(others.max(initial=0))
        crowded, contended_s = queued, queued_s
        if at.foreign.any():
            crowded = at.queued >= 2
            contended_s = during.of(crowded)
        met = {
            "shared_queue_s": queued_s,
            "sibling_most_s": ran.of(others / (others + 1)) if most else np.zeros_like(running),
            "others_busy_s": ran.of(at.busy_cores - 1),
            "shared_idle_s": np.zeros_like(running),
            "queue_idle_s": np.zeros_like(running),
        }
        for count in range(most + 1):
            met[f"shared_{count}"] = ran.of(others == count if most else np.ones(at.times.size - 1))
        kinds, of_session = self.joined.allowed
        kind = of_session[part.session]
        for number in np.flatnonzero(np.bincount(kind)).tolist():
            allowed = kinds[number]
            idle = self.occupancy.idle(allowed)
            own = kind == number
            if most:
                met["shared_idle_s"] += ran.of((others > 0) & (idle.cores > 0)) * own
            beside_idle_cpu_s = during.of(crowded & (idle.cpus > 0))
            share = np.divide(beside_idle_cpu_s, contended_s, out=np.zeros_like(running), where=contended_s > 0)
            met["queue_idle_s"] += waited_s * share * own
        return met

    def _within_quota(self) -> Floats | None:
        """(cuts): share of the time that a quota leaves to each session; None where nothing was throttled.

        All busy CPUs use it up together: sessions run for a longer part of each period once others have ended.
        Source: Documentation/scheduler/sched-bwc.rst
        """
        joined, at = self.joined, self.occupancy
        if not at.known or not np.isfinite(joined.quota_cpus).any():
            return None
        begins_s = np.full(joined.quota_cpus.size, np.inf)
        np.minimum.at(begins_s, joined.round_at[joined.stretches.session], joined.stretches.from_s)
        some = np.flatnonzero(np.isfinite(begins_s))
        quota = joined.quota_cpus[some[begins_s[some].searchsorted(at.times[:-1], side="right") - 1]]
        return np.asarray(np.minimum(1.0, quota / np.maximum(1, at.busy.sum(axis=0))))

    def _is_remote(self, part: ResidencyStretches) -> Floats:
        if not any(self._bound):
            return np.zeros(part.cpu.size)
        away = [
            self._bound[session] and self.cores.node.get(cpu, -1) not in self.joined.sessions[session].memory_nodes
            for session, cpu in zip(part.session.tolist(), part.cpu.tolist(), strict=True)
        ]
        return np.array(away, dtype=np.float64)

    def _foreign_s(
        self, cpus: Keys, from_s: Floats, to_s: Floats, round_at: Keys,
        ran_s: Floats | None = None, irq_s: Floats | None = None,
    ) -> Floats:  # fmt: skip
        """CPU time of processes that are no sessions: what each CPU was busy beyond the sessions' own.

        ``ran_s`` and ``irq_s``: what sessions ran there, and interrupts took, where that is known already.
        """
        on, joined = (cpus, from_s, to_s), self.joined
        ran_s = self._ran.between(*on) if ran_s is None else ran_s
        irq_s = joined.irq.between(*on) if irq_s is None else irq_s
        excess_s = joined.busy.between(*on) - ran_s - joined.witness.between(*on)
        # Kernels that account interrupts apart leave them out of the sessions' run time: they are no process.
        beside_s = excess_s - np.minimum(irq_s, np.maximum(0.0, excess_s))
        found_s = np.where(joined.counted[round_at], beside_s, 0.0)
        if joined.has_processes.any():
            found_s = np.where(joined.has_processes[round_at], joined.processes.between(*on), found_s)
        return found_s

    def _foreign_intervals(self) -> dict[int, list[tuple[float, float]]]:
        """By CPU: the slices of the timelines in which other processes kept it from being idle."""
        joined = self.joined
        every = joined.slices(joined.rows())
        foreign_s = self._foreign_s(every.cpu, every.from_s, every.to_s, every.round_at)
        return every.by_cpu(joined.counted[every.round_at] & (foreign_s >= FOREIGN_BUSY * every.length_s))


class RunTime(Struct, frozen=True):
    """Integrals over the CPU time of stretches, which is spread over each as the ``rates`` of the cuts say, or evenly.

    ``running``: CPU time over length.
    """

    during: During
    rates: Floats | None
    running: Floats

    def of(self, worth: npt.NDArray[Any]) -> Floats:
        """Seconds, for each stretch; ``worth``: as of ``During``."""
        if self.rates is None:
            return self.during.of(worth) * self.running
        whole_s, ran_s = self.during.of(np.ones_like(self.rates)), self.during.of(self.rates)
        even_s = np.divide(whole_s, ran_s, out=np.ones_like(ran_s), where=ran_s > 0)
        return self.during.of(worth * self.rates) * even_s * self.running


def _cpus(ran: ResidencyStretches, count: int) -> tuple[tuple[int, ...], ...]:
    """By session: the CPUs that it was runnable on, longest first."""
    if not ran.cpu.size:
        return ((),) * count
    width = int(ran.cpu.max()) + 1
    every_s = np.bincount(ran.session * width + ran.cpu, ran.length_s)
    places = np.flatnonzero(every_s > 0)
    lasted_s, (session, cpu) = every_s[places], np.divmod(places, width)
    order = order_by(session, -lasted_s)  # of equally long ones the CPUs rise
    ends, cpus = np.searchsorted(session[order], np.arange(count + 1)).tolist(), cpu[order].tolist()
    return tuple(tuple(cpus[first:last]) for first, last in pairwise(ends))
