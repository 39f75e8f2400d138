"""Did the database's own counters stay those of a pure CPU test? Each function makes one finding or none."""

from collections.abc import Callable, Collection, Iterable

from msgspec.structs import replace

from dbcpu.analysis.causes.database_waits import wait_cause
from dbcpu.analysis.conclusions.finding_input import FindingInput, level_words
from dbcpu.analysis.host_usage.scaled_cpu import is_scaled, is_unknown
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.sessions.plausible_work import party_of
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.formatting import plain, plural, ranges, seconds
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import UNSET, are_of_one_kind
from dbcpu.record.service_remedies import IN_THE_ROOT, NO_PLAN_SET, UNKNOWN_VALUE, instance_name, plan_to_restore

FEW_READS = 20
"""Physical reads and writes per session that parsing and a temporary table of a few blocks explain."""
_WITHOUT_TABLES = ("cartesian", "emp_join", "arithmetic", "hashing", "mixed")
_NO_TABLE = (
    "workload {} reads no table, so these are blocks of something else. Of the temporary tablespace: a work area that "
    "did not fit, so raise `pga_aggregate_target` or run fewer sessions. Others: see whether the sessions are audited "
    "(`show parameter audit`, `select * from audit_unified_enabled_policies`) or traced (`select * from "
    "dba_enabled_traces`), whether a logon trigger does work, and measure once more where the instance had just started"
)
WORTH_WAITING = 0.01
"""Share of a session's time in one event that is reported."""


def differing_plans(given: FindingInput) -> Finding | None:
    """Of targets of different kinds each by itself: two databases may well have a plan each."""
    plan = given.record.header.plan
    apart = not are_of_one_kind(plan.parties)
    hashes, several = dict[str, set[float]](), set[str]()
    for each in given.counted:
        target = party_of(plan, each.round, each.session).target if apart else ""
        if (value := each.session.db.get("plan_hash_value")) is not None:
            hashes.setdefault(target, set()).add(value)
        if each.session.db.get("plans", 1) > 1:
            several.add(target)
    several |= {target for target, values in hashes.items() if len(values) > 1}
    if not several:
        return None
    said = [_plans(target, hashes.get(target, ())) for target in sorted(several)]
    return noted("plans-differ", f"the statement was executed with more than one plan{'; '.join(said)}")


def _plans(target: str, hashes: Collection[float]) -> str:
    values = f": plan hash values {', '.join(f'{value:.0f}' for value in sorted(hashes))}" if len(hashes) > 1 else ""
    return f"{target and f' by {plain(target)}'}{values}"


def physical_io(given: FindingInput) -> Finding | None:
    def count(member: Timed) -> float:
        return member.session.db.get("physical_reads", 0) + member.session.db.get("physical_writes", 0)

    busy = [each for each in given.counted if count(each) >= FEW_READS]
    if not busy:
        return None
    temporary = max(
        each.session.db.get("temp_reads", 0) + each.session.db.get("temp_writes", 0) for each in given.sessions
    )
    of_them = f", up to {temporary:.0f} of them in the temporary tablespace" if temporary else ""
    found = noted(
        "physical-io",
        f"{plural(len(busy), 'session')} at {_where(busy)} read or wrote up to {max(map(count, busy)):.0f} blocks of "
        f"files{of_them}",
    )
    workload = given.record.header.plan.workload.name
    return replace(found, remedy=_NO_TABLE.format(workload)) if workload in _WITHOUT_TABLES else found


def resource_manager_waits(given: FindingInput) -> Finding | None:
    held: dict[int, float] = {}
    for each in [each for each in given.sessions if each.session.waits]:
        waited_s = sum(wait.waited_s for wait in each.session.waits if wait_cause(wait.event) is Cause.RESOURCE_MANAGER)
        if each.span and waited_s > WORTH_WAITING * each.span.elapsed_s:
            held[each.round.level] = max(held.get(each.round.level, 0.0), waited_s)
    if not held:
        return _held_by_the_host(given)
    return _managed(
        given,
        f"sessions waited up to {seconds(max(held.values()))} for the resource manager at N={ranges(held)}",
    )


def _held_by_the_host(given: FindingInput) -> Finding | None:
    """By a counter of the whole instance: where no session shows its waits, these are not known to be of this run."""
    held = [
        (counters.managed_s, counters.source, each)
        for each in given.rounds
        if (counters := each.host_counters) and (counters.managed_s or 0.0) > WORTH_WAITING * counters.window_s
    ]
    if not held:
        return None
    most_s, source, _ = max(held, key=lambda entry: entry[0] or 0.0)
    return _managed(
        given,
        f"sessions of the instance, of this run or others, waited up to {seconds(most_s or 0.0)} for the resource "
        f"manager by {plain(source)}, at {level_words(each for _, _, each in held)}",
    )


def _managed(given: FindingInput, seen: str) -> Finding:
    """With a remedy that reaches the plan: none of its own is on in a pluggable database under one of the root."""
    known = given.record.header.database.parameters
    plan = plan_to_restore(known, known.get("resource_plan") or UNKNOWN_VALUE)
    name = instance_name(plain(known.get("instance_name", "")))
    found = noted("resource-manager-waits", seen, instance=name, plan=plan)
    if known.get("cpu_managed") != "ON" and known.get("root_plan"):
        return replace(found, remedy=IN_THE_ROOT)
    return found if plan or known.get("cpu_managed") == "ON" else replace(found, remedy=NO_PLAN_SET)


def parallel_servers(given: FindingInput) -> Finding | None:
    parallel = [each for each in given.counted if each.session.db.get("parallel_queries", 0) > 0]
    if not parallel:
        return None
    return noted("parallel-query", f"{plural(len(parallel), 'session')} at {_where(parallel)} ran in parallel")


def hard_parses(given: FindingInput) -> Finding | None:
    parsing = [each for each in given.counted if each.session.db.get("hard_parse_s", 0) > _worth(each)]
    if not parsing:
        return None
    most_s = max(each.session.db["hard_parse_s"] for each in parsing)
    return noted(
        "hard-parses",
        f"{plural(len(parsing), 'session')} at {_where(parsing)} spent up to {seconds(most_s)} on hard parses",
    )


def several_instances(given: FindingInput) -> Finding | None:
    """Those of one address: several addresses in one run may be an instance each, on purpose."""
    plan, found = given.record.header.plan, dict[str, set[int]]()
    for each in given.counted:
        if (number := each.session.db.get("instance_number")) is not None:
            party = party_of(plan, each.round, each.session).target if plan.parties else ""
            found.setdefault(party, set()).add(int(number))
    over = {party: numbers for party, numbers in found.items() if len(numbers) > 1}
    if not over:
        return None
    said = (
        f"instances {ranges(numbers)} of a cluster" + (f" ({plain(party)})" if party else "")
        for party, numbers in over.items()
    )
    return noted("several-instances", f"sessions ran on {' and on '.join(said)}")


def refused_settings(given: FindingInput) -> Finding | None:
    missing = given.record.header.database.parameters.get(UNSET)
    return noted("setting-refused", f"sessions could not set {plain(missing)}") if missing else None


def time_model_off(given: FindingInput) -> Finding | None:
    """The sessions set STATISTICS_LEVEL for themselves, which does not switch on what BASIC leaves out."""
    known = given.record.header.database.parameters
    if known.get("statistics_level", "").upper() != "BASIC":
        return None
    name = instance_name(plain(known.get("instance_name", "")))
    return noted("statistics-basic", "statistics_level of the instance is BASIC", instance=name)


def traced_sessions(given: FindingInput) -> Finding | None:
    traced = [each for each in given.counted if each.session.db.get("sql_trace")]
    if not traced:
        return None
    return noted("session-traced", f"SQL trace was on in {plural(len(traced), 'session')} at {_where(traced)}")


def scaled_cpu_time(given: FindingInput) -> Finding | None:
    header = given.record.header
    if not is_scaled(header):
        return None
    return noted("scaled-cpu-time", f"the server runs on {plain(header.database.parameters['platform'])}")


def unknown_platform(given: FindingInput) -> Finding | None:
    header = given.record.header
    if not is_unknown(header):
        return None
    said = plain(header.database.parameters["platform"])
    seen = "the server does not say on which operating system it runs"
    return noted("platform-unknown", seen if said == "unknown" else f"{seen} (it says {said})")


def spilled_work_areas(given: FindingInput) -> Finding | None:
    def spilled(member: Timed) -> float:
        return sum(member.session.db.get(f"workareas_{how}", 0) for how in ("onepass", "multipass"))

    found = [each for each in given.counted if spilled(each) > 0]
    if not found:
        return None
    most = max(map(spilled, found))
    areas = f"up to {plural(int(most), 'work area')} on disk"
    return noted("work-area-spill", f"{plural(len(found), 'session')} at {_where(found)} had {areas}")


def maintenance_window(given: FindingInput) -> Finding | None:
    name = given.record.header.database.parameters.get("maintenance_window")
    if not name:
        return None
    return noted("in-maintenance-window", f"the run was made while maintenance window {plain(name)} was open")


def _worth(member: Timed) -> float:
    return WORTH_WAITING * member.span.elapsed_s if member.span else float("inf")


def _where(sessions: Iterable[Timed]) -> str:
    return level_words(each.round for each in sessions)


FINDERS: tuple[Callable[[FindingInput], Finding | None], ...] = (
    differing_plans,
    physical_io,
    resource_manager_waits,
    parallel_servers,
    hard_parses,
    several_instances,
    refused_settings,
    time_model_off,
    traced_sessions,
    scaled_cpu_time,
    unknown_platform,
    spilled_work_areas,
    maintenance_window,
)
