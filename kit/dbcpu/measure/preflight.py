"""What can be measured here, what would distort it, and how to fix that: findings before any run."""

import os
from collections.abc import Iterable, Iterator

from dbcpu import registry
from dbcpu.errors import UsageError
from dbcpu.formatting import percent, plural
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.quiesce import Quiet
from dbcpu.hosts.topology import HIDDEN_PROCESSES, allowed_cores, usable_vcpus
from dbcpu.measure.host_counters import reading
from dbcpu.measure.samplers.base import best_sampler, equal_preferences, reasons_against
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import AUTONOMOUS, RDS, HostInfo
from dbcpu.record.reported_steal import why_unseen
from dbcpu.record.service_remedies import without_host
from dbcpu.targets.base import Target
from dbcpu.variants import _restore as restore

_SERVICES = {"rds": RDS, "autonomous": AUTONOMOUS, "autonomous-parallel": AUTONOMOUS}


def examine(
    target: Target, host: Host | None, info: HostInfo | None, quiet: Quiet | None, why: str
) -> tuple[Finding, ...]:
    """All findings of target and host, the most severe first.

    ``quiet``: how busy the host was before, if measured. ``why``: the route to the host, or why there is none.
    """
    found = [*target.findings(), *restore.findings()]
    found += [noted("plug-in-ignored", clash) for clash in registry.clashes()]
    found += [noted("equal-preference", equal) for equal in equal_preferences()]
    if any(finding.code == "not-identified" for finding in found):
        seen = "server processes are not sampled: the database does not report them"
        found.append(without_host(noted("not-sampled", seen + counted_instead(target)), why, _service(found)))
    else:
        found += sampling(host, why, counted_instead(target), _service(found))
    if host is not None and info is not None:
        found += _counters(host)
        found += _limits(info)
        found += _processors(info)
        found += _steal(info)
        found += _driver(target, host)
    if quiet is not None and not quiet.settled:
        found.append(noted("host-busy", f"other work uses {percent(quiet.busy_share or 0)} of the host's CPU"))
    return tuple(sorted(found, key=lambda finding: -finding.level))


def _service(found: Iterable[Finding]) -> str:
    """The managed service that one of the target's findings names."""
    return next((_SERVICES[each.code] for each in found if each.code in _SERVICES), "")


def sampling(host: Host | None, why: str, instead: str = "", service: str = "") -> Iterator[Finding]:
    """The sampler that will be used, and the route to the host.

    ``instead``: what there is without one, in words. ``service``: the managed service of the database, '' for none.
    """
    best = best_sampler(host)
    if best != "none":
        yield noted("sampled", f"verified server processes are sampled {why} (sampler {best})")
        return
    if host is not None:
        why = "; ".join(reasons_against(host))
    found = noted("not-sampled", f"server processes are not sampled: {why}{instead}", level=Level.INFO)
    yield without_host(found, why, service)


def exact_placement(host: Host) -> Finding:
    """Whether ``--sampler trace`` can be used there, which is tried by a trace of a moment."""
    from dbcpu.measure.samplers.trace import refusal  # a run that does not trace needs no module of it

    if why := refusal(host, sudo=False):
        return noted("no-exact-placement", f"exact placement is not possible here: {why}")
    return noted("exact-placement", "exact placement is possible here")


def counted_instead(target: Target) -> str:
    """Which counters of the host the database offers where its processes are not sampled; '' for none."""
    counters = reading(target)
    return f"; host's CPU counters: by {counters.source}" if counters else ""


def vcpus_of(given: int | None, info: HostInfo | None, target: Target) -> tuple[int | None, str]:
    """``given`` by --vcpus, else the smaller number of host and database; never that of the driver's machine."""
    if given is not None:
        return given, "--vcpus"
    known = [found for found in (usable_vcpus(info) if info else None, target.vcpus()) if found]
    return min(known, key=lambda found: found[0]) if known else (None, "unknown")


def check_counts(info: HostInfo | None, vcpus: int | None, cores: int | None) -> None:
    """Raises UsageError where --vcpus or --cores is more than the host has online, whatever limits there are."""
    online = [cpu for cpu in info.topology.cpus if cpu.online] if info else []
    if online and vcpus is not None and vcpus > len(online):
        raise UsageError(
            f"the host shows {plural(len(online), 'CPU')}, and --vcpus says {vcpus}; --vcpus is for hosts that cannot "
            "be looked at, or for a database that is limited to fewer: leave it out"
        )
    shown = len({cpu.core for cpu in online if cpu.core >= 0})
    if shown and cores is not None and cores > shown:
        raise _other_cores(shown, cores)


def seen_cores(info: HostInfo | None, cores: int | None, threads: int | None, vcpus: int | None) -> int | None:
    """Those that the host shows, else as ``cores_of``. Raises UsageError where what is given contradicts the host."""
    seen = allowed_cores(info) if info else None
    given = cores_of(cores, threads, vcpus)
    if seen is not None and given not in (None, seen):
        raise _other_cores(seen, given)
    return given if seen is None else seen


def _other_cores(shown: int, given: int | None) -> UsageError:
    return UsageError(
        f"the host shows {plural(shown, 'core')}, and {given} are given; --cores and --threads-per-core are for "
        "hosts that cannot be looked at: leave them out"
    )


def cores_of(cores: int | None, threads: int | None, vcpus: int | None) -> int | None:
    """Cores behind ``vcpus``, given by --cores or --threads-per-core. Raises UsageError where they contradict."""
    if cores is None and threads is not None and vcpus is not None:
        cores = vcpus // threads
    if cores is None or vcpus is None:
        return cores
    if not 1 <= cores <= vcpus or (threads is not None and cores * threads != vcpus):
        per_core = f" with {plural(threads, 'thread')} per core" if threads is not None else ""
        raise UsageError(
            f"{plural(vcpus, 'vCPU')} cannot be {plural(cores, 'core')}{per_core}; correct --vcpus, --cores or "
            "--threads-per-core"
        )
    return cores


def _counters(host: Host) -> Iterator[Finding]:
    if not _readable(host, "/proc/self/schedstat"):
        yield noted("no-schedstat", "this kernel has no /proc/PID/schedstat")
    if not _readable(host, "/proc/self/sched"):
        yield noted("no-migration-count", "this kernel has no /proc/PID/sched")


def _limits(info: HostInfo) -> Iterator[Finding]:
    quota = info.limits.quota_cpus
    if quota is not None:
        yield noted("cpu-quota", f"a quota allows {plural(quota, 'CPU')} ({info.limits.quota_source})")
    online = sum(cpu.online for cpu in info.topology.cpus)
    vcpus, decided_by = usable_vcpus(info)
    if vcpus < online and quota is None:
        yield noted("fewer-cpus", f"{vcpus} of {online} CPUs are usable (limited by {decided_by})")
    if HIDDEN_PROCESSES in info.facts:
        where = f" ({info.container})" if info.container else ""
        yield noted("hidden-processes", f"processes outside of the database's PID namespace are not listed{where}")


def _processors(info: HostInfo) -> Iterator[Finding]:
    threads = max((len(cpu.siblings) for cpu in info.topology.cpus if cpu.online), default=1)
    if threads > 1:
        yield noted("smt", f"each core has {threads} hardware threads")
    elif info.hypervisor:
        yield noted("smt-unknown", f"{info.hypervisor} reports one thread per core to this guest")
    if info.governor in ("powersave", "conservative", "ondemand"):
        yield noted("governor", f"the frequency governor is {info.governor}")


def _steal(info: HostInfo) -> Iterator[Finding]:
    if unseen := why_unseen(info, counted=False):
        yield noted("steal-unseen", unseen)


def _driver(target: Target, host: Host) -> Iterator[Finding]:
    if not target.private and not isinstance(host, RemoteHost):
        yield noted("driver-here", "dbcpu runs on the database's own host")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, AttributeError):
        yield noted("no-realtime", "dbcpu has no permission for real-time priority")


def _readable(host: Host, path: str) -> bool:
    try:
        return bool(host.read(path))
    except OSError:
        return False
