"""The rounds of one variant as a run of their own, on the host as its sessions had it: without CPUs taken from them.

Nor with more vCPUs than instance caging left them.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.placement.usable_cpus import vcpu_count
from dbcpu.errors import UnknownName
from dbcpu.record.header import AA, BASELINE, Cpu, Header
from dbcpu.record.rounds import Round, RunRecord

_CAGE = "cage:"
"""How the variants of instance caging begin. Source: Oracle Database Reference, CPU_COUNT"""


def one_variant(record: RunRecord, variant: str | None = None) -> RunRecord:
    """The rounds of one variant as a run of their own; by default of the first. Raises UnknownName."""
    known = tuple(dict.fromkeys((*record.header.plan.variants, *(each.variant for each in record.rounds))))
    chosen = variant or known[0]
    if chosen not in known:
        raise UnknownName(f"variant of run {record.header.run_id}", chosen, known)
    header = replace(record.header, plan=replace(record.header.plan, variants=(chosen,)))
    rounds = tuple(each for each in record.rounds if each.variant == chosen)
    if not real_variants(record):
        return RunRecord(header, rounds)
    usual = [each for each in record.rounds if each.variant == BASELINE]
    found = host_of_variant(replace(header, plan=replace(header.plan, rounds=None)), rounds, usual)
    return RunRecord(_caged(found, chosen), rounds)


def real_variants(record: RunRecord) -> tuple[str, ...]:
    """The variants of a run that differ in what they are, in the plan's order; () for one, or twice the same (A/A)."""
    names = record.header.plan.variants
    return names if len(names) > 1 and names != AA else ()


def host_of_variant(header: Header, rounds: Sequence[Round], usual: Sequence[Round]) -> Header:
    """The header with the CPUs that were seen in these rounds, and no more vCPUs than those.

    It stays as it is where they had the same as in the ``usual`` rounds, which the header describes.
    """
    host = header.host
    if host is None:
        return header
    if usual and (_online(rounds), _allowed(rounds)) == (_online(usual), _allowed(usual)):
        return header
    online = _online(rounds) or {each.cpu for each in host.topology.cpus if each.online}
    usable = (_allowed(rounds) or set(host.limits.allowed_cpus)) & online or online
    cpus = tuple(_cpu(each, online) for each in host.topology.cpus)
    vcpus = header.plan.vcpus
    return replace(
        header,
        plan=replace(header.plan, vcpus=None if vcpus is None else min(vcpus, len(usable))),
        host=replace(
            host,
            topology=replace(host.topology, cpus=cpus),
            limits=replace(host.limits, allowed_cpus=tuple(sorted(usable))),
        ),
    )


def _caged(header: Header, variant: str) -> Header:
    """With no more vCPUs than a cage leaves the instance: its sessions run on all CPUs, but not on more at a time."""
    count = variant.removeprefix(_CAGE)
    if count == variant or not count.isdecimal():
        return header
    vcpus = min(int(count), vcpu_count(RunRecord(header, ())) or int(count))
    return replace(header, plan=replace(header.plan, vcpus=vcpus, vcpus_source="instance caging"))


def _online(rounds: Sequence[Round]) -> set[int]:
    """CPUs that /proc/stat listed in every sampled round."""
    seen = [{series.cpu for series in each.cpu_timeline} for each in rounds if each.cpu_timeline]
    return set.intersection(*seen) if seen else set()


def _allowed(rounds: Sequence[Round]) -> set[int]:
    return {cpu for each in rounds for session in each.sessions for cpu in session.allowed_cpus}


def _cpu(each: Cpu, online: set[int]) -> Cpu:
    if each.cpu not in online:
        return Cpu(each.cpu, -1, -1, -1, (), online=False)
    return replace(each, siblings=tuple(cpu for cpu in each.siblings if cpu in online))
