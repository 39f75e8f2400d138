"""The virtual clock: advances all sessions from event to event and keeps every integral on the way."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbcpu.errors import UsageError
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.jobs import SharedJobs
from dbcpu.simulator.pace import CpuPaces
from dbcpu.simulator.scheduler import Scheduler
from dbcpu.simulator.trace import Floats, Losses, Trace

STEAL_CHANGES_S = 0.25
NEIGHBOUR_CYCLE_S = 0.5
MAX_LOST = 0.95
"""Share of a CPU that steal and interrupts together can take."""
_TINY_S = 1e-10
MAX_EVENTS = 100_000
"""About a minute of computing; a usual round has some hundreds."""


class _Rates(Struct, frozen=True):
    """Per second, until the next event. Shapes as in Trace.

    ``run_sum`` is that of ``run``; ``pace`` is ``work`` of the sessions ``working``, which get on at all.
    """

    run: Floats
    run_sum: float
    working: NDArray[np.intp]
    pace: Floats
    delay: Floats
    lost: Floats
    work: Floats
    busy: Floats
    steal: Floats
    irq: Floats
    foreign: float
    speed: float
    piece: Floats
    throttled_cpus: int
    truth: Losses


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
        self.foreign = np.zeros(len(host.online), dtype=np.intp)
        self.steal = np.zeros(len(host.online))
        self.pool_s = 0.0
        self.throttled = False
        self.periods = self.throttled_periods = 0
        self.throttled_s = 0.0
        self._with_truth = True
        self._known: tuple[tuple[object, ...], _Rates] | None = None
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
        return self.host.wait_s * (1 - waits) / waits * float(self.rng.uniform(0.5, 1.5)) if waits else float("inf")

    @property
    def runnable(self) -> NDArray[np.bool_]:
        return self.alive & ~self.asleep if self._may_sleep else self.alive.copy()

    def run(self, *, with_truth: bool = True) -> Trace:
        """Run until no session has work left; without the truth it takes a third less time."""
        self._with_truth = with_truth
        scheduler = self.scheduler
        scheduler.place()
        at = self.host.memory_node
        self.home = self.host.node_of[scheduler.cpu] if at is None else np.full(len(self.alive), at)
        times, placed, runnable = [0.0], [], []
        passed: list[_Rates] = []
        steps_s: list[float] = []
        self._due()
        while self.alive.any():
            rates = self._rates()
            step = self._step(rates)
            passed.append(rates)
            steps_s.append(step)
            placed.append(scheduler.cpu.copy())
            runnable.append(self.runnable)
            self.now += step
            self.left -= rates.work * step
            if self._may_sleep:
                self.burst -= rates.work * step
            self.pool_s -= rates.run_sum * step
            self.throttled_s += rates.throttled_cpus * step
            times.append(self.now)
            self._finish()
            self._due()
            if len(times) > MAX_EVENTS:
                raise UsageError(
                    f"a round on {self.host.name} takes more than {MAX_EVENTS} events; give fewer sessions, a smaller "
                    "size or a larger quota"
                )
        sums = partial(_sums, np.array(steps_s))
        return Trace(
            times_s=np.array(times),
            cpu=np.array(placed),
            runnable=np.array(runnable),
            run_s=sums([each.run for each in passed]),
            delay_s=sums([each.delay for each in passed]),
            lost_s=sums([each.lost for each in passed]),
            work_s=sums([each.work for each in passed]),
            busy_s=sums([each.busy for each in passed]),
            steal_s=sums([each.steal for each in passed]),
            irq_s=sums([each.irq for each in passed]),
            foreign_s=sums([each.foreign for each in passed]),
            speed_s=sums([each.speed for each in passed]),
            piece=np.array([each.piece for each in passed]),
            executions=tuple(tuple(each) for each in self.done),
            moves=scheduler.moves,
            sleeps=self.sleeps,
            periods=self.periods,
            throttled_periods=self.throttled_periods,
            throttled_s=self.throttled_s,
            truth=_losses(passed, steps_s),
            blocked=tuple(tuple(each) for each in self.blocked),
        )

    def _take_job(self, session: int) -> None:
        """The next of the jobs that are shared, when it is there; without one the session has ended."""
        waits, from_s = (self._jobs.take(self.now) if self._jobs else None) or (None, self.now)
        self.began[session], self.alive[session], self.blocking[session] = from_s, waits is not None, bool(waits)
        self.left[session] = self._amount() if waits is False else 0.0 if waits is None else float("inf")
        self.asleep[session] = bool(waits) or from_s > self.now
        self.wakes[session] = from_s + self.block_s * bool(waits) if self.asleep[session] else float("inf")

    def _amount(self) -> float:
        return self.work_s * max(0.1, 1 + self.host.noise * float(self.rng.standard_normal()))

    def _rates(self) -> _Rates:
        """Most events change nothing: then the rates are those before."""
        arrays = (self.scheduler.cpu, self.runnable, self.asleep, self.foreign, self.steal, self.paces.slow)
        state: tuple[object, ...] = (self.throttled, *(each.tobytes() for each in arrays))
        if self._known is None or self._known[0] != state:
            self._known = (state, self._new_rates())
        return self._known[1]

    def _new_rates(self) -> _Rates:
        host, cpu, alive = self.host, self.scheduler.cpu, self.runnable
        sessions = np.bincount(cpu[alive], minlength=len(self.foreign))
        queue = self.foreign if self.throttled else sessions + self.foreign
        busy = queue > 0
        lost_by_irq = np.zeros(len(busy))
        lost_by_irq[0] = host.irq
        irq = lost_by_irq * busy
        overbooked = busy.sum() > host.steal_above
        steal = np.minimum(self.steal, MAX_LOST - irq) * busy * overbooked
        usable = 1 - steal - irq
        share = np.zeros(len(alive)) if self.throttled else alive / np.maximum(queue[cpu], 1)
        on_core = np.bincount(host.core_of[busy], minlength=host.all_cores)
        turbo = float(host.turbo[int((on_core > 0).sum())])
        together = 1 - host.all_slow if busy.sum() > 1 else 1.0
        near = 1 / host.nodes if host.interleaved else host.node_of[cpu] == self.home
        remote = 1 - host.remote_slowdown * (1 - near) * np.ones(len(cpu))
        run = share * usable[cpu]
        threads = host.thread_speed[on_core[host.core_of]][cpu]
        foreign_part = self._foreign_part(sessions, on_core)
        toggled = np.asarray(self.paces.times**-host.pace_exponent)
        factors = {
            "shared_core": threads ** (1 - foreign_part),
            "competitor": threads**foreign_part,
            "frequency": np.full(len(alive), turbo),
            "slower_cpu": together * host.core_speed[host.core_of[cpu]],
            "pace": toggled[cpu],
            "remote_memory": remote,
        }
        speed = np.prod(np.array(list(factors.values())), axis=0)
        off_cpu = self._off_cpu(share, (steal + irq)[cpu], steal[cpu], queue[cpu]) if self._with_truth else {}
        foreign = np.divide(self.foreign, queue, out=np.zeros(len(queue)), where=busy) * usable
        work = run * speed
        (working,) = (work > 0).nonzero()
        return _Rates(
            run=run,
            run_sum=float(run.sum()),
            working=working,
            pace=work[working],
            delay=alive - share,
            lost=share - run,
            work=work,
            busy=busy * usable,
            steal=steal,
            irq=irq,
            foreign=float(foreign.sum()),
            speed=turbo,
            piece=self._piece(busy, on_core, turbo * together, toggled),
            throttled_cpus=int((sessions > 0).sum()) if self.throttled else 0,
            truth=self._slower(run, speed, factors, off_cpu) if self._with_truth else {},
        )

    def _foreign_part(self, sessions: NDArray[np.intp], on_core: NDArray[np.intp]) -> Floats | float:
        """Of each session: how much of what its core's other threads do is by processes that are no sessions."""
        if not self.foreign.any():
            return 0.0
        host = self.host
        by_sessions = np.bincount(host.core_of[sessions > 0], minlength=host.all_cores)
        part = (on_core - np.maximum(by_sessions, 1)) / np.maximum(on_core - 1, 1)
        return np.asarray(part[host.core_of][self.scheduler.cpu].clip(0, 1))

    def _piece(self, busy: NDArray[np.bool_], on_core: NDArray[np.intp], speed: float, toggled: Floats) -> Floats:
        """How many times longer than at full speed a piece of a witness takes on each CPU.

        ``toggled``: speed of each CPU by the stranger on its core, for a session.
        """
        host = self.host
        threads = on_core[host.core_of] + ~busy
        whole = host.thread_speed[threads] * host.core_speed[host.core_of] * speed
        return np.asarray((whole * toggled) ** (-1 / host.pace_exponent))

    @staticmethod
    def _slower(
        run: Floats, speed: Floats, factors: Mapping[str, Floats], off_cpu: Mapping[str, Floats]
    ) -> dict[str, Floats]:
        """CPU time without progress, divided by the logarithms of the factors that slow it down, and ``off_cpu``."""
        logs = -np.log(np.array(list(factors.values())))
        every = logs.sum(axis=0)
        lost = run * (1 - speed) * logs
        slower = dict(zip(factors, np.divide(lost, every, out=np.zeros_like(lost), where=every > 0), strict=True))
        none = np.zeros_like(run)
        return {cause: slower.get(cause, none) + off_cpu.get(cause, none) for cause in {**slower, **off_cpu}}

    def _off_cpu(self, share: Floats, lost: Floats, stolen: Floats, queue: NDArray[np.intp]) -> dict[str, Floats]:
        """Time without CPU: stolen, interrupted, throttled, or waiting behind sessions and other processes."""
        waiting = self.runnable - share
        sleeps = self.host.waits or self._jobs is not None
        asleep = {"sleep": (self.alive & self.asleep).astype(float)} if sleeps else {}
        if self.throttled:
            return {"throttled": waiting, **asleep}
        behind = np.divide(self.foreign[self.scheduler.cpu], queue - 1, out=np.zeros(len(queue)), where=queue > 1)
        return {
            "steal": share * stolen,
            "irq": share * (lost - stolen),
            "competitor": waiting * behind,
            "run_queue": waiting * (1 - behind),
            **asleep,
        }

    def _step(self, rates: _Rates) -> float:
        work = np.minimum(self.left, self.burst) if self._may_sleep else self.left
        first_end = float((work[rates.working] / rates.pace).min()) if rates.working.size else float("inf")
        events = (self.next_balance, self.next_steal, self.next_neighbour, self.next_period, self.paces.first_s)
        until = min(*events, float(self.wakes.min()) if self._may_sleep else float("inf")) - self.now
        used = rates.run_sum
        empty = self.pool_s / used if self.host.quota_cpus is not None and used > 0 else float("inf")
        return max(0.0, min(first_end, until, empty))

    def _finish(self) -> None:
        """Executions whose work is done end; the next one of the session begins at once, if there is one."""
        tiny = _TINY_S * max(1.0, self.work_s)
        (ended,) = (self.alive & (self.left <= tiny)).nonzero()
        for session in ended:
            self.done[session].append((float(self.began[session]), self.now))
            self.began[session] = self.now
            if self._jobs is not None:
                self._jobs.ended(self.now)
                self._take_job(int(session))
                continue
            more = self.now < self.for_s if self.for_s is not None else len(self.done[session]) < (self.executions or 1)
            self.left[session] = self._amount() if more else 0.0
            self.alive[session] = more
        if not self._may_sleep:
            if ended.size and not self.alive[ended].all():
                self.scheduler.settle(self.runnable, self.foreign)
            return
        tired = self.runnable & (self.burst <= tiny)
        self.asleep |= tired
        self.sleeps += tired
        self.wakes[tired] = self.now + self.host.wait_s
        self.wakes[~self.alive] = float("inf")
        if (ended.size and not self.runnable[ended].all()) or tired.any():
            self.scheduler.settle(self.runnable, self.foreign)

    def _due(self) -> None:
        """Everything else whose time has come."""
        host, due = self.host, self.now + _TINY_S
        self.paces.turn(due)
        if self.next_steal <= due:
            mean, spread = host.steal, 4.0
            self.steal = self.rng.beta(mean * spread, (1 - mean) * spread, len(self.steal))
            self.next_steal += STEAL_CHANGES_S
        for woken in (self.wakes <= due).nonzero()[0] if self._may_sleep else ():
            self.asleep[woken], self.wakes[woken], self.burst[woken] = False, float("inf"), self._burst()
            if self.blocking[woken] and self._jobs is not None:
                self.blocked[woken].append((float(self.began[woken]), self.now))
                self._jobs.ended(self.now)
                self._take_job(int(woken))
            self.scheduler.settle(self.runnable, self.foreign)
        if self.next_neighbour <= due:
            wants = not self.foreign[host.noisy_cpu]
            self.foreign[host.noisy_cpu] = int(wants)
            part = host.noisy_neighbour if wants else 1 - host.noisy_neighbour
            self.next_neighbour = self.now + max(0.001, NEIGHBOUR_CYCLE_S * part)
            self.scheduler.settle(self.runnable, self.foreign)
        if self.next_balance <= due:
            self.scheduler.balance(self.runnable, self.foreign, self.left)
            self.next_balance += host.rebalance_s
        if host.quota_cpus is None:
            return
        if self.next_period <= due:
            self.pool_s, self.throttled = host.quota_cpus * host.quota_period_s, False
            self.next_period += host.quota_period_s
            self.periods += 1
        elif self.pool_s <= _TINY_S and not self.throttled:
            self.throttled = True
            self.throttled_periods += 1


def _sums(steps_s: Floats, rates: Sequence[Floats] | Sequence[float]) -> Floats:
    """What was gained until each event, from 0; ``rates``: per second before each."""
    gained = (np.asarray(rates, dtype=np.float64).T * steps_s).T
    return np.cumsum(np.concatenate([np.zeros_like(gained[:1]), gained]), axis=0)


def _losses(passed: Sequence[_Rates], steps_s: Sequence[float]) -> Losses:
    total_s: dict[str, Floats] = {}
    for rates, step_s in zip(passed, steps_s, strict=True):
        for cause, rate in rates.truth.items():
            total_s[cause] = total_s.get(cause, np.zeros(rate.size)) + rate * step_s
    return total_s
