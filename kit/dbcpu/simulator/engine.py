"""The virtual clock: advances all sessions from event to event; what they gained on the way is reckoned afterwards."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbcpu.errors import UsageError
from dbcpu.simulator.gains import Gains
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.jobs import SharedJobs
from dbcpu.simulator.pace import CpuPaces
from dbcpu.simulator.rates import Moment, Rates, Reckoning
from dbcpu.simulator.scheduler import Scheduler
from dbcpu.simulator.trace import ClockTrace, Floats

STEAL_CHANGES_S = 0.25
NEIGHBOUR_CYCLE_S = 0.5
_TINY_S = 1e-10
MAX_EVENTS = 100_000
"""About a minute of computing; a usual round has some hundreds."""


class Clockwork:
    """One round on ``host``: ``sessions`` sessions of which each execution is ``work_s`` seconds alone.

    Fixed work when ``executions`` is given; else new ones begin until ``for_s``. With ``jobs`` all share these:
    each is an execution, or waits ``block_s``. ``held``: the CPUs of each session, where they differ.
    """

    def __init__(
        self,
        host: SimulatedHost,
        sessions: int,
        work_s: float,
        rng: np.random.Generator,
        executions: int | None = 1,
        for_s: float | None = None,
        jobs: SharedJobs | None = None,
        block_s: float = 0.0,
        held: Sequence[tuple[int, ...]] = (),
    ) -> None:
        self.host, self.rng, self.work_s = host, rng, work_s
        self.executions, self.for_s = executions, for_s
        self.now = 0.0
        self.scheduler = Scheduler(host, sessions, rng, held)
        self.alive = np.ones(sessions, dtype=np.bool_)
        self.left = np.array([self._amount() for _ in range(sessions)])
        self.asleep = np.zeros(sessions, dtype=np.bool_)
        self.wakes = np.full(sessions, float("inf"))
        self.burst = np.array([self._burst() for _ in range(sessions)])
        self.sleeps = np.zeros(sessions, dtype=np.intp)
        # Where nobody ever waits, all that is about waits is left out: it would be half of an event's time.
        self._may_sleep = bool(host.waits) or jobs is not None
        self.began = np.zeros(sessions)
        self.done: list[list[tuple[float, float]]] = [[] for _ in range(sessions)]
        self.blocked: list[list[tuple[float, float]]] = [[] for _ in range(sessions)]
        self.blocking = np.zeros(sessions, dtype=np.bool_)
        self.block_s = block_s
        self._jobs = jobs
        if jobs is not None:
            for session in range(sessions):
                self._take_job(session)
        self._tiny = _TINY_S * max(1.0, work_s)
        self._look()
        self.foreign = np.zeros(len(host.online), dtype=np.intp)
        self.steal = np.zeros(len(host.online))
        self.pool_s = 0.0
        self.throttled = False
        self.periods = self.throttled_periods = 0
        self.throttled_s = 0.0
        # Whether what decides the rates may have changed since they were reckoned, and whether there is nothing to
        # balance until it does.
        self._changed, self._balanced = True, False
        never = float("inf")
        self.next_balance = host.rebalance_s * rng.uniform(0.5, 1.5)
        self.next_steal = 0.0 if host.steal else never
        self.next_neighbour = NEIGHBOUR_CYCLE_S * rng.random() if host.noisy_neighbour else never
        self.next_period = 0.0 if host.quota_cpus is not None else never
        cpus = len(host.online)
        self.paces = CpuPaces(host, cpus, rng)

    def _burst(self) -> float:
        """Work until the next wait."""
        waits = self.host.waits
        return self.host.wait_s * (1 - waits) / waits * (0.5 + self.rng.random()) if waits else float("inf")

    def _look(self) -> None:
        """Who is ready to run, whether anybody has work left, and who wakes first: after each change of these."""
        self.runnable: NDArray[np.bool_] = self.alive & ~self.asleep if self._may_sleep else self.alive.copy()
        self._goes_on = bool(np.logical_or.reduce(self.alive))
        self._first_wake = float(np.minimum.reduce(self.wakes)) if self._may_sleep else float("inf")

    def run(self, *, with_truth: bool = True) -> ClockTrace:
        """Run until no session has work left."""
        scheduler = self.scheduler
        scheduler.place()
        node = self.host.memory_node
        home = self.host.node_of[scheduler.cpu] if node is None else np.full(len(self.alive), node)
        reckoning = Reckoning(self.host, home)
        times_s, steps_s, passed = [0.0], [], []
        at = 0
        self._due()
        while self._goes_on:
            if self._changed:
                at, self._changed, self._balanced = reckoning.number_of(self._moment()), False, False
            rates = reckoning.found[at]
            until_next = np.minimum(self.left, self.burst) if self._may_sleep else self.left
            step = self._step(rates, until_next)
            passed.append(at)
            steps_s.append(step)
            self.now += step
            done = rates.work * step
            self.left -= done
            if self._may_sleep:
                self.burst -= done
            self.pool_s -= rates.run_sum * step
            self.throttled_s += rates.cpus.throttled_cpus * step
            times_s.append(self.now)
            # Rounded the same way, what is least stays least: nobody else can be through.
            if np.minimum.reduce(until_next - done if self._may_sleep else self.left) <= self._tiny:
                self._finish()
            self._due()
            if len(times_s) > MAX_EVENTS:
                less = "a smaller size" if self.for_s is None else "a shorter time (--for, --soak), a larger size"
                raise UsageError(
                    f"a round on {self.host.name} takes more than {MAX_EVENTS} events; give {less}, fewer sessions or "
                    "a larger quota"
                )
        gains = Gains(reckoning, passed, steps_s)
        return ClockTrace(
            times_s=np.array(times_s),
            executions=tuple(tuple(each) for each in self.done),
            moves=scheduler.moves,
            sleeps=self.sleeps,
            periods=self.periods,
            throttled_periods=self.throttled_periods,
            throttled_s=self.throttled_s,
            truth=gains.truth(may_sleep=self._may_sleep) if with_truth else {},
            blocked=tuple(tuple(each) for each in self.blocked),
            **gains.traced(),
        )

    def _take_job(self, session: int) -> None:
        """The next of the jobs that are shared, when it is there; without one the session has ended."""
        waits, from_s = (self._jobs.take(self.now) if self._jobs else None) or (None, self.now)
        self.began[session], self.alive[session], self.blocking[session] = from_s, waits is not None, bool(waits)
        self.left[session] = self._amount() if waits is False else float("inf")
        self.asleep[session] = bool(waits) or from_s > self.now
        self.wakes[session] = from_s + self.block_s * bool(waits) if self.asleep[session] else float("inf")

    def _amount(self) -> float:
        return self.work_s * max(0.1, 1 + self.host.noise * float(self.rng.standard_normal()))

    def _moment(self) -> Moment:
        cpu, slow = self.scheduler.cpu, self.paces.slow
        return Moment(cpu, self.runnable, self.asleep, self.foreign, self.steal, slow, self.throttled)

    def _step(self, rates: Rates, until_next: Floats) -> float:
        """Seconds to the next event; ``until_next``: work of each session until it ends or waits."""
        first_end = min((until_next[rates.working] / rates.pace).tolist(), default=float("inf"))
        events = (self.next_balance, self.next_steal, self.next_neighbour, self.next_period, self.paces.first_s)
        until = min(*events, self._first_wake) - self.now
        used = rates.run_sum
        empty = self.pool_s / used if self.host.quota_cpus is not None and used > 0 else float("inf")
        return max(0.0, min(first_end, until, empty))

    def _finish(self) -> None:
        """Executions whose work is done end; the next one of the session begins at once, if there is one."""
        tiny, never = self._tiny, float("inf")
        ended = (self.alive & (self.left <= tiny)).nonzero()[0].tolist()
        for session in ended:
            self.done[session].append((float(self.began[session]), self.now))
            self.began[session] = self.now
            if self._jobs is not None:
                self._jobs.ended(self.now)
                self._take_job(session)
                continue
            more = self.now < self.for_s if self.for_s is not None else len(self.done[session]) < (self.executions or 1)
            self.left[session] = self._amount() if more else never
            self.alive[session] = more
        if not self._may_sleep:
            if ended and not all(self.alive[ended].tolist()):
                self._settle()
            return
        (tired,) = (self.alive & ~self.asleep & (self.burst <= tiny)).nonzero()
        if tired.size:
            self.asleep[tired], self.burst[tired] = True, never
            self.sleeps[tired] += 1
            self.wakes[tired] = self.now + self.host.wait_s
        if tired.size or not all((self.alive & ~self.asleep)[ended].tolist()):
            self._settle()

    def _settle(self) -> None:
        self._changed = True
        self._look()
        self.scheduler.settle(self.runnable, self.foreign)

    def _due(self) -> None:
        """Everything else whose time has come."""
        host, due = self.host, self.now + _TINY_S
        if self.paces.first_s <= due:
            self.paces.turn(due)
            self._changed = True
        if self.next_steal <= due:
            self._changed = True
            mean, spread = host.steal, 4.0
            self.steal = self.rng.beta(mean * spread, (1 - mean) * spread, len(self.steal))
            self.next_steal += STEAL_CHANGES_S
        for woken in (self.wakes <= due).nonzero()[0].tolist() if self._first_wake <= due else ():
            self.asleep[woken], self.wakes[woken], self.burst[woken] = False, float("inf"), self._burst()
            if self.blocking[woken] and self._jobs is not None:
                self.blocked[woken].append((float(self.began[woken]), self.now))
                self._jobs.ended(self.now)
                self._take_job(woken)
            self._settle()
        if self.next_neighbour <= due:
            wants = not self.foreign[host.noisy_cpu]
            self.foreign[host.noisy_cpu] = int(wants)
            part = host.noisy_neighbour if wants else 1 - host.noisy_neighbour
            self.next_neighbour = self.now + max(0.001, NEIGHBOUR_CYCLE_S * part)
            self._settle()
        if self.next_balance <= due:
            if not self._balanced:
                self._balanced = not self.scheduler.balance(self.runnable, self.foreign, self.left)
                self._changed |= not self._balanced
            self.next_balance += host.rebalance_s
        if host.quota_cpus is None:
            return
        if self.next_period <= due:
            self.pool_s, self.throttled, self._changed = host.quota_cpus * host.quota_period_s, False, True
            self.next_period += host.quota_period_s
            self.periods += 1
        elif self.pool_s <= _TINY_S and not self.throttled:
            self.throttled = self._changed = True
            self.throttled_periods += 1
