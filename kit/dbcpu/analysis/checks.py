"""What a DBA should know before trusting the figures, and what the figures say: the list of findings.

Each finding comes from one small function of ``validity`` (was the work done, is the run whole, was the
sampling good enough), ``disturbance`` (what else was on the host) or ``outcome`` (what was found).
"""

from collections.abc import Sequence

from dbcpu.analysis import disturbance, outcome, validity
from dbcpu.analysis.base import LevelView, Reference, SessionView, SharedCore
from dbcpu.analysis.facts import Facts
from dbcpu.analysis.spans import Timed
from dbcpu.findings import Finding
from dbcpu.record import RunRecord


def checks(
    record: RunRecord,
    sessions: Sequence[Timed],
    views: Sequence[SessionView],
    levels: Sequence[LevelView],
    reference: Reference | None,
    vcpus: int | None,
    shared_core: SharedCore | None = None,
) -> tuple[Finding, ...]:
    """All findings, the gravest first."""
    facts = Facts(record, tuple(sessions), tuple(views), tuple(levels), reference, vcpus, shared_core)
    found = [check(facts) for check in (*validity.CHECKS, *disturbance.CHECKS, *outcome.CHECKS)]
    return tuple(sorted((each for each in found if each), key=lambda each: -each.level))
