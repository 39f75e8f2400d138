"""The answers of stored runs in one word: what ``dbcpu list --verdict`` adds."""

from collections.abc import Mapping, Sequence

from dbcpu.analysis.checks.headline import one_word
from dbcpu.analysis.explain import explain
from dbcpu.store.database import RunSummary, Store
from dbcpu.workflows.readable_runs import ReadableRuns


def verdicts(store: Store, runs: Sequence[RunSummary]) -> Mapping[str, str]:
    """Run -> its answer; '' for a run that cannot be read, or is an experiment with a question of its own."""
    readable, words = ReadableRuns(store), {}
    for each in runs:
        record = readable.load(each.run_id)
        words[each.run_id] = one_word(explain(record)) if record else ""
    return words
