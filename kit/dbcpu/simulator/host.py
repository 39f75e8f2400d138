"""The simulated machine, and what its kernel reports."""

import re
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbcpu.errors import UsageError
from dbcpu.formatting import plural, ranges
from dbcpu.record.header import Cache, Cpu, HostInfo, Limits, Topology
from dbcpu.simulator.pace import FORMS

SCHEDULERS = {
    "frozen": "never moves a session, not even to an idle CPU",
    "sticky": "evens out run queues, and never moves a running session because its core is shared (Linux before 6.6)",
    "rotating": "as sticky, and lets sessions on shared cores and sessions alone on a core change places",
    "smt_balancing": "as sticky, and moves a session off a shared core when a core falls idle (Linux since 6.6)",
}
_KERNELS = {"frozen": "4.4.0", "sticky": "4.4.0", "rotating": "5.15.0", "smt_balancing": "6.6.0"}
SMT_DIMINISHES = 0.6
"""Each further thread of a core adds this share of what the one before it added."""
GROUP = "/database.slice"
MAX_SIMULATED_CPUS = 4096
MIN_YIELD = -0.3
"""Measured yields go down to -10 %; below this eight threads of one core would do almost nothing."""
STEPS = "GHz from 0.1 to 10, none above the one before, each for more busy cores than the one before"
WORKLOAD_EXPONENT = 0.75
"""Sessions slow down by this power of what a piece of a witness does; measured for cartesian on PostgreSQL."""
MAX_NAME = 40
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")


class SimulatedHost(Struct, frozen=True, dict=True):
    """A machine of ``sockets`` x ``cores`` per socket x ``threads`` per core.

    ``efficiency_cores``: so many of all cores, the last ones, have one thread each and run at ``efficiency_speed``
    of the others; the kernel fills them last, and no session moves off one because a faster core falls idle.
    ``smt_yield``: what a second busy thread adds to its core's speed (0.33: two run at 0.667 each; 0: at
    half; below 0 the core does less than with one). ``smt_off``: sibling CPUs are offline. ``hidden_smt``: the
    guest's kernel does not see siblings and so cannot place by them. ``steal``, ``irq``: mean share of a busy CPU's
    time (irq: on CPU 0; steal: only while more than ``steal_above`` CPUs are busy, as where a machine is overbooked).
    ``quota_cpus``: CPU quota of the group of all sessions, per ``quota_period_s``. ``turbo_slope``: share of
    speed lost, in proportion, when all cores are busy. ``turbo_steps`` instead: (cores, GHz), the frequency while
    at most so many cores are busy; the last holds for more, as in published turbo tables. ``remote_slowdown``: on
    another node than where the session's memory is: where it began, or ``memory_node`` if all are bound to that one
    (which is what the record then shows), or all nodes in turn (``interleaved``). ``held``: the CPUs that sessions
    may use; () for all. ``all_slow``: share of speed that every session loses once two CPUs are busy.
    ``noisy_neighbour``: share of time during which another process wants CPU ``noisy_cpu``, to which it is bound.
    ``toggle``: each CPU by itself is by turns so many times slower for a witness' piece, as beside a stranger on its
    core, for ``toggle_slow`` of the time; a state lasts ``toggle_s`` on average.
    ``toggle_form``: instead by a walk or steps between both speeds, one per ``toggle_s``.
    Sessions slow down by this to the power of ``pace_exponent``. ``pace_hz``: pieces of a witness per second; None: as
    many as a run takes where CPUs toggle, else none. ``waits``: share of its time alone that a session sleeps,
    ``wait_s`` at a time, after each burst of work. ``rebalance_s``: seconds between two balancings. ``noise``: relative
    standard deviation of an execution's work. ``mrows_per_s``: a session alone that never waits.
    """

    name: str = "simulated"
    sockets: int = 1
    cores: int = 8
    threads: int = 2
    nodes: int = 1
    scheduler: str = "sticky"
    smt_yield: float = 0.33
    smt_off: bool = False
    hidden_smt: bool = False
    efficiency_cores: int = 0
    efficiency_speed: float = 0.6
    steal: float = 0.0
    steal_above: int = 0
    irq: float = 0.0
    quota_cpus: float | None = None
    quota_period_s: float = 0.1
    turbo_slope: float = 0.0
    turbo_steps: tuple[tuple[int, float], ...] = ()
    remote_slowdown: float = 0.1
    memory_node: int | None = None
    interleaved: bool = False
    held: tuple[int, ...] = ()
    all_slow: float = 0.0
    noisy_neighbour: float = 0.0
    noisy_cpu: int = 0
    rebalance_s: float = 0.2
    toggle: float = 1.0
    toggle_slow: float = 0.6
    toggle_s: float = 0.2
    toggle_form: str = "toggle"
    pace_exponent: float = WORKLOAD_EXPONENT
    pace_hz: float | None = None
    waits: float = 0.0
    wait_s: float = 0.01
    noise: float = 0.005
    mrows_per_s: float = 40.0
    hypervisor: str | None = "kvm"
    nominal_mhz: float = 2600.0
    about: str = ""
    hostname: str = ""

    def __post_init__(self) -> None:
        counts = self.sockets >= 1 and self.cores >= 1 and 1 <= self.threads <= 8  # else what follows is wrong as well
        wrong = [
            f"{name} must be {wanted}, and is {value}"
            for name, value, wanted, fine in (
                ("name", self.name, "1 to 40 letters, digits, '.', '_' or '-'", NAME.fullmatch(self.name) is not None),
                ("sockets", self.sockets, "at least 1", self.sockets >= 1),
                ("cores", self.cores, "at least 1", self.cores >= 1),
                ("threads", self.threads, "1 to 8", 1 <= self.threads <= 8),
                (
                    "efficiency cores",
                    self.efficiency_cores,
                    f"0 to {max(0, self.all_cores - 1)}, fewer than all cores",
                    not counts or 0 <= self.efficiency_cores < self.all_cores,
                ),
                ("efficiency speed", self.efficiency_speed, "0.1 to 1", 0.1 <= self.efficiency_speed <= 1),
                (
                    "CPUs in all",
                    self.cpus,
                    f"1 to {MAX_SIMULATED_CPUS}",
                    not counts or 1 <= self.cpus <= MAX_SIMULATED_CPUS,
                ),
                (
                    "nodes",
                    self.nodes,
                    f"1 to {self.all_cores}, of as many cores each",
                    not counts or (1 <= self.nodes <= self.all_cores and self.all_cores % self.nodes == 0),
                ),
                ("scheduler", self.scheduler, f"one of {', '.join(SCHEDULERS)}", self.scheduler in SCHEDULERS),
                ("yield", self.smt_yield, f"{MIN_YIELD} to 1", MIN_YIELD <= self.smt_yield <= 1),
                ("steal", self.steal, "0 to 0.9", 0 <= self.steal <= 0.9),
                (
                    "steal above",
                    self.steal_above,
                    f"0 to {MAX_SIMULATED_CPUS} CPUs",
                    0 <= self.steal_above <= MAX_SIMULATED_CPUS,
                ),
                ("irq", self.irq, "0 to 0.9", 0 <= self.irq <= 0.9),
                (
                    "quota",
                    self.quota_cpus,
                    f"0.01 to {MAX_SIMULATED_CPUS} CPUs",
                    self.quota_cpus is None or 0.01 <= self.quota_cpus <= MAX_SIMULATED_CPUS,
                ),
                ("quota period", self.quota_period_s, "0.001 to 1 s", 0.001 <= self.quota_period_s <= 1),
                ("turbo", self.turbo_slope, "0 to 0.9", 0 <= self.turbo_slope <= 0.9),
                (
                    "turbo",
                    ",".join(f"{ghz:g}:{cores}" for cores, ghz in self.turbo_steps),
                    STEPS,
                    _are_steps(self.turbo_steps),
                ),
                ("remote slowdown", self.remote_slowdown, "0 to 0.9", 0 <= self.remote_slowdown <= 0.9),
                ("memory node", self.memory_node or 0, "a node", 0 <= (self.memory_node or 0) < self.nodes),
                (
                    "held",
                    ",".join(map(str, self.held[:8])),
                    f"some of the online CPUs, 0 to {len(self.online) - 1}" if counts else "",
                    not counts or all(0 <= cpu < len(self.online) for cpu in self.held),
                ),
                ("all_slow", self.all_slow, "0 to 0.9", 0 <= self.all_slow <= 0.9),
                ("neighbour", self.noisy_neighbour, "0 to 1", 0 <= self.noisy_neighbour <= 1),
                (
                    "noisy CPU",
                    self.noisy_cpu,
                    "an online CPU",
                    not counts or 0 <= self.noisy_cpu < len(self.online),
                ),
                ("toggle", self.toggle, "1 to 4", 1 <= self.toggle <= 4),
                ("toggle share", self.toggle_slow, "0.01 to 0.99", 0.01 <= self.toggle_slow <= 0.99),
                ("toggle state", self.toggle_s, "0.01 to 100 s", 0.01 <= self.toggle_s <= 100),
                ("toggle form", self.toggle_form, f"one of {', '.join(FORMS)}", self.toggle_form in FORMS),
                ("pace exponent", self.pace_exponent, "0.2 to 1.5", 0.2 <= self.pace_exponent <= 1.5),
                ("pace", self.pace_hz or 0.0, "0 to 25 Hz", 0 <= (self.pace_hz or 0.0) <= 25),
                ("rebalance", self.rebalance_s, "0.01 to 60 s", 0.01 <= self.rebalance_s <= 60),
                ("waits", self.waits, "0 to 0.95", 0 <= self.waits <= 0.95),
                ("wait", self.wait_s, "0.001 to 10 s", 0.001 <= self.wait_s <= 10),
                ("noise", self.noise, "0 to 0.2", 0 <= self.noise <= 0.2),
                ("mrows_per_s", self.mrows_per_s, "0.001 to 100000", 0.001 <= self.mrows_per_s <= 100_000),
                ("nominal_mhz", self.nominal_mhz, "100 to 10000", 100 <= self.nominal_mhz <= 10_000),
            )
            if not fine
        ]
        if wrong:
            raise UsageError(f"such a host cannot be simulated: {'; '.join(wrong)}")

    @property
    def all_cores(self) -> int:
        return self.sockets * self.cores

    @property
    def cpus(self) -> int:
        """CPUs present, online or not."""
        return self.all_cores + self.performance_cores * (self.threads - 1)

    @property
    def performance_cores(self) -> int:
        """Cores of full speed: the first ones, and the only ones with several threads."""
        return self.all_cores - self.efficiency_cores

    @property
    def online(self) -> range:
        """CPUs that run."""
        return range(self.all_cores if self.smt_off else self.cpus)

    @cached_property
    def allowed_cpus(self) -> tuple[int, ...]:
        """Those that sessions may use."""
        return self.held or tuple(self.online)

    @cached_property
    def is_usable(self) -> NDArray[np.bool_]:
        """Whether sessions may use each online CPU."""
        return np.isin(np.arange(len(self.online)), self.allowed_cpus)

    @cached_property
    def core_of(self) -> NDArray[np.intp]:
        """The true core of each online CPU: i and i + cores are siblings; 2 i and 2 i + 1 where they are hidden."""
        first = np.arange(self.all_cores)
        if self.smt_off:
            return first
        if self.hidden_smt:
            return np.repeat(first, np.where(first < self.performance_cores, self.threads, 1))
        return np.concatenate([first, np.tile(first[: self.performance_cores], self.threads - 1)])

    @cached_property
    def known_core_of(self) -> NDArray[np.intp]:
        """The core of each online CPU as its kernel believes."""
        return np.arange(len(self.online)) if self.hidden_smt else self.core_of

    @cached_property
    def node_of(self) -> NDArray[np.intp]:
        return np.asarray(self.core_of * self.nodes // self.all_cores)

    @cached_property
    def core_speed(self) -> NDArray[np.float64]:
        """Speed of each core, alone and without turbo: 1, or that of an efficiency core."""
        return np.where(np.arange(self.all_cores) < self.performance_cores, 1.0, self.efficiency_speed)

    @cached_property
    def turbo(self) -> NDArray[np.float64]:
        """Speed while k cores are busy, for k = 0 to all; 1 for the first."""
        busy = np.arange(self.all_cores + 1)
        if not self.turbo_steps:
            return np.asarray(1 - self.turbo_slope * np.maximum(0, busy - 1) / max(1, self.all_cores - 1))
        up_to, ghz = np.array(self.turbo_steps).T
        return np.asarray(ghz[np.searchsorted(up_to, busy).clip(max=len(ghz) - 1)] / ghz[0])

    @property
    def first_mhz(self) -> float:
        """The frequency while one core is busy."""
        return self.turbo_steps[0][1] * 1000 if self.turbo_steps else self.nominal_mhz

    @cached_property
    def thread_speed(self) -> NDArray[np.float64]:
        """Speed of each of k busy threads of one core, for k = 0 to ``threads``; 1 for a thread alone."""
        added = self.smt_yield * SMT_DIMINISHES ** np.arange(self.threads)
        whole = 1 + np.concatenate([[0.0], np.cumsum(added)])[: self.threads]
        return np.concatenate([[1.0], whole / np.arange(1, self.threads + 1)])

    def info(self) -> HostInfo:
        """The host as its kernel would show it."""
        running = len(self.online)
        cpus = tuple(self._cpu(cpu) for cpu in range(self.cpus))
        caches = tuple(
            Cache(3, "unified", 32 * 1024**2, tuple(c.cpu for c in cpus if c.online and c.socket == socket))
            for socket in range(self.sockets)
        )
        control = "off" if self.smt_off and self.threads > 1 else "on" if self.threads > 1 else "notimplemented"
        memory = 4 * 1024**3 * self.cpus
        shown = self.all_cores if self.hidden_smt else self.cores
        return HostInfo(
            hostname=self.hostname or self.name,
            kernel=f"{_KERNELS[self.scheduler]}-simulated",
            cpu_model=f"simulated: {self.sockets} x {plural(shown, 'core')}",
            topology=Topology(
                cpus=cpus,
                caches=caches,
                smt_active=self.threads > 1 and not self.smt_off and not self.hidden_smt,
                smt_control="notsupported" if self.hidden_smt else control,
                node_memory_bytes=(memory // self.nodes,) * self.nodes,
            ),
            limits=Limits(
                allowed_cpus=tuple(range(running)),
                quota_cpus=self.quota_cpus,
                quota_source=f"cpu.max of {GROUP}" if self.quota_cpus is not None else None,
                memory_available_bytes=memory * 9 // 10,
            ),
            hypervisor=self.hypervisor,
            governor=None if self.hypervisor else "performance",
            memory_bytes=memory,
            facts={"simulated": self.about or f"scheduler {self.scheduler}", **self._kinds()},
        )

    def _kinds(self) -> dict[str, str]:
        """The CPUs of two kinds of cores, as a hybrid processor's kernel lists them."""
        if not self.efficiency_cores:
            return {}
        slow = np.flatnonzero(self.core_of >= self.performance_cores)
        fast = np.flatnonzero(self.core_of < self.performance_cores)
        return {"performance_cpus": ranges(map(int, fast)), "efficiency_cpus": ranges(map(int, slow))}

    def _cpu(self, cpu: int) -> Cpu:
        if cpu >= len(self.online):
            return Cpu(cpu, -1, -1, -1, (), online=False)
        known = int(self.known_core_of[cpu])
        siblings = tuple(int(other) for other in np.flatnonzero(self.known_core_of == known))
        return Cpu(cpu, known, int(self.core_of[cpu]) // self.cores, int(self.node_of[cpu]), siblings)


def _are_steps(steps: tuple[tuple[int, float], ...]) -> bool:
    cores, ghz = [each for each, _ in steps], [each for _, each in steps]
    rising = all(before < after for before, after in pairwise([0, *cores]))
    return rising and all(0.1 <= after <= before for before, after in pairwise([10.0, *ghz]))
