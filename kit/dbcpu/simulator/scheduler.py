"""Where sessions run: initial placement and balancing, as far as the kernel knows the cores."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbcpu.simulator.host import SimulatedHost

Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]


class HeldGroup(Struct, frozen=True):
    """Sessions that may use the same CPUs: flags by session, and by CPU."""

    members: Flags
    usable: Flags


class Scheduler:
    """Keeps ``cpu`` (session -> CPU) and ``moves`` (session -> migrations). All arrays are per session or CPU.

    ``alive`` marks sessions that are runnable, ``foreign`` counts other processes that are, by CPU. ``held``: CPUs of
    each session, where they differ among them.
    """

    def __init__(
        self, host: SimulatedHost, sessions: int, rng: np.random.Generator, held: Sequence[tuple[int, ...]] = ()
    ) -> None:
        self.host = host
        self.rng = rng
        self.cores = host.known_core_of
        self._shows_siblings = len(set(self.cores.tolist())) < len(self.cores)
        self.cpu: Ints = np.zeros(sessions, dtype=np.intp)
        self.moves: Ints = np.zeros(sessions, dtype=np.intp)
        every = np.ones(sessions, dtype=np.bool_)
        sets = {cpus: [each == cpus for each in held] for cpus in held}
        self.groups = [
            HeldGroup(np.array(members), np.isin(np.arange(len(host.online)), cpus)) for cpus, members in sets.items()
        ] or [HeldGroup(every, host.is_usable)]

    def place(self) -> None:
        """Spread all sessions, one after the other: an idle core first, then an idle CPU, then the shortest queue.

        Among equals the faster core, then the emptier memory node, then chance. Source: select_idle_core and
        find_idlest_group in kernel/sched/fair.c
        """
        host, count = self.host, len(self.host.online)
        chance = self.rng.random(count)
        # Whole numbers, whose sums are exact: 1e9 for each in the queue, 1e5 on the core, 1 on the node.
        crowd = 1e4 * (host.core_speed[host.core_of] < 1)
        out = np.zeros((len(self.cpu), count))
        for each in self.groups:
            out[np.ix_(each.members, ~each.usable)] = np.inf
        for session in self.rng.permutation(len(self.cpu)):
            chosen = int(np.argmin(crowd + chance + out[session]))
            self.cpu[session] = chosen
            crowd += 1e5 * (self.cores == self.cores[chosen]) + (host.node_of == host.node_of[chosen])
            crowd[chosen] += 1e9

    def settle(self, alive: Flags, foreign: Ints) -> None:
        """What happens at once when a CPU falls idle, or a queue grows beside an idle CPU."""
        if self.host.scheduler == "frozen":
            return
        for each in self.groups:
            while self._pull_to_idle_cpu(alive, foreign, each):
                pass
            if self.host.scheduler == "smt_balancing" and self._shows_siblings:
                while self._pull_to_idle_core(alive, foreign, each):
                    pass

    def balance(self, alive: Flags, foreign: Ints, left: NDArray[np.float64]) -> bool:
        """The periodic balancing. ``left``: work that each session still has to do.

        Whether there is something to balance; without, there is none the next time, either, unless something changes.
        """
        if self.host.scheduler == "frozen":
            return False
        uneven = False
        for each in self.groups:
            uneven |= self._rotate_queues(alive, foreign, each)
            if self.host.scheduler == "rotating":
                self._swap_shared_with_lone(alive, foreign, left, each)
        return uneven or self.host.scheduler == "rotating"

    def _queues(self, alive: Flags, foreign: Ints) -> Ints:
        return np.bincount(self.cpu[alive], minlength=len(foreign)) + foreign

    def _move(self, session: int, cpu: int) -> None:
        self.cpu[session] = cpu
        self.moves[session] += 1

    def _any_on(self, cpu: int, alive: Flags, group: HeldGroup) -> int:
        return self._one_of(alive & group.members & (self.cpu == cpu))

    def _one_of(self, marked: Flags) -> int:
        """By chance; what ``rng.choice`` would draw, which does more before it."""
        (found,) = marked.nonzero()
        return int(found[self.rng.integers(found.size)])

    def _has_own(self, alive: Flags, group: HeldGroup, cpus: int) -> Flags:
        """CPUs on which a session of the group is ready to run."""
        return np.bincount(self.cpu[alive & group.members], minlength=cpus) > 0

    def _pull_to_idle_cpu(self, alive: Flags, foreign: Ints, group: HeldGroup) -> bool:
        queue = self._queues(alive, foreign)
        lengths = queue.tolist()
        if max(lengths) < 2 or 0 not in lengths:
            return False
        crowded = np.where(self._has_own(alive, group, len(queue)), queue, 0)
        idle = (queue == 0) & group.usable
        most = np.maximum.reduce(crowded)
        if most < 2 or not np.logical_or.reduce(idle):
            return False
        source = self._one_of(crowded == most)
        on_core = np.bincount(self.cores, weights=queue)[self.cores]
        self._move(self._any_on(source, alive, group), int(np.argmin(np.where(idle, on_core, np.inf))))
        return True

    def _pull_to_idle_core(self, alive: Flags, foreign: Ints, group: HeldGroup) -> bool:
        queue = self._queues(alive, foreign)
        busy_threads = np.bincount(self.cores, weights=queue > 0)[self.cores]
        idle = np.flatnonzero((busy_threads == 0) & group.usable)
        if not idle.size:
            return False
        shared = np.flatnonzero((busy_threads >= 2) & self._has_own(alive, group, len(queue)))
        if not shared.size:
            return False
        crowded = shared[busy_threads[shared] == busy_threads[shared].max()]
        self._move(self._any_on(int(self.rng.choice(crowded)), alive, group), int(idle[0]))
        return True

    def _rotate_queues(self, alive: Flags, foreign: Ints, group: HeldGroup) -> bool:
        """Queues differ: each of the longest hands one session to one of the shortest."""
        queue, usable = self._queues(alive, foreign), group.usable
        lengths = queue[usable].tolist()
        most, least = max(lengths), min(lengths)
        if most < 2 or most == least:
            return False
        own = self._has_own(alive, group, len(queue))
        sources = self.rng.permutation(np.flatnonzero(usable & (queue == most) & own))
        targets = self.rng.permutation(np.flatnonzero(usable & (queue == least)))
        for source, target in zip(sources, targets, strict=False):
            self._move(self._any_on(int(source), alive, group), int(target))
        return True

    def _swap_shared_with_lone(self, alive: Flags, foreign: Ints, left: NDArray[np.float64], group: HeldGroup) -> None:
        """Those on shared cores with most work left change places with lone ones that have least left."""
        queue = self._queues(alive, foreign)
        shared_cpu = np.bincount(self.cores, weights=queue > 0)[self.cores] >= 2
        own = alive & group.members
        behind = sorted(np.flatnonzero(own & shared_cpu[self.cpu]), key=lambda session: -left[session])
        ahead = sorted(np.flatnonzero(own & ~shared_cpu[self.cpu]), key=lambda session: left[session])
        for slow, fast in zip(behind, ahead, strict=False):
            if left[slow] <= left[fast]:
                break
            slow_cpu, fast_cpu = int(self.cpu[slow]), int(self.cpu[fast])
            self._move(int(slow), fast_cpu)
            self._move(int(fast), slow_cpu)
