"""A run in the test's own process: ``measured(url, ...)`` is ``dbcpu run URL`` without its report."""

from pathlib import Path

from dbcpu.config.targets import resolve
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.measure_run import Choices, Watcher


class Listener(Watcher):
    """Keeps what a user would have been told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, what: str) -> None:
        self.said.append(what)


def measured(target: str, folder: Path, choices: Choices) -> tuple[RunRecord, list[str]]:
    """The run as it was kept, and what was said meanwhile. Raises as ``runner.run``."""
    listener = Listener()
    with open_store(str(folder / "runs.db")) as store:
        run_id = measure_run.run(resolve(target, lambda _: None), choices, store, listener, forced=True)
        return store.load(run_id), listener.said
