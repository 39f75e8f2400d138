"""What was measured, as plain data: the one thing that the measuring and the explaining half share.

Raw measurements only: no mean and no verdict is stored, so better analysis improves old runs.
Fields cannot be set; sequences are tuples, mappings are dicts that nobody changes; units are in the names (``_s``
seconds, ``_bytes``).
Times called an *offset* count from the release of their round (``Round.released_monotonic_s``) and
may be negative. No NaN and no infinity occur: what is unknown is ``None``. No secret occurs.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from dbcpu.formatting import rate

SCHEMA = 1
"""Version of the record's form; docs/record.md has the history."""
ROWS_UNIT = "Mrows/s"
IMPORTED = "imported"  # the sampler of a run whose times or rates others measured
BY_SCRIPT = "dbcpu-lines"  # begins the tool_version of a run that a script of shell/ measured
SIMULATED = "simulated"  # the database's kind of a run that nobody measured
UNNAMED_WORK = "unnamed work"  # begins the name of work of which an import does not say what it was
ANONYMOUS = "-anonymous"  # ends the run_id of a record without names: no store and no host are known of it
UNSET = "settings_not_in_effect"  # of Database.parameters: what the sessions could not set for themselves
RDS, AUTONOMOUS = "Amazon RDS", "Autonomous Database"  # services that run a database, and what parameters call them
BASELINE = "baseline"  # the variant under which nothing is changed
AA = ("aa1", "aa2")
"""Variants of an A/A test: the same configuration twice, to estimate noise."""
SWEEP, SOAK, POOL, TOGETHER = "sweep", "soak", "pool", "together"
"""``Plan.experiment``; the last one is also the variant of several targets beside each other."""
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""A float that JSON can hold: ``store.codec`` refuses any other."""


class Cpu(Struct, frozen=True):
    """One logical CPU (vCPU).

    ``core``, ``socket`` and ``node`` are numbered by dbcpu from 0 in order of the lowest CPU (the kernel's core_id is
    unique only within a die; cputopology.rst). ``siblings`` are all CPUs of the same core, itself included. Unknown
    values of an offline CPU are -1 and ().
    """

    cpu: int
    core: int
    socket: int
    node: int
    siblings: tuple[int, ...]
    online: bool = True


class Cache(Struct, frozen=True):
    """One cache and the CPUs that share it."""

    level: int
    kind: str
    size_bytes: int | None
    cpus: tuple[int, ...]


class Topology(Struct, frozen=True):
    """The host as its kernel shows it. To a virtual machine it may show less than the truth."""

    cpus: tuple[Cpu, ...]
    caches: tuple[Cache, ...] = ()
    smt_active: bool | None = None
    smt_control: str | None = None
    node_memory_bytes: tuple[int, ...] = ()


class Limits(Struct, frozen=True):
    """What keeps processes from using all CPUs: affinity, cpuset and CPU quota (the tightest ancestor)."""

    allowed_cpus: tuple[int, ...]
    quota_cpus: Finite | None = None
    quota_source: str | None = None
    memory_available_bytes: int | None = None


class HostInfo(Struct, frozen=True):
    """The measured host. ``facts`` are further named properties, as text (tuned profile, boot options)."""

    hostname: str
    kernel: str
    cpu_model: str
    topology: Topology
    limits: Limits
    hypervisor: str | None = None
    container: str | None = None
    governor: str | None = None
    memory_bytes: int | None = None
    clock_ticks: int = 100
    facts: Mapping[str, str] = field(default_factory=dict)


class Database(Struct, frozen=True):
    """The measured database. ``parameters`` are the settings that matter for CPU.

    ``not_checked``: what the user's privileges left unchecked, and the statements that grant them ('' where none does).
    """

    kind: str
    version: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    driver_on_host: bool | None = None
    not_checked: Mapping[str, str] = field(default_factory=dict)

    @property
    def service(self) -> str:
        """The managed service that it is part of: ``RDS``, ``AUTONOMOUS``, or '' for none that is known."""
        if self.parameters.get("autonomous") == "ON":
            return AUTONOMOUS
        return RDS if self.parameters.get("managed_service") == RDS else ""


class WorkloadInfo(Struct, frozen=True):
    """The unit of work: the text that ran, its fixed size, and the answer it has to give.

    ``rows`` is the work in one execution (rows counted, or loop iterations); rows / seconds / 1e6 is in ``unit``.
    ``sql_hash`` is SHA-256 of the measured text; ``plan_shape`` names the operators of the plan where it is reported.
    Of an imported run n, text and answer are not known, and size is ''.
    """

    name: str
    size: str
    n: int | None
    rows: int
    sql: str | None
    sql_hash: str | None
    answer: str | None
    plan_shape: str | None = None
    unit: str = ROWS_UNIT


def work_words(work: WorkloadInfo) -> str:
    """``cartesian, size short (n = 50, 6.2 Mrows)``; the name alone where no more is known.

    Of a loop, ``(n = 5000000 steps, counted as 5.0 Mrows)``: it has no rows.
    """
    if work.n is None:
        return work.name
    steps, counted = (" steps", "counted as ") if work.n == work.rows else ("", "")
    amount = f"{counted}{rate(work.rows / 1e6)} {work.unit.removesuffix('/s')}"
    return f"{work.name}, size {work.size} (n = {work.n}{steps}, {amount})"


class Party(Struct, frozen=True):
    """One of several targets of a run; its ``sessions`` have the next ordinals. ``cpus``: () is any."""

    target: str
    database: Database
    workload: WorkloadInfo
    sessions: int
    cpus: tuple[int, ...] = ()


def are_of_one_kind(parties: Sequence[Party]) -> bool:
    """Whether a single session of one of them is a measure for the sessions of all."""
    kinds = {(each.database.kind, each.database.version, each.workload.rows, each.workload.sql) for each in parties}
    return len(kinds) <= 1


class Plan(Struct, frozen=True):
    """What the run set out to do. Of ``executions`` (fixed work) and ``for_s`` (fixed time) one is set.

    ``experiment``: sweep (levels), soak (one level for a time, each round a segment of ``segment_s``), pool (each
    round's sessions share ``pieces`` executions among them) or together (several ``parties``; a round's variant is the
    name of one party alone, or together). ``sizes``: further workloads; a round's variant is then its size.
    ``cores``: behind the vCPUs, where they are known although no topology was read.
    ``blocking``: so many of the ``pieces`` of a pool only wait, ``block_s`` each. ``connections``: they came as calls
    over so many TCP connections (``Round.calls``); None: no callers. ``one_at_a_time``: over each of these the next
    call was sent when the last one was answered; else all were sent at once.
    """

    target: str
    workload: WorkloadInfo
    levels: tuple[int, ...]
    repeats: int
    seed: int
    executions: int | None
    for_s: Finite | None
    sampler: str
    hz: Finite
    vcpus: int | None
    vcpus_source: str
    variants: tuple[str, ...] = (BASELINE,)
    rounds: int | None = None
    experiment: str = SWEEP
    segment_s: Finite | None = None
    pieces: int | None = None
    sizes: tuple[WorkloadInfo, ...] = ()
    parties: tuple[Party, ...] = ()
    cores: int | None = None
    blocking: int | None = None
    block_s: Finite | None = None
    connections: int | None = None
    one_at_a_time: bool = False


class Driver(Struct, frozen=True):
    """The machine and process that drove the run.

    ``boot_id``: of the kernel; ``pid_namespace``: as in /proc/self/ns/pid. Only in the same two do ``pid`` and
    ``start_ticks`` name the process beyond doubt: machines and containers may share a host name. ``machine``: which
    installation of the operating system, as ``driver_process.machine`` derives it from machine-id(5).
    """

    hostname: str
    pid: int
    start_ticks: int | None
    python: str
    boot_id: str | None = None
    pid_namespace: str | None = None
    machine: str | None = None


class Header(Struct, frozen=True):
    """All of a run but its rounds.

    ``started_at`` is UTC, ISO 8601, '' if unknown. ``status`` is one of running, complete, interrupted, failed.
    ``facts``: what the file of an imported run says of it, by name, such as the CPU's model.
    """

    run_id: str
    label: str
    started_at: str
    status: str
    tool_version: str
    plan: Plan
    host: HostInfo | None
    database: Database
    driver: Driver
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_imported(self) -> bool:
        """Whether others measured it, or a script of ``shell/``: nobody looked for a hypervisor, container or quota."""
        return is_imported(self.plan.sampler, self.tool_version)

    @property
    def is_bare_metal(self) -> bool:
        """Whether dbcpu looked for a hypervisor and found none."""
        return self.host is not None and self.host.hypervisor is None and not self.is_imported


def is_imported(sampler: str, tool_version: str) -> bool:
    """``Header.is_imported`` by what it is seen from."""
    return sampler == IMPORTED or tool_version.startswith(BY_SCRIPT)
