"""CPU time of processes that are not listed: seen from inside a container, those of the rest of its node.

/proc/stat there is that of the whole node, so what its CPUs were busy beyond all that is listed was used by others.
Sources: pid_namespaces(7), proc_stat(5)
"""

from msgspec import Struct

from dbcpu.hosts.base import Host
from dbcpu.hosts.driver_process import boot_id
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import HIDDEN_PROCESSES
from dbcpu.measure.samplers.base import Sampled
from dbcpu.record.header import HostInfo
from dbcpu.record.rounds import UNLISTED, Foreign, KitCost

MIN_UNSEEN_S = 0.05
"""/proc/stat counts in 10 ms, and is read a moment after the sessions' own counters."""


class UnseenLoad(Struct, frozen=True):
    """``driver_there``: dbcpu itself runs on those CPUs, and what it used is no load of others."""

    driver_there: bool

    def foreign(self, sampled: Sampled, cost: KitCost) -> tuple[Foreign, ...]:
        """The sum as one entry; () where it is too small to count, or the CPU time of a session is not known."""
        used = [one.cpu_s for one in sampled.sessions]
        if not sampled.cpu_timeline or not used or None in used:
            return ()
        busy = {row.cpu: sum(row.busy_s) - sum(row.irq_s) - sum(row.softirq_s) for row in sampled.cpu_timeline}
        known_s = sum(each or 0.0 for each in used) + sum(one.cpu_s for one in sampled.foreign)
        left_s = sum(busy.values()) - known_s - self._kit_s(cost)
        if left_s < max(MIN_UNSEEN_S, 0.01 * len(busy)):
            return ()
        cpus = tuple(sorted(cpu for cpu, busy_s in busy.items() if busy_s > 0))
        return (Foreign(UNLISTED, "other processes", round(left_s, 6), cpus),)

    def _kit_s(self, cost: KitCost) -> float:
        there_s = (cost.sampler_cpu_s or 0.0) + (cost.witness_cpu_s or 0.0)
        return there_s + (cost.driver_cpu_s if self.driver_there else 0.0)


def unseen_load(host: Host | None, info: HostInfo | None) -> UnseenLoad | None:
    """None where every process of the host is listed."""
    if host is None or info is None or HIDDEN_PROCESSES not in info.facts:
        return None
    there, here = boot_id(host), boot_id(LocalHost())
    return UnseenLoad(driver_there=there is not None and there == here)
