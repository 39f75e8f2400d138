"""Is there a core for every session, only a hardware thread, or not even that?"""

from dbcpu.record import RunRecord

SOLO = "solo"
WITHIN_CORES = "within cores"
WITHIN_VCPUS = "within vcpus"
SHARING_CORES = "sharing cores"
OVERSUBSCRIBED = "oversubscribed"


def vcpu_count(record: RunRecord) -> int | None:
    """vCPUs that the sessions may use: as the plan found, else those of the host; None when unknown."""
    if record.header.plan.vcpus is not None:
        return record.header.plan.vcpus
    return len(usable_cores(record)) or None


def core_count(record: RunRecord) -> int | None:
    """Cores behind these vCPUs as the topology shows them, or None without a topology."""
    cores = set(usable_cores(record).values())
    vcpus = vcpu_count(record)
    if not cores or vcpus is None:
        return None
    return min(len(cores), vcpus)


def usable_cores(record: RunRecord) -> dict[int, int]:
    """Core of every online CPU that the database may use."""
    host = record.header.host
    if host is None:
        return {}
    online = {each.cpu: each.core for each in host.topology.cpus if each.online and each.core >= 0}
    return {cpu: core for cpu, core in online.items() if cpu in host.limits.allowed_cpus} or online


def regime(level: int, cores: int | None, vcpus: int | None) -> str:
    """``solo``, ``within cores``, ``sharing cores``, ``oversubscribed``; ``within vcpus`` if cores are not known.

    '' when not even the number of vCPUs is known.
    """
    if level == 1:
        return SOLO
    if vcpus is None:
        return ""
    if level > vcpus:
        return OVERSUBSCRIBED
    if cores is None:
        return WITHIN_VCPUS
    return WITHIN_CORES if level <= cores else SHARING_CORES
