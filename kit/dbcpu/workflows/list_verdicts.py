"""The answers of stored runs in one word, and what is quoted of their hosts: what ``dbcpu list --verdict`` adds."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbcpu.analysis.results.quote import QUOTE_METRICS, Quote, kept_quote
from dbcpu.record.figures import RunFigures
from dbcpu.store.database import RunSummary, Store
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns


class AnswerOfRun(Struct, frozen=True):
    """``verdict`` is '' for a run that cannot be read, or is an experiment with a question of its own.

    Of such an experiment ``headline`` is its answer in words; else ''. ``disturbance``: the finding of what took the
    host's CPU meanwhile; '' for nothing much.
    """

    verdict: str = ""
    quote: Quote = Quote()
    disturbance: str = ""
    headline: str = ""


def verdicts(store: Store, runs: Sequence[RunSummary]) -> Mapping[str, AnswerOfRun]:
    """By run."""
    run_ids = [each.run_id for each in runs]
    known = KeptFigures(store, ReadableRuns(store, are_listed=True), compared=True).of(
        run_ids, ["verdict", "headline", *QUOTE_METRICS]
    )
    return {run_id: _answer(known[run_id]) if run_id in known else AnswerOfRun() for run_id in run_ids}


def _answer(figures: RunFigures) -> AnswerOfRun:
    verdict = figures.text("verdict")
    headline = "" if verdict else figures.text("headline")
    return AnswerOfRun(verdict, kept_quote(figures), figures.text("disturbance"), headline)
