"""What a DBA should know before trusting the figures, and what the figures say: the list of findings.

Each finding comes from one small function of ``measurement_findings`` (was the work done, is the run whole, was the
sampling good enough), ``database_findings`` (did the database compute and nothing else), ``host_findings`` (what else
was on the host), ``answer_findings`` (is the question answered) or ``session_findings`` (what was found of sessions).
"""

from dbcpu.analysis.conclusions import (
    answer_findings,
    database_findings,
    host_findings,
    measurement_findings,
    session_findings,
)
from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.record.findings import Finding
from dbcpu.record.service_remedies import where


def all_findings(given: FindingInput) -> tuple[Finding, ...]:
    """All findings, the gravest first, with remedies that can be carried out where the database is."""
    every = (
        *measurement_findings.FINDERS,
        *database_findings.FINDERS,
        *host_findings.FINDERS,
        *answer_findings.FINDERS,
        *session_findings.FINDERS,
    )
    found = [find(given) for find in every]
    service = given.record.header.database.service
    return tuple(sorted((where(each, service) for each in found if each), key=lambda each: -each.level))
