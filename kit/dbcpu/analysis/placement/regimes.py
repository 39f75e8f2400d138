"""Is there a core for every session, only a hardware thread, or not even that? As a word, and in seconds.

The word follows from the number of sessions alone. The seconds follow from where they ran: every second of a
runnable session is spent alone on a core, misplaced (on a shared core while an allowed core was idle, or in
a queue while an allowed CPU was), sharing a core because there was no better place, or oversubscribed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.placement.occupancy import Occupancy, by_core
from dbcpu.analysis.placement.residency import Stretches, stretches
from dbcpu.analysis.placement.valid_sessions import Timed
from dbcpu.analysis.statistics.cumulative import spread_by
from dbcpu.formatting import plural
from dbcpu.record import Round, RunRecord

SOLO = "solo"
WITHIN_CORES = "within cores"
WITHIN_VCPUS = "within vcpus"
SHARING_CORES = "sharing cores"
OVERSUBSCRIBED = "oversubscribed"
TAKEN_SHARE = 0.5
"""A CPU on which other processes ran for more than this share of a slice of the timeline was not idle in it."""


def vcpu_count(record: RunRecord) -> int | None:
    """vCPUs that the sessions may use: as the plan found, else those of the host; None when unknown."""
    if record.header.plan.vcpus is not None:
        return record.header.plan.vcpus
    return len(usable_cores(record)) or None


def vcpu_words(record: RunRecord) -> str:
    """``8 vCPUs``; ``CPU quota of 2.5`` where that is what bounds them."""
    quota = bounding_quota(record)
    return plural(vcpu_count(record) or 0, "vCPU") if quota is None else f"CPU quota of {quota:g}"


def bounding_quota(record: RunRecord) -> float | None:
    """The CPU quota where sessions may use fewer vCPUs than there are because of it, in CPUs; else None."""
    vcpus, host = vcpu_count(record) or 0, record.header.host
    quota = host.limits.quota_cpus if host else None
    return quota if quota is not None and quota <= vcpus < len(usable_cores(record)) else None


def core_count(record: RunRecord) -> int | None:
    """Cores behind these vCPUs as the topology shows them, or as the plan has them; None where neither does."""
    cores = set(usable_cores(record).values())
    vcpus = vcpu_count(record)
    if not cores or vcpus is None:
        return record.header.plan.cores
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


@dataclass(frozen=True, slots=True)
class RegimeSeconds:
    """Session-seconds of one round, while all of its sessions ran; their sum is all runnable time that is known.

    ``tail_misplaced_s`` is what was misplaced after the first session had ended: fixed work ends ragged,
    and cores that fall idle then are no part of the verdict. Both are None where it was not recorded what the CPUs did:
    one without a session need not be idle.
    """

    alone_s: float
    misplaced_s: float | None
    sharing_s: float
    oversubscribed_s: float
    tail_misplaced_s: float | None

    @property
    def runnable_s(self) -> float:
        return self.alone_s + (self.misplaced_s or 0.0) + self.sharing_s + self.oversubscribed_s


def regime_seconds(members: Sequence[Timed], cores: Mapping[int, int]) -> RegimeSeconds | None:
    """Where the time of one round's sessions went; None if they were not sampled, or no core is known.
    ``cores``: core by CPU, of all CPUs that are to count as places.
    """
    counted = {each.session.ordinal: (each.span.start_s, each.span.end_s) for each in members if each.span}
    ran = list(counted.values())
    if not cores or not ran or not all(each.session.residency for each in members if each.span):
        return None
    each = members[0].round
    every = stretches(each)
    # A session that does not count held its CPU all the same.
    runnable = every.clipped([counted.get(one.ordinal, (-np.inf, np.inf)) for one in each.sessions])
    known = cores.keys() >= set(runnable.cpu.tolist()) or np.isin(runnable.cpu, list(cores))
    runnable = runnable.where(runnable.runnable & known)
    from_s, to_s = max(start for start, _ in ran), min(end for _, end in ran)
    if to_s <= from_s:
        from_s, to_s = min(start for start, _ in ran), max(end for _, end in ran)
    every_cpu = frozenset(cores)
    usable = {one: every_cpu.intersection(one) or every_cpu for one in {one.allowed_cpus for one in each.sessions}}
    allowed = [usable[one.allowed_cpus] for one in each.sessions]
    occupancy = Occupancy(runnable, by_core(cores), _foreign(each, every, cores))
    last_s = max(to_s, *(end for _, end in ran))
    total_s = np.zeros(5)
    for cpus in dict.fromkeys(allowed):
        own = (
            runnable.where(np.array([one == cpus for one in allowed])[runnable.session])
            if len(usable) > 1
            else runnable
        )
        found = occupancy.sessions(own, sorted(cpus))
        parts = (found.alone, found.misplaced, found.sharing, found.oversubscribed)
        total_s += [*(occupancy.curve(part).during(from_s, to_s) for part in parts),
                    occupancy.curve(found.misplaced).during(to_s, last_s)]  # fmt: skip
    alone_s, misplaced_s, sharing_s, oversubscribed_s, tail_s = (float(part_s) for part_s in total_s)
    if not each.cpu_timeline:
        return RegimeSeconds(alone_s, None, sharing_s, oversubscribed_s, None)
    return RegimeSeconds(alone_s, misplaced_s, sharing_s, oversubscribed_s, tail_s)


def _foreign(round_: Round, every: Stretches, cores: Mapping[int, int]) -> dict[int, list[tuple[float, float]]]:
    """By CPU: the slices of the timeline in which something else had it; it was no idle place then.

    A session whose CPU time is not known counts as running for as long as it was runnable.
    """
    edges = np.array(round_.timeline_s)
    known = not np.isnan(every.cpu_s).any()
    counted = every if known else every.where(every.runnable)
    ran = spread_by(counted.cpu, counted.from_s, counted.to_s, counted.cpu_s if known else counted.length_s)
    rows = [row for row in round_.cpu_timeline if row.cpu in cores and len(row.busy_s) == len(edges) - 1]
    if not rows:
        return {}
    cpus, slices = np.array([row.cpu for row in rows]), len(edges) - 1
    ran_s = ran.between(np.repeat(cpus, slices), np.tile(edges[:-1], cpus.size), np.tile(edges[1:], cpus.size))
    used_s = np.add([row.busy_s for row in rows], [row.steal_s for row in rows])
    found: dict[int, list[tuple[float, float]]] = {}
    taken = used_s - ran_s.reshape(cpus.size, slices) > TAKEN_SHARE * np.diff(edges)
    for row, at in np.argwhere(taken).tolist():
        found.setdefault(int(cpus[row]), []).append((float(edges[at]), float(edges[at + 1])))
    return found
