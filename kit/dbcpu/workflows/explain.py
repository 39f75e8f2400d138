"""Explains a run with the user's own rules: what ``run``, ``show`` and ``report`` show."""

import sys
from collections.abc import Iterable, Sequence

from dbcpu.analysis.explain import explain_rounds
from dbcpu.analysis.history.against_earlier_runs import AgainstHistory
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rulebook import choose
from dbcpu.config.settings import settings
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import record_file
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.check import against_earlier_runs


def explained(header: Header, rounds: Iterable[Round], licences: Sequence[str] = ()) -> tuple[RunRecord, Analysis]:
    """The record that pictures are drawn of, and the analysis with licences by the rules of dbcpu.toml.

    Of a soak only some of the rounds are kept. ``licences``: only the rules of these names; one that is not applied is
    named on standard error.

    Raises:
        UnknownName: no rule is called so; the message lists those there are.
        UsageError: dbcpu.toml is wrong.
    """
    record, analysis = explain_rounds(header, rounds, choose(settings().sizing.licences, licences))
    applied = {each.rule for each in analysis.capacity.licences} if analysis.capacity else set[str]()
    for name in licences:
        if name not in applied:
            sys.stderr.write(
                f"dbcpu: the licence rule {name} is not applied: it is not for this host or database, or what it "
                "counts is not known of this run\n"
            )
    return record, analysis


def explained_run(
    name: str, url: str | None, licences: Sequence[str] = ()
) -> tuple[RunRecord, Analysis, AgainstHistory | None]:
    """The same of a file, or of a run in the store at ``url``, there with the runs of its target before it.

    Raises as ``Store.load`` and ``explained``.
    """
    if record_file.is_file_name(name):
        record = record_file.read(name)
        return *explained(record.header, record.rounds, licences), None
    with open_store(url, create=False) as store:
        header = store.header(name)
        record, analysis = explained(header, store.rounds(header.run_id), licences)
        return record, analysis, against_earlier_runs(store, header, run_figures(record, analysis))


def compared_with_history(store: Store, record: RunRecord, analysis: Analysis) -> AgainstHistory | None:
    """A run of ``store`` beside those of its target before it, whose figures are made where they are not kept."""
    return against_earlier_runs(store, record.header, run_figures(record, analysis), make=True)
