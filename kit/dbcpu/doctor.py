"""What can be measured here, what would spoil it, and how to mend it: findings before any run."""

import os
from collections.abc import Iterator

from dbcpu import registry
from dbcpu.findings import Finding, Level
from dbcpu.hosts.base import Host
from dbcpu.record import HostInfo
from dbcpu.settle import Quiet
from dbcpu.targets.base import Target
from dbcpu.topology import usable_vcpus


def examine(target: Target, host: Host | None, info: HostInfo | None, quiet: Quiet | None) -> tuple[Finding, ...]:
    """All findings of target and host, the gravest first. ``quiet``: how busy the host was before, if looked at."""
    found = [*target.findings(), *sampling(host)]
    if host is not None and info is not None:
        found += _counters(host)
        found += _limits(info)
        found += _processors(info)
        found += _driver(target, info)
    if quiet is not None and not quiet.settled:
        found.append(
            Finding(
                "host-busy",
                Level.WARNING,
                f"other work uses {quiet.busy_share or 0:.0%} of the host's CPU",
                "it competes with the sessions, and the result will be worse than the host",
                "stop it, or measure at a quieter time",
            )
        )
    return tuple(sorted(found, key=lambda finding: -finding.level))


def sampling(host: Host | None) -> Iterator[Finding]:
    """What each sampler can do here."""
    why = {name: registry.load("samplers", name).unavailable(host) for name in registry.names("samplers")}
    best = best_sampler(host)
    if best == "none":
        reasons = "; ".join(reason for reason in why.values() if reason)
        yield Finding(
            "not-sampled",
            Level.INFO,
            f"server processes are not sampled: {reasons}",
            "elapsed times and the database's counters alone tell less: causes on the host stay unnamed",
            "run dbcpu on the database's own host to see CPUs, run queues and steal",
        )
    else:
        yield Finding("sampled", Level.INFO, f"server processes are sampled by {best}", "each loss can be traced")


def best_sampler(host: Host | None) -> str:
    """The sampler to use when none is asked for."""
    usable = [name for name in registry.names("samplers") if not registry.load("samplers", name).unavailable(host)]
    return next((name for name in usable if name != "none"), "none")


def _counters(host: Host) -> Iterator[Finding]:
    if not _readable(host, "/proc/self/schedstat"):
        yield Finding(
            "no-schedstat",
            Level.WARNING,
            "this kernel has no /proc/PID/schedstat",
            "time on the run queue cannot be told from steal; CPU time has a resolution of 10 ms",
            "use a kernel with CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT",
        )
    if not _readable(host, "/proc/self/sched"):
        yield Finding(
            "no-migration-count",
            Level.INFO,
            "this kernel has no /proc/PID/sched",
            "moves between two polls stay unseen and uncounted",
        )


def _limits(info: HostInfo) -> Iterator[Finding]:
    quota = info.limits.quota_cpus
    if quota is not None:
        yield Finding(
            "cpu-quota",
            Level.WARNING,
            f"a quota allows {quota:g} CPUs ({info.limits.quota_source})",
            "sessions beyond it are throttled, which looks like slow CPUs from inside the database",
            "raise or remove the quota if it is not meant to be measured",
        )
    online = sum(cpu.online for cpu in info.topology.cpus)
    vcpus, decided_by = usable_vcpus(info)
    if vcpus < online and quota is None:
        yield Finding(
            "fewer-cpus",
            Level.INFO,
            f"{vcpus} of {online} CPUs may be used ({decided_by})",
            "levels and ideals count only those",
        )


def _processors(info: HostInfo) -> Iterator[Finding]:
    threads = max((len(cpu.siblings) for cpu in info.topology.cpus if cpu.online), default=1)
    if threads > 1:
        yield Finding(
            "smt",
            Level.INFO,
            f"{threads} hardware threads share each core",
            "beyond one session per core some share a core and run slower",
        )
    elif info.hypervisor:
        yield Finding(
            "smt-unknown",
            Level.INFO,
            f"the {info.hypervisor} guest is shown one thread per core",
            "the hypervisor may hide that CPUs share a core; the throughput curve will tell",
        )
    if info.governor in ("powersave", "conservative", "ondemand"):
        yield Finding(
            "governor",
            Level.WARNING,
            f"the frequency governor is {info.governor}",
            "CPUs may run below their full frequency, and differently from run to run",
            "cpupower frequency-set -g performance",
        )


def _driver(target: Target, info: HostInfo) -> Iterator[Finding]:
    if not target.private:
        yield Finding(
            "driver-on-host",
            Level.INFO,
            "dbcpu runs on the database's own host",
            "its own use of CPU is measured and shown; it is below a few per cent of one CPU",
        )
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, AttributeError):
        yield Finding(
            "no-realtime",
            Level.INFO,
            "real-time priority is not permitted",
            "with many sessions on few CPUs the release takes longer (see the skew) and polls come less often",
            "run as root, or allow it: ulimit -r 1",
        )


def _readable(host: Host, path: str) -> bool:
    try:
        return bool(host.read(path))
    except OSError:
        return False
