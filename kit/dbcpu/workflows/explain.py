"""Explains a run with the user's own rules: what ``run``, ``show`` and ``report`` show."""

from collections.abc import Sequence

from dbcpu.analysis.explain import explain, explain_rounds
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rulebook import choose
from dbcpu.config.settings import settings
from dbcpu.record import RunRecord
from dbcpu.store import record_file
from dbcpu.store.database import open_store


def explained(record: RunRecord, licences: Sequence[str] = ()) -> Analysis:
    """The analysis, with licences by the rules of dbcpu.toml, or only by those named.

    Raises:
        UnknownName: no rule is called so; the message lists those there are.
        UsageError: dbcpu.toml is wrong.
    """
    return explain(record, choose(settings().sizing.licences, licences))


def explained_run(name: str, url: str | None, licences: Sequence[str] = ()) -> tuple[RunRecord, Analysis]:
    """The same of a file, or of a run in the store at ``url``, and the record that its pictures are drawn of.

    Of a soak the rounds are read one by one and only some are kept. Raises as ``Store.load`` and ``explained``.
    """
    rules = choose(settings().sizing.licences, licences)
    if record_file.is_file_name(name):
        record = record_file.read(name)
        return explain_rounds(record.header, record.rounds, rules)
    with open_store(url, create=False) as store:
        header = store.header(name)
        return explain_rounds(header, store.rounds(header.run_id), rules)
