"""A run in the test's own process: ``measured(url, ...)`` is ``dbcpu run URL`` without its report."""

from pathlib import Path

from dbcpu import runner
from dbcpu.config import resolve
from dbcpu.record import RunRecord
from dbcpu.runner import Choices, Watcher
from dbcpu.store.database import open_store


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
        run_id = runner.run(resolve(target, lambda _: None), choices, store, listener, forced=True)
        return store.load(run_id), listener.said
