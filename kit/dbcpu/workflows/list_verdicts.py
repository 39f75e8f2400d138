"""The answers of stored runs in one word, and what is quoted of their hosts: what ``dbcpu list --verdict`` adds."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbcpu.analysis.results.quote import QUOTE_METRICS, Quote, kept_quote
from dbcpu.store.database import RunSummary, Store
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns


class AnswerOfRun(Struct, frozen=True):
    """``verdict`` is '' for a run that cannot be read, or is an experiment with a question of its own.

    ``disturbance``: the finding of what took the host's CPU meanwhile; '' for nothing much.
    """

    verdict: str = ""
    quote: Quote = Quote()
    disturbance: str = ""


def verdicts(store: Store, runs: Sequence[RunSummary]) -> Mapping[str, AnswerOfRun]:
    """By run."""
    run_ids = [each.run_id for each in runs]
    known = KeptFigures(store, ReadableRuns(store, are_listed=True), compared=True).of(
        run_ids, ["verdict", *QUOTE_METRICS]
    )
    return {
        run_id: AnswerOfRun(known[run_id].text("verdict"), kept_quote(known[run_id]), known[run_id].text("disturbance"))
        if run_id in known
        else AnswerOfRun()
        for run_id in run_ids
    }
