"""What has to hold within a record, beyond the types of its fields, so that whatever is read can be explained.

One check for every way in: record files, the store, and imports. Bounds keep a small file from filling the memory;
relations are those that ``dbcpu.record`` promises and the analysis relies on.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from dbcpu.formatting import MAX_CPUS, moment
from dbcpu.record.header import IMPORTED, SWEEP, Header, HostInfo, Party, Plan, WorkloadInfo
from dbcpu.record.plan import MAX_SESSIONS
from dbcpu.record.rounds import CpuSeries, HostCounters, KitCost, Residency, Round, RunRecord, Session, Witness

MAX_WHOLE = 2**63 - 1
MAX_SECONDS = 1e12
"""Of every time and every rate: far above any, and far below where a sum of squares overflows."""
MAX_SLICES = 1_000_000
UNSAMPLED = (IMPORTED, "none")
"""Samplers that have no rate."""


def inconsistency(record: RunRecord) -> str | None:
    """The first thing in a run that cannot be, as ``rounds[3].level is 0, not from 1 to 10000``, or None."""
    orders = [each.order for each in record.rounds]
    if twice := _repeated(orders):
        return f"rounds[{orders.index(twice[0])}] and rounds[{twice[1]}] have the same order {twice[0]}"
    found = header_inconsistency(record.header)
    for at, each in enumerate(record.rounds):
        found = found or next((f"rounds[{at}]{reason}" for reason in _of_round(record.header, each)), None)
    return found


def header_inconsistency(header: Header) -> str | None:
    """The same of a header alone."""
    return next(_of_header(header), None)


def round_inconsistency(header: Header, round_: Round) -> str | None:
    """The same of one round of a run, for whoever reads them one by one; relations among rounds are not seen."""
    return next((reason.lstrip(".") for reason in _of_round(header, round_)), None)


# --- the header ---------------------------------------------------------------------------------


def _of_header(header: Header) -> Iterator[str]:
    if header.started_at and moment(header.started_at) is None:
        yield f"started_at is {header.started_at[:40]!r}, not a time as 2026-01-31T08:00:00+00:00"
    yield from _of_plan(header.plan)
    yield from _within(header.driver.pid, 0, MAX_WHOLE, "driver.pid")
    if header.host is not None:
        yield from _of_host(header.host)


def _of_plan(plan: Plan) -> Iterator[str]:
    yield from _of_workload(plan.workload, "plan.workload")
    for at, level in enumerate(plan.levels):
        yield from _within(level, 1, MAX_SESSIONS, f"plan.levels[{at}]")
    yield from _within(plan.repeats, 0, MAX_WHOLE, "plan.repeats")
    for name, value in (("executions", plan.executions), ("pieces", plan.pieces)):
        yield from _within(value, 1, MAX_WHOLE, f"plan.{name}")
    yield from _within(plan.blocking, 0, plan.pieces or 0, "plan.blocking")
    yield from _within(plan.connections, 1, plan.pieces or 0, "plan.connections")
    if plan.one_at_a_time and plan.connections is None:
        yield "plan.one_at_a_time is of calls, and plan.connections says that there are none"
    yield from _within(plan.rounds, 0, MAX_WHOLE, "plan.rounds")
    for name, count in (("vcpus", plan.vcpus), ("cores", plan.cores)):
        yield from _within(count, 1, MAX_CPUS, f"plan.{name}")
    for name, time_s in (("for_s", plan.for_s), ("segment_s", plan.segment_s), ("block_s", plan.block_s)):
        yield from _above_0(time_s, f"plan.{name}")
    if plan.hz or plan.sampler not in UNSAMPLED:
        yield from _above_0(plan.hz, "plan.hz")
    if not plan.variants:
        yield "plan.variants names no variant; a run has one at least"
    for at, size in enumerate(plan.sizes):
        yield from _of_workload(size, f"plan.sizes[{at}]")
    for at, party in enumerate(plan.parties):
        yield from _of_party(party, f"plan.parties[{at}]")


def _of_workload(work: WorkloadInfo, where: str) -> Iterator[str]:
    yield from _within(work.rows, 1, MAX_WHOLE, f"{where}.rows")
    yield from _within(work.n, 0, MAX_WHOLE, f"{where}.n")


def _of_party(party: Party, where: str) -> Iterator[str]:
    yield from _of_workload(party.workload, f"{where}.workload")
    yield from _within(party.sessions, 1, MAX_SESSIONS, f"{where}.sessions")
    yield from _cpus(party.cpus, f"{where}.cpus")


def _of_host(host: HostInfo) -> Iterator[str]:
    cpus = host.topology.cpus
    if twice := _repeated([each.cpu for each in cpus]):
        yield f"host.topology.cpus has CPU {twice[0]} twice"
    for at, cpu in enumerate(cpus):
        where = f"host.topology.cpus[{at}]"
        yield from _cpus((cpu.cpu,), f"{where}.cpu", single=True)
        yield from _cpus(cpu.siblings, f"{where}.siblings")
        for name, number in (("core", cpu.core), ("socket", cpu.socket), ("node", cpu.node)):
            yield from _within(number, -1, MAX_WHOLE, f"{where}.{name}")
        if len(cpu.siblings) > len(cpus):
            yield f"{where}.siblings names {len(cpu.siblings)} CPUs, more than the host has ({len(cpus)})"
    yield from _cpus(host.limits.allowed_cpus, "host.limits.allowed_cpus")
    yield from _above_0(host.limits.quota_cpus, "host.limits.quota_cpus")
    yield from _within(host.clock_ticks, 1, MAX_WHOLE, "host.clock_ticks")
    sizes = (host.memory_bytes, host.limits.memory_available_bytes, *host.topology.node_memory_bytes)
    sizes = (*sizes, *(cache.size_bytes for cache in host.topology.caches))
    if wrong := next((size for size in sizes if size is not None and not 0 <= size <= MAX_WHOLE), None):
        yield f"host has a size of {wrong} bytes, not from 0 to {MAX_WHOLE}"


# --- a round ------------------------------------------------------------------------------------


def _of_round(header: Header, round_: Round) -> Iterator[str]:
    yield from _within(round_.level, 1, MAX_SESSIONS, ".level")
    yield from _within(round_.repeat, 0, MAX_WHOLE, ".repeat")
    yield from _within(round_.order, 0, MAX_WHOLE, ".order")
    yield from _offsets((round_.released_monotonic_s,), ".released_monotonic_s")
    plan = header.plan
    if plan.experiment == SWEEP and round_.variant not in plan.variants:
        yield f".variant is {round_.variant[:40]!r}, none of plan.variants ({', '.join(plan.variants)[:80]})"
    if len(round_.sessions) > round_.level:
        yield f".sessions holds {len(round_.sessions)}, more than its level {round_.level}"
    if twice := _repeated([each.ordinal for each in round_.sessions]):
        yield f".sessions has ordinal {twice[0]} twice"
    for at, session in enumerate(round_.sessions):
        yield from _of_session(session, f".sessions[{at}]")
    yield from _of_timeline(round_)
    for at, process in enumerate(round_.foreign):
        yield from _seconds(process.cpu_s, f".foreign[{at}].cpu_s")
        yield from _cpus(process.cpus, f".foreign[{at}].cpus")
    for at, group in enumerate(round_.cgroups):
        yield from _seconds(group.throttled_s, f".cgroups[{at}].throttled_s")
    yield from _of_calls(round_)
    for at, pressure in enumerate(round_.pressure):
        yield from _seconds(pressure.window_s, f".pressure[{at}].window_s")
        yield from _seconds(pressure.some_s, f".pressure[{at}].some_s")
        yield from _seconds(pressure.full_s, f".pressure[{at}].full_s")
    for at, clock in enumerate(round_.clocks):
        yield from _offsets((clock.offset_s, clock.uncertainty_s), f".clocks[{at}]")
    if round_.cost is not None:
        yield from _of_cost(round_.cost)
    if round_.witness is not None:
        yield from _of_witness(round_.witness)
    if round_.host_counters is not None:
        yield from _of_host_counters(round_.host_counters)
    yield from _seconds(round_.gate.skew_s, ".gate.skew_s")


def _of_cost(cost: KitCost) -> Iterator[str]:
    yield from _above_0(cost.hz, ".cost.hz")
    yield from _seconds(cost.window_s, ".cost.window_s")
    yield from _seconds(cost.driver_cpu_s, ".cost.driver_cpu_s")
    yield from _seconds(cost.sampler_cpu_s, ".cost.sampler_cpu_s")
    yield from _seconds(cost.witness_cpu_s, ".cost.witness_cpu_s")


def _of_calls(round_: Round) -> Iterator[str]:
    for at, call in enumerate(round_.calls):
        where = f".calls[{at}]"
        yield from _within(call.connection, 0, MAX_WHOLE, f"{where}.connection")
        yield from _within(call.session, 0, MAX_SESSIONS - 1, f"{where}.session")
        yield from _seconds(call.connect_s, f"{where}.connect_s")
        stamps = (call.sent_s, call.arrived_s, call.began_s, call.ended_s, call.answered_s)
        yield from _offsets(stamps, where)


def _of_session(session: Session, where: str) -> Iterator[str]:
    yield from _within(session.ordinal, 0, MAX_SESSIONS - 1, f"{where}.ordinal")
    yield from _within(session.server.pid, 0, MAX_WHOLE, f"{where}.server.pid")
    for name, value in (
        ("connect_s", session.connect_s),
        ("cpu_s", session.cpu_s),
        ("run_delay_s", session.run_delay_s),
    ):
        yield from _seconds(value, f"{where}.{name}")
    yield from _cpus(session.allowed_cpus, f"{where}.allowed_cpus")
    for at, each in enumerate(session.executions):
        place = f"{where}.executions[{at}]"
        yield from _offsets((each.start_s, each.server_start_s), f"{place}.start_s")
        yield from _seconds(each.elapsed_s, f"{place}.elapsed_s")
        yield from _seconds(each.server_elapsed_s, f"{place}.server_elapsed_s")
    for at, stay in enumerate(session.residency):
        yield from _of_stay(stay, f"{where}.residency[{at}]")
    for event, counted in session.db.items():
        yield from _offsets((counted,), f"{where}.db[{event[:40]!r}]")
    for at, wait in enumerate(session.waits):
        yield from _seconds(wait.waited_s, f"{where}.waits[{at}].waited_s")


def _of_stay(stay: Residency, where: str) -> Iterator[str]:
    if not 0 <= stay.cpu < MAX_CPUS:
        yield from _cpus((stay.cpu,), f"{where}.cpu", single=True)
    if not -MAX_SECONDS <= stay.from_s <= stay.to_s <= MAX_SECONDS:
        yield f"{where} is from {stay.from_s} s to {stay.to_s} s, which is no stretch of time"
    yield from _seconds(stay.cpu_s, f"{where}.cpu_s")
    yield from _seconds(stay.run_delay_s, f"{where}.run_delay_s")


def _of_timeline(round_: Round) -> Iterator[str]:
    ends = round_.timeline_s
    if len(ends) > MAX_SLICES:
        yield f".timeline_s has {len(ends)} values, more than {MAX_SLICES}"
    yield from _offsets(ends, ".timeline_s")
    if any(later <= earlier for earlier, later in pairwise(ends)):
        yield ".timeline_s does not rise"
    if twice := _repeated([each.cpu for each in round_.cpu_timeline]):
        yield f".cpu_timeline has CPU {twice[0]} twice"
    for at, series in enumerate(round_.cpu_timeline):
        yield from _of_series(series, max(0, len(ends) - 1), f".cpu_timeline[{at}]")


def _of_series(series: CpuSeries, slices: int, where: str) -> Iterator[str]:
    yield from _cpus((series.cpu,), f"{where}.cpu", single=True)
    for name in ("busy_s", "steal_s", "irq_s", "softirq_s", "mhz"):
        values: Sequence[float] = getattr(series, name)
        if len(values) != slices and not (name == "mhz" and not values):
            yield f"{where}.{name} has {len(values)} values, and timeline_s has {slices} slices"
        yield from _offsets(values, f"{where}.{name}")


def _of_witness(witness: Witness) -> Iterator[str]:
    yield from _above_0(witness.hz, ".witness.hz")
    if twice := _repeated([each.cpu for each in witness.cpus]):
        yield f".witness.cpus has CPU {twice[0]} twice"
    for at, each in enumerate(witness.cpus):
        where = f".witness.cpus[{at}]"
        yield from _cpus((each.cpu,), f"{where}.cpu", single=True)
        if len(each.at_us) != len(each.ns):
            yield f"{where}.ns has {len(each.ns)} values, and at_us has {len(each.at_us)}"
        if len(each.ns) > MAX_SLICES:
            yield f"{where}.ns has {len(each.ns)} values, more than {MAX_SLICES}"
        for ns in each.ns:
            yield from _within(ns, 1, MAX_WHOLE, f"{where}.ns")
        yield from _offsets((value / 1e6 for value in each.at_us), f"{where}.at_us")
        if any(later < earlier for earlier, later in pairwise(each.at_us)):
            yield f"{where}.at_us falls"


def _of_host_counters(counters: HostCounters) -> Iterator[str]:
    yield from _within(counters.cpus, 1, MAX_CPUS, ".host_counters.cpus")
    for name in counters.__struct_fields__:
        if name.endswith("_s") or name == "load":
            yield from _seconds(getattr(counters, name), f".host_counters.{name}")


# --- values -------------------------------------------------------------------------------------


def _within(value: int | None, least: int, most: int, where: str) -> Iterator[str]:
    if value is not None and not least <= value <= most:
        yield f"{where} is {_shown(value)}, not from {least} to {most}"


def _above_0(value: float | None, where: str) -> Iterator[str]:
    if value is not None and not 0 < value <= MAX_SECONDS:
        yield f"{where} is {value}, not above 0 and at most {MAX_SECONDS:g}"


def _seconds(value: float | None, where: str) -> Iterator[str]:
    """A time that passed."""
    if value is not None and not 0 <= value <= MAX_SECONDS:
        yield f"{where} is {value}, not from 0 to {MAX_SECONDS:g}"


def _offsets(values: Iterable[float | None], where: str) -> Iterator[str]:
    wrong = next((value for value in values if value is not None and not -MAX_SECONDS <= value <= MAX_SECONDS), None)
    if wrong is not None:
        yield f"{where} holds {wrong}, beyond {MAX_SECONDS:g}"


def _cpus(numbers: Sequence[int], where: str, single: bool = False) -> Iterator[str]:
    wrong = next((number for number in numbers if not 0 <= number < MAX_CPUS), None)
    if wrong is not None:
        yield f"{where} {'is' if single else 'holds'} {_shown(wrong)}, not a CPU from 0 to {MAX_CPUS - 1}"


def _shown(value: int) -> str:
    """Python refuses to write a number of more than 4300 digits, and nobody reads one of more than 20."""
    return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"


def _repeated(values: Sequence[int]) -> tuple[int, int] | None:
    """The first value that occurs again, and where it does."""
    seen: set[int] = set()
    for at, value in enumerate(values):
        if value in seen:
            return value, at
        seen.add(value)
    return None
