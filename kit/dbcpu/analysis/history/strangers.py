"""Was the host busy with work that is not the run's, for most of the run?

A figure that is worse on such a host is not shown to be the host's: what others took may be all of it.
"""

from collections.abc import Iterable, Sequence

from dbcpu.analysis.checks.disturbance import FOREIGN_SHARE
from dbcpu.analysis.history.limits import Violation
from dbcpu.analysis.placement.host_time import typical_foreign_share, typical_share
from dbcpu.formatting import percent
from dbcpu.record import Round

STOLEN_SHARE = 0.05
"""Of the CPU time: the default limit of ``dbcpu check``."""
EXPLAINED = frozenset({"solo", "throughput", "slowdown", "max_over_min", "connect_s", "steal"})
"""The metrics of a check that less CPU makes worse."""


def strangers(rounds: Sequence[Round], vcpus: int | None) -> str:
    """What others took of the host, median of the rounds, in words; '' for less than 5 %, or where it is not known."""
    found = []
    used = typical_foreign_share(rounds, vcpus)
    if used > FOREIGN_SHARE:
        found.append(f"other processes used {percent(used)} of all vCPUs")
    if (stolen := typical_share(rounds) or 0.0) > STOLEN_SHARE:
        found.append(f"{percent(stolen)} of the CPU time was stolen")
    return " and ".join(found)


def explained(violations: Iterable[Violation]) -> bool:
    """Whether strangers may be all of them: none is of something else, and none has lasted for several runs."""
    return all(each.metric in EXPLAINED and not each.lasting for each in violations)
