"""How busy the host was, and by whom, in rounds that no sampler saw: by the counters that the database reports.

Busy time less the CPU time of the sessions and of dbcpu itself is that of other processes; in a soak less what sessions
that go on may have used since they delivered, too. The counters are used only
if they moved as far as time did: busy and idle time of all CPUs have to add up to the round, within a tenth. A view
that is refreshed too seldom, or that counts for other CPUs than it names, shows itself by that, and so does steal.
"""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from dbcpu.analysis.sessions.valid_sessions import database_cpu_s
from dbcpu.formatting import percent
from dbcpu.record.rounds import HostCounters, Round

COVERED = (0.9, 1.1)
"""Of the CPU time that there was between the two readings."""


class HostUse(Struct, frozen=True):
    """Medians over rounds, as shares of all CPU time of the host. ``others`` and ``queue_s`` (run-queue wait of all
    processes, seconds in a round) are None where they are not counted.
    """

    source: str
    busy: float
    others: float | None
    queue_s: float | None

    @property
    def words(self) -> str:
        """How busy the host was, as a clause."""
        by_others = "" if self.others is None else f", {percent(self.others)} by other processes"
        return f"the host's CPUs were {percent(self.busy)} busy{by_others}"


def host_use(rounds: Sequence[Round]) -> HostUse | None:
    """What the counters of these rounds say; None where there are none that can be used."""
    usable = [(each, each.host_counters) for each in rounds if each.host_counters and covers_all(each.host_counters)]
    busy = [share for each, _ in usable if (share := busy_share(each)) is not None]
    if not busy:
        return None
    others = [share for each, _ in usable if (share := others_share(each)) is not None]
    queued = [counters.queue_s for _, counters in usable if counters.queue_s is not None]
    return HostUse(
        usable[0][1].source, median(busy), median(others) if others else None, median(queued) if queued else None
    )


def covers_all(counters: HostCounters) -> bool:
    """Whether busy and idle time add up to the time of all CPUs; waiting for I/O is part of idle time, or beside it."""
    if counters.busy_s is None or counters.idle_s is None or not counters.cpus or counters.window_s <= 0:
        return False
    there_s = counters.window_s * counters.cpus
    sums_s = (counters.busy_s + counters.idle_s, counters.busy_s + counters.idle_s + (counters.iowait_s or 0.0))
    return any(COVERED[0] <= sum_s / there_s <= COVERED[1] for sum_s in sums_s)


def busy_share(round_: Round) -> float | None:
    """Of all CPU time of the host; None where the counters cannot be used."""
    counters = round_.host_counters
    if counters is None or counters.busy_s is None or not counters.cpus or not covers_all(counters):
        return None
    return min(1.0, counters.busy_s / (counters.window_s * counters.cpus))


def others_share(round_: Round) -> float | None:
    """What neither sessions nor dbcpu used; None where the counters, or the CPU time of a session, are not known."""
    counters, used_s = round_.host_counters, [database_cpu_s(session) for session in round_.sessions]
    if counters is None or counters.busy_s is None or not counters.cpus or not covers_all(counters):
        return None
    own_s = [each for each in used_s if each is not None]
    if len(own_s) < len(used_s):
        return None
    others_s = counters.busy_s - sum(own_s) - counters.kit_cpu_s - counters.unsettled_s
    return max(0.0, others_s / (counters.window_s * counters.cpus))
