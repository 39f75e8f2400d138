"""What a DBA should know before trusting the figures, and what the figures say: the list of findings.

Each finding comes from one small function of ``validity`` (was the work done, is the run whole, was the sampling good
enough), ``database_counters`` (did the database compute and nothing else), ``disturbance`` (what else was on the host)
or ``outcome`` (what was found).
"""

from dbcpu.analysis.checks import database_counters, disturbance, outcome, validity
from dbcpu.analysis.checks.check_input import CheckInput
from dbcpu.findings import Finding
from dbcpu.remedies import where


def checks(given: CheckInput) -> tuple[Finding, ...]:
    """All findings, the gravest first, with remedies that can be carried out where the database is."""
    found = [
        check(given) for check in (*validity.CHECKS, *database_counters.CHECKS, *disturbance.CHECKS, *outcome.CHECKS)
    ]
    service = given.record.header.database.service
    return tuple(sorted((where(each, service) for each in found if each), key=lambda each: -each.level))
