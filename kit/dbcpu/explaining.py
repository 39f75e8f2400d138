"""Explains a run with the user's own rules: what ``run``, ``show`` and ``report`` show."""

from collections.abc import Sequence

from dbcpu.analysis.base import Analysis
from dbcpu.analysis.explain import explain
from dbcpu.record import RunRecord
from dbcpu.rulebook import choose
from dbcpu.settings import settings


def explained(record: RunRecord, licences: Sequence[str] = ()) -> Analysis:
    """The analysis, with licences by the rules of dbcpu.toml, or only by those named.

    Raises:
        UnknownName: no rule is called so; the message lists those there are.
        UsageError: dbcpu.toml is wrong.
    """
    return explain(record, choose(settings().sizing.licences, licences))
