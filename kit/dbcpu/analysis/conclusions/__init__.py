"""What a DBA should know before trusting the figures, and what the figures say: the list of findings.

Each finding comes from one small function of ``validity`` (was the work done, is the run whole, was the sampling good
enough), ``database_counters`` (did the database compute and nothing else), ``host_findings`` (what else was on the
host) or ``session_findings`` (what was found of the sessions).
"""

from dbcpu.analysis.conclusions import database_counters, host_findings, session_findings, validity
from dbcpu.analysis.conclusions.check_input import CheckInput
from dbcpu.findings import Finding
from dbcpu.remedies import where


def checks(given: CheckInput) -> tuple[Finding, ...]:
    """All findings, the gravest first, with remedies that can be carried out where the database is."""
    every = (*validity.CHECKS, *database_counters.CHECKS, *host_findings.CHECKS, *session_findings.CHECKS)
    found = [check(given) for check in every]
    service = given.record.header.database.service
    return tuple(sorted((where(each, service) for each in found if each), key=lambda each: -each.level))
