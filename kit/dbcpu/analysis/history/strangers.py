"""Was the host busy with work that is not the run's, for most of the run?

A figure that is worse on such a host is not shown to be the host's: what others took may be all of it.
"""

from collections.abc import Iterable

from dbcpu.analysis.history.limits import Violation
from dbcpu.formatting import percent
from dbcpu.record.figures import RunFigures
from dbcpu.record.run_findings import FOREIGN_SHARE

STOLEN_SHARE = 0.05
"""Of the CPU time, or the limit of ``dbcpu check`` where that is lower."""
EXPLAINED = frozenset({"solo", "throughput", "slowdown", "max_over_min", "connect_s", "steal"})
"""The metrics of a check that less CPU makes worse."""


def strangers(figures: RunFigures, steal_limit: float | None = None, who: str = "") -> str:
    """What others took of the host, median of the rounds, in words; '' for little, or where it is not known.

    ``steal_limit``: the share of steal that the check allows. More is a violation, and then the host was busy, too.
    ``who``: which processes used most of that, where the rounds are at hand.
    """
    used, stolen = figures.value("others_share") or 0.0, figures.value("steal_share") or 0.0
    found = [f"other processes used {percent(used)} of all vCPUs{who and f', {who}'}"] if used > FOREIGN_SHARE else []
    much = min(STOLEN_SHARE, steal_limit or STOLEN_SHARE)
    found += [f"{percent(stolen)} of the CPU time was stolen"] if stolen > much else []
    return " and ".join(found)


def stranger_words(others: str, *, may_be_all: bool) -> str:
    """Said beside what is worse. ``others``: what ``strangers`` found; ``may_be_all``: ``may_all_be_strangers``."""
    if may_be_all:
        return f"the host was busy with strangers ({others}): not shown to be a worse host, measure again"
    return f"meanwhile {others}"


def may_all_be_strangers(violations: Iterable[Violation]) -> bool:
    """Whether strangers may be all of them: none is of something else, and none has lasted for several runs."""
    return all(each.metric in EXPLAINED and not each.lasting for each in violations)
