"""The runs of a store without those that cannot be read: one damaged run must not hide the history of all others."""

import sys

from dbcpu.errors import RecordFormatError
from dbcpu.formatting import plain
from dbcpu.record import Header, RunRecord
from dbcpu.store.database import RunSummary, Store


class ReadableRuns:
    """A store's runs; each that is damaged, or newer than this program, is named once on standard error."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._left_out: set[str] = set()

    def list(self, target: str | None = None, host: str | None = None) -> tuple[RunSummary, ...]:
        """All that are listed, the newest first; whether they can be read is seen later."""
        return self._store.list(None, target, host)

    def header(self, run_id: str) -> Header | None:
        """None where it cannot be read."""
        try:
            return None if run_id in self._left_out else self._store.header(run_id)
        except RecordFormatError as error:
            self._leave_out(run_id, error)
            return None

    def load(self, run_id: str) -> RunRecord | None:
        """None where it cannot be read."""
        try:
            return None if run_id in self._left_out else self._store.load(run_id)
        except RecordFormatError as error:
            self._leave_out(run_id, error)
            return None

    def _leave_out(self, run_id: str, error: RecordFormatError) -> None:
        self._left_out.add(run_id)
        say_left_out(run_id, error)


def say_left_out(run_id: str, error: RecordFormatError) -> None:
    """A sentence on standard error."""
    sys.stderr.write(f"dbcpu: {plain(f'run {run_id} is left out: {error}')}\n")
