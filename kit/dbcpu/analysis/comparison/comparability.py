"""What of two runs may be compared, and what differs between them? Named facts, nothing guessed.

Speed needs the same work: SQL text (by hash, hints left aside: what they do shows in the plan), size, answer and plan
shape. Evenness and scaling do not. Everything else may differ, for it is often what is being compared, and is listed.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping

from dbcpu.analysis.comparison.brief_header import BriefHeader
from dbcpu.analysis.results.comparison import Difference
from dbcpu.errors import UsageError
from dbcpu.formatting import plural
from dbcpu.record.header import Header


def _size(header: Header) -> str:
    return f"{header.plan.workload.size} (n = {header.plan.workload.n})"


_HINTS = re.compile(r"/\*\+\s*(.*?)\s*\*/", re.DOTALL)
_WHERE_KEPT = " (CURSOR DURATION MEMORY)"
"""Oracle 12.2 and newer keep the rows of a common table expression in memory: the same operator."""


def _sql(header: Header) -> str | None:
    """The hash of the text without its hints."""
    work = header.plan.workload
    if work.sql_hash is None or work.sql is None or not _HINTS.search(work.sql):
        return work.sql_hash and f"hash {work.sql_hash[:12]}"
    bare = " ".join(_HINTS.sub(" ", work.sql).split())
    return f"hash {hashlib.sha256(bare.encode()).hexdigest()[:12]} without hints"


def _block(header: Header) -> str | None:
    """Of the workload that reads blocks: as many rows fit in other blocks, and a row then is another piece of work."""
    size = header.database.parameters.get("db_block_size")
    return f"{size} bytes" if size and header.plan.workload.name == "logical_io" else None


def _hints(header: Header | BriefHeader) -> str:
    return "; ".join(" ".join(found.split()) for found in _HINTS.findall(header.plan.workload.sql or ""))


def _shape(header: Header) -> str | None:
    shape = header.plan.workload.plan_shape
    return shape and shape.replace(_WHERE_KEPT, "")


MUST_AGREE: Mapping[str, Callable[[Header], str | None]] = {
    "workload": lambda header: header.plan.workload.name,
    "unit of work": lambda header: header.plan.workload.unit,
    "size": lambda header: None if header.plan.workload.n is None else _size(header),
    "answer": lambda header: header.plan.workload.answer,
    "SQL": _sql,
    "plan shape": _shape,
    "block size": _block,
}


def other_work(base: Header, other: Header) -> str:
    """The first fact in which the work differs, with both values; '' for the same. An unknown fact is ignored.

    Of two kinds of database it is said which value is whose.
    """
    kinds = (base.database.kind, other.database.kind)
    for fact, value_of in MUST_AGREE.items():
        left, right = value_of(base), value_of(other)
        if left is not None and right is not None and left != right:
            if kinds[0] != kinds[1]:
                left, right = (
                    f"{value} of {kind or 'unnamed kind'}" for value, kind in ((left, kinds[0]), (right, kinds[1]))
                )
            return f"{fact} {right} against {left}"
    return ""


ONE_SIDE: Mapping[str, Callable[[Header], str | None]] = {
    "target": lambda header: header.plan.target,
    "number of vCPUs": lambda header: None if header.plan.vcpus is None else str(header.plan.vcpus),
    "number of cores": lambda header: named_facts(header).get("cores"),
}
"""What the runs of one side have in common, besides the work."""


def refuse_mixed_side(first: Header, other: Header) -> None:
    """Raises UsageError where two runs are not of the same target and work; an unknown fact is ignored."""
    if found := other_work(first, other):
        raise UsageError(
            f"runs {other.run_id} and {first.run_id} cannot be one side: their work differs ({found}); give several "
            "runs of the same target and work, separated by commas"
        )
    for fact, value_of in ONE_SIDE.items():
        left, right = value_of(first), value_of(other)
        if left is not None and right is not None and left != right:
            raise UsageError(
                f"runs {first.run_id} and {other.run_id} cannot be one side: their {fact} differs ({left} against "
                f"{right}); give several runs of the same target and work, separated by commas"
            )


def differences(base: Header, other: Header) -> tuple[Difference, ...]:
    """Facts that differ, in a fixed order; unknown is ``-``."""
    return facts_that_differ(named_facts(base), named_facts(other))


def facts_that_differ(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[Difference, ...]:
    """The same of the ``named_facts`` of two runs."""
    if left == right:
        return ()
    names = list(dict.fromkeys((*left, *right)))
    pairs = ((name, left.get(name) or "-", right.get(name) or "-") for name in names)
    return tuple(Difference(name, one, two) for name, one, two in pairs if one != two)


_OF_THE_MOMENT = frozenset({"node_free_memory"})
"""Facts of a host that are others in every run."""


def named_facts(header: Header | BriefHeader) -> dict[str, str]:
    """Whatever may differ between runs, by its words; '' is unknown."""
    plan, host, database = header.plan, header.host, header.database
    facts = {
        "database": f"{database.kind} {database.version}",
        "driver": database.driver,
        "driver on the host": _yes(database.driver_on_host),
        "tool version": header.tool_version,
        "hints": _hints(header),
        "variant": ", ".join(plan.variants),
        "amount": plural(plan.executions, "execution") if plan.executions else f"for {plan.for_s or 0:g} s",
        "vCPUs": "" if plan.vcpus is None else str(plan.vcpus),
        "sampler": plan.sampler,
    }
    if host is not None:
        topology, limits, none = host.topology, host.limits, "" if header.is_imported else "none"
        online = [each for each in topology.cpus if each.online]
        facts |= {
            "host": host.hostname,
            "CPU": host.cpu_model,
            "kernel": host.kernel,
            "hypervisor": host.hypervisor or none,
            "container": host.container or none,
            "online CPUs": str(len(online)),
            "cores": str(len({each.core for each in online})),
            "sockets": str(len({each.socket for each in online})),
            "memory nodes": str(len({each.node for each in online})),
            "SMT": _yes(topology.smt_active, "on", "off"),
            "SMT control": topology.smt_control or "",
            "governor": host.governor or "",
            "allowed CPUs": str(len(limits.allowed_cpus)),
            "vCPUs": facts["vCPUs"] if not _is_quota(plan.vcpus, limits.quota_cpus) else "as the CPU quota",
            "CPU quota": none if limits.quota_cpus is None else f"{limits.quota_cpus:g}",
        }
        facts |= {f"host: {name}": value for name, value in host.facts.items() if name not in _OF_THE_MOMENT}
    return facts | {f"parameter {name}": value for name, value in database.parameters.items()}


def way_to_connect(header: Header) -> str:
    """By what its sessions connect, without a version: a program for each (``psql``), or a package in one process."""
    return header.database.driver.partition(" ")[0]


def _is_quota(vcpus: int | None, quota_cpus: float | None) -> bool:
    """Whether the vCPUs are a CPU quota, rounded up."""
    return quota_cpus is not None and vcpus == math.ceil(quota_cpus)


def _yes(value: bool | None, yes: str = "yes", no: str = "no") -> str:
    return "" if value is None else yes if value else no
