"""The environment as names and values: what has to be the same to repeat the measurement."""

from collections.abc import Iterable, Mapping

from dbcpu.config.origins import NOTES
from dbcpu.formatting import UNKNOWN, gibibytes, plain, plural, short_ranges
from dbcpu.record import IMPORTED, Plan, RunRecord, WorkloadInfo
from dbcpu.reports.document import FactList
from dbcpu.reports.documents.server_memory import server_memory
from dbcpu.steal import steal_unseen


def environment(record: RunRecord) -> tuple[FactList, ...]:
    """The run, the host, the database, each as names and values."""
    return (_run(record), _host(record), _database(record))


def _facts(title: str, pairs: Iterable[tuple[str, object]]) -> FactList:
    said = tuple((name, UNKNOWN if value is None else plain(str(value))) for name, value in pairs if value != "")
    return FactList(said, title)


def _run(record: RunRecord) -> FactList:
    header, plan, work = record.header, record.header.plan, record.header.plan.workload
    elsewhere = any(note.startswith(tuple(NOTES.values())) for note in header.notes)  # it names who drove it
    pairs: list[tuple[str, object]] = [
        ("run", header.run_id),
        ("label", header.label),
        ("started (UTC)", header.started_at),
        ("status", header.status),
        ("dbcpu", header.tool_version),
        ("target", plan.target),
        ("levels", short_ranges(plan.levels)),
        ("repeats", plan.repeats),
        ("variants", ", ".join(plan.variants)),
        *_amount(plan),
        ("sampler", f"{plan.sampler}, {plan.hz:g} samples per second" if plan.hz else plan.sampler),
        ("vCPUs", f"{plan.vcpus if plan.vcpus is not None else UNKNOWN} ({plan.vcpus_source})"),
        ("workload", _work(work)),
        ("SQL hash", work.sql_hash or ""),
        ("plan", work.plan_shape),
        (
            "kept by" if elsewhere else "driven from",
            f"{header.driver.hostname}, Python {header.driver.python}".removesuffix(", Python ").strip(),
        ),
    ]
    return _facts("Run", [*pairs, *_named(header.facts), *(("note", note) for note in header.notes)])


def _amount(plan: Plan) -> list[tuple[str, object]]:
    """Nothing of an imported run: it is not known."""
    if plan.sampler == IMPORTED:
        return []
    for_s = f"as many as fit into {plan.for_s or 0:g} s"
    return [("executions", plan.executions if plan.executions is not None else for_s), ("seed", plan.seed)]


def _work(work: WorkloadInfo) -> str:
    if work.n is None:
        return work.name
    return f"{work.name}, size {work.size}, n = {work.n}, {work.rows} rows, answer {work.answer}"


def _host(record: RunRecord) -> FactList:
    host = record.header.host
    if host is None:
        return _facts("Host", [("host", "not known")])
    quota = host.limits.quota_cpus
    memory = gibibytes(host.memory_bytes) if host.memory_bytes else None
    smt = {True: "on", False: "off", None: None}[host.topology.smt_active]
    caches = dict.fromkeys(
        f"L{each.level} {each.kind} {each.size_bytes // 1024} KiB for {plural(len(each.cpus), 'CPU')}"
        for each in host.topology.caches
        if each.size_bytes
    )
    return _facts("Host", [
        ("name", host.hostname),
        ("CPU model", host.cpu_model),
        ("kernel", host.kernel),
        ("hypervisor", host.hypervisor or "none found"),
        ("steal", steal_unseen(record)),
        ("container", host.container or "none found"),
        ("memory", memory),
        ("SMT", smt),
        ("SMT control", host.topology.smt_control or ""),
        ("allowed CPUs", short_ranges(host.limits.allowed_cpus)),
        ("CPU quota", f"{plural(quota, 'CPU')} ({host.limits.quota_source})" if quota is not None else "none"),
        ("frequency governor", host.governor or "not known"),
        ("caches", "; ".join(caches)),
        *_named(host.facts),
        *server_memory(record),
    ])  # fmt: skip


def _database(record: RunRecord) -> FactList:
    database = record.header.database
    where = {True: "yes", False: "no", None: None}[database.driver_on_host]
    return _facts("Program" if database.kind == "shell" else "Database", [
        ("kind", database.kind),
        ("version", database.version),
        ("driver", database.driver),
        ("driver on the measured host", where),
        *_named(database.parameters),
    ])  # fmt: skip


def _named(values: Mapping[str, str]) -> list[tuple[str, object]]:
    return sorted((plain(name), value) for name, value in values.items())
