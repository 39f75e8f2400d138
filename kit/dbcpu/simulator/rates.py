"""How fast sessions get on while nothing changes: who runs where decides it."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.trace import Floats

Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
MAX_LOST = 0.95
"""Share of a CPU that steal and interrupts together can take."""
MAX_KNOWN = 1000
"""Moments whose rates are known, in case they come again."""


class Moment(Struct, frozen=True):
    """All that decides how fast sessions get on: ``cpu``, ``runnable`` and ``asleep`` of each session; of each CPU
    other processes that want it (``foreign``), ``steal`` while it is busy, and how ``slow`` it is by itself."""

    cpu: Ints
    runnable: Flags
    asleep: Flags
    foreign: Ints
    steal: Floats
    slow: Floats
    throttled: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal moments."""
        return (
            self.throttled,
            self.cpu.tobytes(),
            self.runnable.tobytes(),
            self.asleep.tobytes(),
            self.foreign.tobytes(),
            self.steal.tobytes(),
            self.slow.tobytes(),
        )

    def kept(self) -> "Moment":
        """As it is now, whatever changes later."""
        return Moment(
            self.cpu.copy(),
            self.runnable,
            self.asleep.copy(),
            self.foreign.copy(),
            self.steal,
            self.slow.copy(),
            self.throttled,
        )


class CpuRates(Struct, frozen=True):
    """What follows from who is ready to run on which CPU, whichever sessions these are.

    Of each CPU: the ``share`` that each session on it has, of which it has ``run``, its ``speed``, its ``queue``, what
    ``steal`` and ``irq`` take and its speed by itself, ``own_pace``; of each core: its threads at work, ``on_core``,
    and the ``foreign_part`` of them. ``turbo`` and ``together`` are factors of all speeds.
    """

    share: Floats
    run: Floats
    speed: Floats
    work: Floats
    queue: Ints
    steal: Floats
    irq: Floats
    own_pace: Floats
    on_core: Ints
    foreign_part: Floats
    turbo: float
    together: float
    throttled_cpus: int


class Rates(Struct, frozen=True):
    """Per second, as long as it stays as in ``moment``: the ``work`` of each session.

    ``run_sum`` is the CPU time of all under a quota; ``pace`` is ``work`` of the sessions ``working``, which get on at
    all.
    """

    moment: Moment
    cpus: CpuRates
    run_sum: float
    work: Floats
    working: Ints | slice
    pace: Floats


class Reckoning:
    """Of sessions on ``host`` whose memory is on the nodes ``home``. ``found``: the rates of all moments so far."""

    def __init__(self, host: SimulatedHost, home: Ints) -> None:
        self.host, self.home = host, home
        self.found: list[Rates] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._known_cpus: dict[tuple[object, ...], CpuRates] = {}
        self._cpus = len(host.online)
        self._none, self._full = np.zeros(self._cpus), np.ones(self._cpus)
        self._no_part = np.zeros(host.all_cores)
        self._own_speed = host.core_speed[host.core_of]

    def number_of(self, moment: Moment) -> int:
        """Which of those found; most events change nothing, and many a moment comes again."""
        key = moment.key
        number = self._known.get(key)
        if number is None:
            if len(self._known) == MAX_KNOWN:
                self._known.clear()
            number = self._known[key] = len(self.found)
            self.found.append(self._rates(moment.kept()))
        return number

    def _rates(self, moment: Moment) -> Rates:
        """Only what the next event depends on: all else is reckoned when the round is over, for all events at once."""
        cpu, runnable = moment.cpu, moment.runnable
        cpus = self._of_cpus(moment)
        if self.host.nodes == 1:
            work = cpus.work[cpu] * runnable
        else:
            work = cpus.run[cpu] * runnable * (cpus.speed[cpu] * self.remote(cpu))
        (working,) = work.nonzero()
        return Rates(
            moment=moment,
            cpus=cpus,
            run_sum=0.0 if self.host.quota_cpus is None else float((cpus.run[cpu] * runnable).sum()),
            work=work,
            working=working if working.size < work.size else slice(None),
            pace=work[working],
        )

    def _of_cpus(self, moment: Moment) -> CpuRates:
        """Sessions change places far more often than queues change."""
        sessions = np.bincount(moment.cpu[moment.runnable], minlength=self._cpus)
        by_cpu = sessions, moment.foreign, moment.steal, moment.slow
        key = (moment.throttled, *(each.tobytes() for each in by_cpu))
        found = self._known_cpus.get(key)
        if found is None:
            if len(self._known_cpus) == MAX_KNOWN:
                self._known_cpus.clear()
            found = self._known_cpus[key] = self._cpu_rates(moment, sessions)
        return found

    def _cpu_rates(self, moment: Moment, sessions: Ints) -> CpuRates:
        host = self.host
        queue = moment.foreign if moment.throttled else sessions + moment.foreign
        busy = queue > 0
        many = int(np.count_nonzero(busy))
        on_core = np.bincount(host.core_of[busy], minlength=host.all_cores)
        share = self._none if moment.throttled else 1 / np.maximum(queue, 1)
        steal, irq = self._taken(moment.steal, busy, many)
        run = share * (1 - steal - irq) if host.steal or host.irq else share
        turbo, together = float(host.turbo[np.count_nonzero(on_core)]), 1 - host.all_slow if many > 1 else 1.0
        threads, foreign_part = host.thread_speed[on_core], self._no_part
        if np.count_nonzero(moment.foreign):
            foreign_part = self._foreign_part(sessions, on_core)
            threads = threads ** (1 - foreign_part) * threads**foreign_part
        speed = (threads * turbo)[host.core_of] * (together * self._own_speed)
        own_pace = self._full
        if host.toggle > 1:
            own_pace = (host.toggle**moment.slow) ** -host.pace_exponent
            speed *= own_pace
        return CpuRates(
            share=share,
            run=run,
            speed=speed,
            work=run * speed,
            queue=queue,
            steal=steal,
            irq=irq,
            own_pace=own_pace,
            on_core=on_core,
            foreign_part=foreign_part,
            turbo=turbo,
            together=together,
            throttled_cpus=int(np.count_nonzero(sessions)) if moment.throttled else 0,
        )

    def remote(self, cpu: Ints) -> Floats:
        """Of sessions on these CPUs: speed by where their memory is."""
        host = self.host
        near = 1 / host.nodes if host.interleaved else host.node_of[cpu] == self.home
        return np.asarray(1 - host.remote_slowdown * (1 - near) * np.ones(cpu.shape))

    def _taken(self, steal: Floats, busy: Flags, many: int) -> tuple[Floats, Floats]:
        """Shares of each CPU that its hypervisor and interrupts take; ``many`` CPUs are busy."""
        host = self.host
        if not host.steal and not host.irq:
            return self._none, self._none
        lost_by_irq = self._none.copy()
        lost_by_irq[0] = host.irq
        irq = lost_by_irq * busy
        return np.minimum(steal, MAX_LOST - irq) * busy * (many > host.steal_above), irq

    def _foreign_part(self, sessions: Ints, on_core: Ints) -> Floats:
        """Of each core: how much of what the other threads beside a session do is by processes that are no sessions."""
        host = self.host
        by_sessions = np.bincount(host.core_of[sessions > 0], minlength=host.all_cores)
        part = (on_core - np.maximum(by_sessions, 1)) / np.maximum(on_core - 1, 1)
        return np.asarray(part.clip(0, 1))
