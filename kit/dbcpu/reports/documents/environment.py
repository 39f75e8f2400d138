"""The environment as names and values: what has to be the same to repeat the measurement."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from dbcpu.config.origins import NOTES
from dbcpu.formatting import UNKNOWN, gibibytes, plain, plural, short_ranges
from dbcpu.record.header import IMPORTED, Plan, WorkloadInfo
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import RunRecord, Session
from dbcpu.reports.document import FactList


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
    quota, none = host.limits.quota_cpus, "not known" if record.header.is_imported else "none found"
    held = f"{plural(quota, 'CPU')} ({host.limits.quota_source})" if quota is not None else none.removesuffix(" found")
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
        ("hypervisor", host.hypervisor or none),
        ("steal", steal_unseen(record)),
        ("container", host.container or none),
        ("memory", memory),
        ("SMT", smt),
        ("SMT control", host.topology.smt_control or ""),
        ("allowed CPUs", short_ranges(host.limits.allowed_cpus)),
        ("CPU quota", held),
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


def server_memory(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Name and value for each variant whose sessions have a memory policy; none on a host with one node.

    The shares are those of all memory of all its sessions at the end of their rounds: memory that sessions share
    counts once for each.
    """
    by_variant: defaultdict[str, list[Session]] = defaultdict(list)
    for each in record.rounds:
        by_variant[each.variant] += [one for one in each.sessions if one.memory_policy]
    several = len(by_variant) > 1
    for variant, sessions in by_variant.items():
        if sessions:
            yield "server processes' memory" + (f", {variant}" if several else ""), _words(sessions)


def _words(sessions: list[Session]) -> str:
    policies = Counter(one.memory_policy for one in sessions)
    said = ", ".join(
        f"policy {name}" + (f" ({count} of {len(sessions)} sessions)" if len(policies) > 1 else "")
        for name, count in policies.most_common()
    )
    on_node: Counter[int] = Counter()
    for one in sessions:
        on_node.update({each.node: each.resident_bytes for each in one.node_memory})
    total = on_node.total()
    if not total:
        return f"{said}; how much on each node is not known"
    shares = (f"{100 * on_node[node] / total:.0f} % on node {node}" for node in sorted(on_node))
    return f"{said}; {', '.join(shares)}"
