"""Whether rounds can join a stored run: only of the same host, database and work; and the run's header then."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from dbcpu import __version__
from dbcpu.errors import UsageError
from dbcpu.formatting import plain, ranges
from dbcpu.record.header import Database, Header, HostInfo, Plan, WorkloadInfo
from dbcpu.record.rounds import RunRecord


class EarlierRun(Struct, frozen=True):
    """A stored run, to which rounds are added."""

    record: RunRecord

    def refuse_other(
        self, host: HostInfo | None, database: Database, workload: WorkloadInfo, vcpus: int | None
    ) -> None:
        """Raises UsageError where what would be measured is not what it measured; all differences are named."""
        header = self.record.header
        found = list(_differences(header, host, database, workload, vcpus))
        if found:
            raise UsageError(
                f"no rounds can be added to run {header.run_id}: {'; '.join(found)}; measure a run of its own, "
                f"and compare: dbcpu compare {header.run_id} last"
            )

    def joined(self, now: Header, rounds: int | None) -> Header:
        """Its header while this process adds rounds to it; ``rounds``: so many, if known beforehand."""
        header, done = self.record.header, len(self.record.rounds)
        planned = None if header.plan.rounds is None or rounds is None else done + rounds
        fresh = [note for note in now.notes if note not in header.notes]
        which = f"the rounds after the first {done}" if done else "all rounds"
        note = f"added: {which}, from {now.started_at} on, by dbcpu {__version__}"
        return replace(
            header,
            status="running",
            driver=now.driver,
            plan=replace(header.plan, rounds=planned),
            notes=(*header.notes, *fresh, note),
        )


def _differences(
    earlier: Header, host: HostInfo | None, database: Database, workload: WorkloadInfo, vcpus: int | None
) -> Iterator[str]:
    was, before = earlier.host, earlier.database
    if before.kind != database.kind:
        yield f"the run is of {before.kind}, and the target is {database.kind}"
        return
    pairs: list[tuple[str, object, object]] = [
        ("the database", f"{before.kind} {before.version}", f"{database.kind} {database.version}"),
        ("its driver", before.driver, database.driver),
        ("the workload", f"{_named(earlier.plan)}", f"{workload.name} {workload.size}, n = {workload.n}"),
        ("the SQL (SHA-256)", earlier.plan.workload.sql_hash, workload.sql_hash),
        ("the execution plan", earlier.plan.workload.plan_shape, workload.plan_shape),
        ("the number of vCPUs", earlier.plan.vcpus, vcpus),
    ]
    if was is None or host is None:
        pairs.append(("the host", "read" if was else "not read", "read" if host else "not read"))
    else:
        pairs += [
            ("the host", was.hostname, host.hostname),
            ("the kernel", was.kernel, host.kernel),
            ("the CPU model", was.cpu_model, host.cpu_model),
            ("the hypervisor", was.hypervisor, host.hypervisor),
            ("the frequency governor", was.governor, host.governor),
            ("the allowed CPUs", ranges(was.limits.allowed_cpus), ranges(host.limits.allowed_cpus)),
            ("the CPU quota", was.limits.quota_cpus, host.limits.quota_cpus),
        ]
        if was.topology.cpus != host.topology.cpus:
            yield "the CPUs of the host, their cores or which of them are online, are not the same"
    yield from (f"{what} was {_shown(old)} and is {_shown(new)}" for what, old, new in pairs if old != new)
    names = sorted({*before.parameters, *database.parameters})
    yield from (
        f"the setting {plain(name)} was {_shown(before.parameters.get(name))} "
        f"and is {_shown(database.parameters.get(name))}"
        for name in names
        if before.parameters.get(name) != database.parameters.get(name)
    )


def _named(made: Plan) -> str:
    return f"{made.workload.name} {made.workload.size}, n = {made.workload.n}"


def _shown(value: object) -> str:
    return "unknown" if value is None else plain(str(value))[:60] or "empty"
