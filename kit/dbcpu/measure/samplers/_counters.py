"""What the counters of /proc mean, whoever read them.

Sources: proc(5), kernel Documentation/scheduler/sched-stats.rst, cgroup-v2.rst, sched-bwc.rst
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dbcpu.formatting import parse_cpu_list
from dbcpu.hosts.base import Host
from dbcpu.hosts.proc import ProcessStat, SchedStat
from dbcpu.hosts.topology import CpuGroup, cgroup_chain, group_named
from dbcpu.hosts.topology.limits import quota_of
from dbcpu.measure.samplers.base import Seen, Watched
from dbcpu.record.rounds import CgroupUse, CpuSeries, Foreign, NodeMemory, Residency

MIN_FOREIGN_S = 0.02
_NODE = re.compile(r"N\d+")
_SHARED_MEMORY = ("/dev/zero", "/SYSV", "/dev/shm/", "/memfd:", "/anon_hugepage")  # noqa: S108 - as numa_maps names it

Groups = dict[str, tuple[CpuGroup, float | None, list[int]]]
"""By folder: a control group, its quota in CPUs, and the ordinals of the sessions in it."""


def limiting_groups(host: Host, watched: Sequence[Watched]) -> Groups:
    """Groups of the watched with a CPU quota. Processes in the same group are read once."""
    chains: dict[str, tuple[CpuGroup, ...]] = {}
    groups: Groups = {}
    for one in watched:
        try:
            membership = host.read(f"/proc/{one.pid}/cgroup")
        except OSError:
            continue
        if membership not in chains:
            chains[membership] = cgroup_chain(host, one.pid)
        for group in chains[membership]:
            if group.folder not in groups:
                groups[group.folder] = (group, quota_of(host, group), [])
            groups[group.folder][2].append(one.ordinal)
    return {folder: entry for folder, entry in groups.items() if entry[1] is not None}


def seen(polled: Mapping[str, Any], ticks: int) -> Seen:
    before, after = polled["before"], polled["after"]
    status, status_before = _colon_pairs(after["status"]), _colon_pairs(before["status"])
    settings = status or status_before
    sched, sched_before = _colon_pairs(after["sched"]), _colon_pairs(before["sched"])
    cpu_s, source, delay_s = _cpu_time(polled, ticks)
    policy, nice = _policy(before["stat"])
    maps = polled["after"].get("numa_maps") or ""
    memory_policy = policy_of(maps)
    return Seen(
        ordinal=polled["ordinal"],
        allowed_cpus=parse_cpu_list(settings.get("Cpus_allowed_list", "")),
        policy=policy,
        nice=nice,
        cgroup=group_named(before["cgroup"] or ""),
        memory_nodes=_allowed_nodes(settings.get("Mems_allowed_list", ""), memory_policy),
        cpu_s=cpu_s,
        cpu_source=source,
        run_delay_s=delay_s,
        voluntary_switches=_gain(status_before, status, "voluntary_ctxt_switches"),
        involuntary_switches=_gain(status_before, status, "nonvoluntary_ctxt_switches"),
        migrations=_gain(sched_before, sched, "se.nr_migrations", "nr_migrations"),
        migrations_seen=polled["seen"],
        residency=tuple(
            Residency(cpu, state, from_s, to_s, *((run / 1e9, delay / 1e9) if source == "schedstat" else ()))
            for cpu, state, from_s, to_s, run, delay in polled["intervals"]
        ),
        vanished=polled["gone"],
        memory_policy=memory_policy,
        node_memory=node_memory(maps),
    )


def policy_of(maps: str) -> str | None:
    """The memory policy of a process, that of its first mapping: ``default``, ``bind:1``. None: not shown."""
    first = maps.split(maxsplit=2)
    return first[1] if len(first) > 1 else None


def node_memory(maps: str) -> tuple[NodeMemory, ...]:
    """By memory node; mapped files do not count, which lie where they were read first. numa(7)"""
    found: dict[int, int] = {}
    for line in maps.splitlines():
        fields = dict(word.split("=", 1) for word in line.split()[2:] if "=" in word)
        if not fields.get("file", "/dev/zero").startswith(_SHARED_MEMORY):
            continue
        for name, pages in fields.items():
            if _NODE.fullmatch(name):
                node, size_bytes = int(name[1:]), int(pages) * int(fields["kernelpagesize_kB"]) << 10
                found[node] = found.get(node, 0) + size_bytes
    return tuple(NodeMemory(*each) for each in sorted(found.items()))


def _allowed_nodes(listed: str, memory_policy: str | None) -> tuple[int, ...]:
    """What its control group allows, and its policy: the kernel's list knows of the group alone. cpusets.rst"""
    allowed = parse_cpu_list(listed)
    kind, _, bound = (memory_policy or "").rpartition(":")
    if kind.partition("=")[0] != "bind":
        return allowed
    return tuple(node for node in allowed if node in parse_cpu_list(bound))


def _cpu_time(polled: Mapping[str, Any], ticks: int) -> tuple[float | None, str | None, float | None]:
    """CPU seconds, where from, and run-queue seconds; the last poll's counters for a process that is gone."""
    before, after = polled["before"], polled["after"]
    if first := SchedStat.parse(before["schedstat"]):
        last = SchedStat.parse(after["schedstat"]) or SchedStat(*polled["last"])
        return (last.run_ns - first.run_ns) / 1e9, "schedstat", (last.run_delay_ns - first.run_delay_ns) / 1e9
    if before["stat"] and after["stat"]:
        first_ticks, last_ticks = (ProcessStat.parse(text).cpu_ticks for text in (before["stat"], after["stat"]))
        return (last_ticks - first_ticks) / ticks, "stat", None
    return None, None, None


def _policy(stat: str | None) -> tuple[str | None, int | None]:
    """Scheduling policy and nice value."""
    if not stat:
        return None, None
    found = ProcessStat.parse(stat)
    return found.policy, found.nice


def _colon_pairs(text: str | None) -> dict[str, str]:
    pairs = (line.partition(":") for line in (text or "").splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _gain(before: Mapping[str, str], after: Mapping[str, str], *names: str) -> int | None:
    name = next((name for name in names if name in before and name in after), None)
    return None if name is None else int(after[name]) - int(before[name])


def timeline(slices: list[list[Any]], ticks: int) -> tuple[tuple[float, ...], tuple[CpuSeries, ...]]:
    """Seconds per slice and CPU. CPUs that came or went meanwhile are left out."""
    times = tuple(float(now) for now, _ in slices)
    lasting = sorted(set.intersection(*(set(cpus) for _, cpus in slices)), key=int) if slices else []
    series = []
    for cpu in lasting:
        steps = [
            [(after - before) / ticks for before, after in zip(one[cpu], two[cpu], strict=True)]
            for (_, one), (_, two) in pairwise(slices)
        ]
        series.append(
            CpuSeries(
                int(cpu),
                busy_s=tuple(round(step[0] + step[1] + step[2] + step[5] + step[6], 6) for step in steps),
                steal_s=tuple(step[7] for step in steps),
                irq_s=tuple(step[5] for step in steps),
                softirq_s=tuple(step[6] for step in steps),
            )
        )
    return times, tuple(series)


def foreign(before: Mapping[str, list[Any]], after: Mapping[str, list[Any]], ticks: int) -> tuple[Foreign, ...]:
    """Processes by CPU used, most first; a pid that was given to another process counts from its start."""
    found = []
    for pid, (command, spent, cpu, started) in after.items():
        earlier = before.get(pid)
        same = earlier is not None and earlier[3] == started
        gained_s = (spent - (earlier[1] if same and earlier else 0)) / ticks
        if gained_s >= MIN_FOREIGN_S:
            cpus = {cpu, earlier[2]} if same and earlier else {cpu}
            found.append(Foreign(int(pid), command, gained_s, tuple(sorted(cpus))))
    return tuple(sorted(found, key=lambda one: -one.cpu_s))


def group_use(group: CpuGroup, quota: float | None, members: Sequence[int], texts: Sequence[str | None]) -> CgroupUse:
    before, after = (dict(line.split()[:2] for line in (text or "").splitlines()) for text in texts)

    def gain(key: str) -> int:
        return int(after.get(key, 0)) - int(before.get(key, 0))

    return CgroupUse(
        path=group.path,
        quota_cpus=quota,
        periods=gain("nr_periods"),
        throttled_periods=gain("nr_throttled"),
        throttled_s=gain(group.throttled_key) * group.throttled_unit_s,
        sessions=tuple(members),
    )


def cpu_s(stat: str | None, schedstat: str | None, ticks: int) -> float:
    """CPU seconds of a process so far; 0 when it is gone."""
    counted = SchedStat.parse(schedstat)
    if counted and counted.run_ns:
        return counted.run_ns / 1e9
    return ProcessStat.parse(stat).cpu_ticks / ticks if stat else 0.0
