"""The rounds of a run: what was measured of their sessions and of the host; see header."""

from collections.abc import Mapping

from msgspec import Struct, field

from dbcpu.record.header import Finite, Header

TOO_LATE = "no answer within"  # begins the error of a session that was cancelled at the deadline of its round
UNLISTED = 0  # in place of a pid: several processes together, where which they were was not recorded


class Server(Struct, frozen=True):
    """The server process behind a session. Sampled only if ``verified``; ``how`` says why (not)."""

    pid: int | None
    tid: int | None = None
    start_ticks: int | None = None
    verified: bool = False
    how: str = ""


class Execution(Struct, frozen=True):
    """One execution of the workload.

    ``start_s``: offset of the client stamp taken just before the send; where executions are queued
    ahead (pipeline), that of the previous answer's arrival if later. ``elapsed_s``: from there to the
    arrival of the answer. ``server_*``: from the statement itself, on the server's clock moved to the
    driver's by the round's clock offset; ``None`` where the database does not say.
    """

    start_s: Finite
    elapsed_s: Finite
    server_start_s: Finite | None = None
    server_elapsed_s: Finite | None = None


class Residency(Struct, frozen=True):
    """A stretch of polls that all found the server process on ``cpu`` in ``state`` (proc(5): R S D T ...).

    ``cpu_s`` and ``run_delay_s`` are what schedstat gained meanwhile. Offsets on the sampler's clock.
    """

    cpu: int
    state: str
    from_s: Finite
    to_s: Finite
    cpu_s: Finite | None = None
    run_delay_s: Finite | None = None


class Wait(Struct, frozen=True):
    """Time a session spent in one wait event, as the database counts it."""

    event: str
    count: int
    waited_s: Finite


class RanInstead(Struct, frozen=True):
    """A process that ran on the CPU where a session waited to run, and for how long, by the kernel's trace.

    ``ordinal``: of the session whose server process it is, else None. ``cgroup``: None where it had ended. ``pid`` is
    ``UNLISTED`` for the sum of those that ran less, ``ordinal`` then too where they are sessions.
    """

    pid: int
    command: str
    ran_s: Finite
    ordinal: int | None = None
    cgroup: str | None = None


class WakeUps(Struct, frozen=True):
    """How long a session that was woken waited until it ran: how often, percentiles, and the longest."""

    count: int
    p50_s: Finite
    p95_s: Finite
    p99_s: Finite
    max_s: Finite


class NodeMemory(Struct, frozen=True):
    """What a session's server process has on a memory node, shared memory included, other mapped files not. numa(7)"""

    node: int
    resident_bytes: int


class Session(Struct, frozen=True):
    """One session in one round.

    ``cpu_s`` and ``run_delay_s`` are exact counters over the round (schedstat; ``cpu_source`` says ``stat`` where only
    10 ms ticks exist). ``migrations`` is the kernel's count, ``migrations_seen`` what the polls saw. ``answer_ok`` is
    None when no execution ended, or no answer is known. ``db`` holds counter deltas. ``ran_instead``, longest
    first, and ``wake_ups`` are known where the kernel's trace was taken (``Round.trace``). ``blocked``: jobs of a pool
    that only waited, none of the ``executions``. ``memory_nodes`` are those that it may have memory on;
    ``memory_policy`` as the kernel shows it (``bind:1``), and ``node_memory`` what it has at the end of the round, both
    known on hosts with several nodes only. Nodes have the kernel's numbers.
    """

    ordinal: int
    server: Server
    connect_s: Finite | None
    executions: tuple[Execution, ...] = ()
    answer_ok: bool | None = None
    error: str | None = None
    allowed_cpus: tuple[int, ...] = ()
    policy: str | None = None
    nice: int | None = None
    cgroup: str | None = None
    memory_nodes: tuple[int, ...] = ()
    cpu_s: Finite | None = None
    cpu_source: str | None = None
    run_delay_s: Finite | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    migrations: int | None = None
    migrations_seen: int | None = None
    residency: tuple[Residency, ...] = ()
    db: Mapping[str, Finite] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    ran_instead: tuple[RanInstead, ...] = ()
    wake_ups: WakeUps | None = None
    blocked: tuple[Execution, ...] = ()
    memory_policy: str | None = None
    node_memory: tuple[NodeMemory, ...] = ()


class Gate(Struct, frozen=True):
    """How the sessions were released: ``skew_s`` is the spread of the client stamps before the send."""

    expected: int
    connected: int
    verified: int
    skew_s: Finite
    realtime: bool
    settled: bool = True


class Clock(Struct, frozen=True):
    """A remote clock against the driver's: remote = driver + ``offset_s``, known to ± ``uncertainty_s``."""

    source: str
    offset_s: Finite
    uncertainty_s: Finite


class CpuSeries(Struct, frozen=True):
    """One CPU over the slices of ``Round.timeline_s``; each tuple has one value less than ``timeline_s``.

    Values are seconds spent so within the slice (/proc/stat, 10 ms grains); ``mhz`` only where it is measured.
    """

    cpu: int
    busy_s: tuple[Finite, ...]
    steal_s: tuple[Finite, ...]
    irq_s: tuple[Finite, ...]
    softirq_s: tuple[Finite, ...]
    mhz: tuple[Finite, ...] = ()


class Foreign(Struct, frozen=True):
    """A process that is neither a session's server process nor dbcpu's, and used CPU during the round.

    ``pid`` is ``UNLISTED`` where only their sum was recorded.
    """

    pid: int
    command: str
    cpu_s: Finite
    cpus: tuple[int, ...] = ()


class CgroupUse(Struct, frozen=True):
    """CPU bandwidth control over the round for one control group that holds server processes.

    ``throttled_s`` adds up over CPUs. ``sessions`` are ordinals. Source: cgroup-v2.rst, sched-bwc.rst
    """

    path: str
    quota_cpus: Finite | None
    periods: int
    throttled_periods: int
    throttled_s: Finite
    sessions: tuple[int, ...] = ()


class CpuPressure(Struct, frozen=True):
    """How long processes waited for a CPU over the round, as the kernel counts it (PSI).

    ``path``: the control group, '' for the whole host. ``some_s``: at least one of its processes was ready and had no
    CPU; ``full_s``: one was, and none of them had a CPU; None where the kernel does not count that, as of a host.
    ``window_s``: between the two readings. ``sessions`` are ordinals. Source: Documentation/accounting/psi.rst
    """

    path: str
    window_s: Finite
    some_s: Finite
    full_s: Finite | None = None
    sessions: tuple[int, ...] = ()


class CpuPace(Struct, frozen=True):
    """What the witness did on one CPU: ``at_us``, the offset at the end of each piece in microseconds, and ``ns``, the
    CPU time that the piece took (CLOCK_THREAD_CPUTIME_ID), as many of them.
    """

    cpu: int
    at_us: tuple[int, ...]
    ns: tuple[int, ...]


class Witness(Struct, frozen=True):
    """A small known piece of work, done again and again on each CPU beside the sessions: the pace of the CPUs.

    ``hz``: pieces per second and CPU. ``realtime``: they went before everything else. The first ones are from before
    the release, while no session was at work.
    """

    hz: Finite
    realtime: bool
    cpus: tuple[CpuPace, ...]


class KitCost(Struct, frozen=True):
    """CPU that dbcpu itself used between release and the last answer. ``hz``: as requested; ``polls``: as made.

    ``witness_cpu_s``: of the witness on all CPUs together, from shortly before the release on.
    """

    window_s: Finite
    driver_cpu_s: Finite
    sampler_cpu_s: Finite | None = None
    polls: int = 0
    hz: Finite | None = None
    witness_cpu_s: Finite | None = None


class ServerUse(Struct, frozen=True):
    """What the database's processes hold at the end of a round, while its sessions are still connected.

    ``processes``: the sessions' own, their parent and its other children where they are the database's. ``pss_bytes``
    counts shared memory once (smaps_rollup, proc(5)), and ``sockets`` one that several processes hold; None where they
    may not be read.
    """

    processes: int
    threads: int
    rss_bytes: int
    pss_bytes: int | None = None
    sockets: int | None = None


class Call(Struct, frozen=True):
    """A job of a pool as its caller had it, over a TCP connection on the driver's machine.

    ``connection`` counts from 0, and was opened in ``connect_s`` before the release. All else are offsets on the
    driver's clock: ``sent_s`` by the caller, ``arrived_s`` at the pool, ``began_s`` and ``ended_s`` in the session with
    this ordinal, ``answered_s``: the answer has come back. None where no session took it, or no answer came.
    """

    connection: int
    connect_s: Finite
    sent_s: Finite
    arrived_s: Finite
    session: int | None = None
    began_s: Finite | None = None
    ended_s: Finite | None = None
    answered_s: Finite | None = None


class HostCounters(Struct, frozen=True):
    """What all CPUs of the host together did over the round, as the database counts it: where no /proc was read.

    ``source``: the view. ``window_s``: from the reading before the release to the one after it. A time is None where
    it is not counted. ``queue_s``: processes were ready to run and waited for a CPU; ``managed_s``: sessions were held
    back by the database's resource manager; both add up over processes. ``load``: the run queue at the second reading.
    ``kit_cpu_s``: what dbcpu itself used of these CPUs, 0 where it ran on another machine. ``unsettled_s``: sessions of
    a soak go on after they have delivered; at most so much of their CPU time is in these times and not in their own.
    """

    source: str
    window_s: Finite
    cpus: int | None = None
    busy_s: Finite | None = None
    idle_s: Finite | None = None
    user_s: Finite | None = None
    system_s: Finite | None = None
    nice_s: Finite | None = None
    iowait_s: Finite | None = None
    queue_s: Finite | None = None
    managed_s: Finite | None = None
    load: Finite | None = None
    kit_cpu_s: Finite = 0.0
    unsettled_s: Finite = 0.0


class Trace(Struct, frozen=True):
    """The kernel's trace of the round: how many ``events`` it had, and how many were ``lost``.

    ``why`` it was not used, '' where it was: then residency is exact, and else that of polls.
    """

    events: int
    lost: int
    why: str = ""


class Round(Struct, frozen=True):
    """N sessions released together once. ``order`` counts rounds within the run from 0.

    ``anchor`` marks an extra solo round that shows drift. ``error`` is set when the round failed as a
    whole; a failed session has its own. ``not_sampled`` says why there is no evidence from the host. Where not
    ``shares_known``, sessions hold equal parts of the round's total rate: nothing follows about their spread.
    ``calls``: the jobs of a pool in the order in which they arrived there, where they came as calls.
    """

    level: int
    repeat: int
    variant: str
    order: int
    released_at: str
    released_monotonic_s: Finite
    gate: Gate
    sessions: tuple[Session, ...]
    anchor: bool = False
    clocks: tuple[Clock, ...] = ()
    timeline_s: tuple[Finite, ...] = ()
    cpu_timeline: tuple[CpuSeries, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    cgroups: tuple[CgroupUse, ...] = ()
    cost: KitCost | None = None
    not_sampled: str | None = None
    error: str | None = None
    server_use: ServerUse | None = None
    shares_known: bool = True
    witness: Witness | None = None
    host_counters: HostCounters | None = None
    trace: Trace | None = None
    pressure: tuple[CpuPressure, ...] = ()
    calls: tuple[Call, ...] = ()


class RunRecord(Struct, frozen=True):
    """A run: its header and the rounds that were finished, in the order they ran."""

    header: Header
    rounds: tuple[Round, ...]
