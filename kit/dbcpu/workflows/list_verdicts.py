"""The answers of stored runs in one word: what ``dbcpu list --verdict`` adds."""

from collections.abc import Mapping, Sequence

from dbcpu.store.database import RunSummary, Store
from dbcpu.workflows.kept_figures import KeptFigures


def verdicts(store: Store, runs: Sequence[RunSummary]) -> Mapping[str, str]:
    """Run -> its answer; '' for a run that cannot be read, or is an experiment with a question of its own."""
    run_ids = [each.run_id for each in runs]
    known = KeptFigures(store).of(run_ids, ["verdict"])
    return {run_id: known[run_id].text("verdict") if run_id in known else "" for run_id in run_ids}
