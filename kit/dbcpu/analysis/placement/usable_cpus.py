"""vCPUs and cores that the sessions may use: by the plan, the topology, and the CPU quota."""

from dbcpu.formatting import plural
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.record.run_findings import THROTTLED_SHARE


def vcpu_count(record: RunRecord) -> int | None:
    """vCPUs that the sessions may use: as the plan found, else those of the host; None when unknown."""
    if record.header.plan.vcpus is not None:
        return record.header.plan.vcpus
    return shown_vcpus(record)


def shown_vcpus(record: RunRecord) -> int | None:
    """vCPUs that the host shows, whatever a quota leaves of them; None when unknown."""
    return len(core_by_cpu(record)) or None


def vcpu_words(record: RunRecord) -> str:
    """``8 vCPUs``; ``CPU quota of 2.5`` where that is the limit of the sessions."""
    quota = limiting_quota(record)
    return plural(vcpu_count(record) or 0, "vCPU") if quota is None else f"CPU quota of {quota:g}"


def quota_of(record: RunRecord) -> float | None:
    """The CPU quota of the sessions together, in CPUs; None where there is none, or it is not known."""
    host = record.header.host
    return host.limits.quota_cpus if host else None


def cpu_time_per_s(record: RunRecord) -> float | None:
    """Seconds of CPU time per second that all sessions may use: the vCPUs, or the quota if less; None when unknown."""
    vcpus, quota = vcpu_count(record), quota_of(record)
    return None if vcpus is None else min(float(vcpus), quota or float("inf"))


def bounding_quota(record: RunRecord) -> float | None:
    """The CPU quota where sessions may use less than the CPUs that there are because of it, in CPUs; else None."""
    vcpus, quota = vcpu_count(record) or 0, quota_of(record)
    return quota if quota is not None and quota <= vcpus and quota < len(core_by_cpu(record)) else None


def limiting_quota(record: RunRecord) -> float | None:
    """The same as limit of the sessions, reached or not; None where the vCPUs are it (``is_quota_spare``)."""
    return None if is_quota_spare(record) else bounding_quota(record)


def is_quota_spare(record: RunRecord) -> bool:
    """Whether the quota leaves all CPUs in use, and the kernel counted that it stopped nobody.

    Beside interrupts that take half of one of 4 CPUs a quota of 3.5 is never used up: sessions wait for CPUs.
    """
    counted = [each for each in record.rounds if any(group.quota_cpus is not None for group in each.cgroups)]
    every = (vcpu_count(record) or 0) >= len(core_by_cpu(record))
    return every and bool(counted) and not any(map(_is_throttled, counted))


def _is_throttled(round_: Round) -> bool:
    lasted_s = round_.cost.window_s if round_.cost else 0.0
    return any(group.throttled_s > THROTTLED_SHARE * lasted_s for group in round_.cgroups)


def core_count(record: RunRecord) -> int | None:
    """Cores behind these vCPUs as the topology shows them, or as the plan has them; None where neither does."""
    cores = set(core_by_cpu(record).values())
    vcpus = vcpu_count(record)
    if not cores or vcpus is None:
        return record.header.plan.cores
    return min(len(cores), vcpus)


def core_by_cpu(record: RunRecord) -> dict[int, int]:
    """Core of every online CPU that the database may use."""
    host = record.header.host
    if host is None:
        return {}
    online = {each.cpu: each.core for each in host.topology.cpus if each.online and each.core >= 0}
    return {cpu: core for cpu, core in online.items() if cpu in host.limits.allowed_cpus} or online
