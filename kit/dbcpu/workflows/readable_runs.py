"""The runs of a store without those that cannot be read: one damaged run must not hide the history of all others."""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from dbcpu.analysis.comparison.brief_header import BriefHeader
from dbcpu.analysis.history.limits import KEY_FACTS, HistoryKey, history_key
from dbcpu.errors import DbcpuError, RecordFormatError, UsageError, did_you_mean
from dbcpu.formatting import plain, shortened
from dbcpu.record.figures import VERSION
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import RunSummary, Store

MAX_NAMED = 20
"""Targets or hosts in a sentence."""
FIRST = 200
"""Of a history, read at once."""


class ReadableRuns:
    """A store's runs; each that is damaged, or newer than this program, is named once on standard error."""

    def __init__(self, store: Store, *, are_listed: bool = False) -> None:
        """``are_listed``: those too are listed, and lack only what their rounds would show."""
        self._store, self._are_listed = store, are_listed
        self._left_out: set[str] = set()
        self._keys: dict[str, str] = {}

    @property
    def left_out(self) -> frozenset[str]:
        """The runs that could not be read so far."""
        return frozenset(self._left_out)

    def list(self, target: str | None = None, host: str | None = None) -> tuple[RunSummary, ...]:
        """All that are listed, the newest first; whether they can be read is seen later."""
        self._keys |= self._store.figures.texts("history_key", VERSION)
        return self._store.list(None, target, host)

    def newest_first(self, target: str) -> Iterator[RunSummary]:
        """The same one by one: of a long history few are needed."""
        first = self._store.list(FIRST, target)
        yield from first
        if len(first) == FIRST:
            seen = {each.run_id for each in first}
            yield from (each for each in self._store.list(None, target) if each.run_id not in seen)

    def header(self, run_id: str) -> Header | None:
        """None where it cannot be read."""
        try:
            return None if run_id in self._left_out else self._store.header_of(run_id)
        except RecordFormatError as error:
            self._leave_out(run_id, error)
            return None

    def brief_headers(self, run_ids: Sequence[str]) -> dict[str, BriefHeader | Header]:
        """Of those that can be read and are still there."""
        wanted = [run_id for run_id in run_ids if run_id not in self._left_out]
        found: dict[str, BriefHeader | Header] = {}
        for run_id, header in self._store.headers_as(BriefHeader, wanted).items():
            if isinstance(header, RecordFormatError):
                self._leave_out(run_id, header)
            else:
                found[run_id] = header
        return found

    def load(self, run_id: str) -> RunRecord | None:
        """None where it cannot be read."""
        try:
            return None if run_id in self._left_out else self._store.load(run_id)
        except RecordFormatError as error:
            self._leave_out(run_id, error)
            return None

    def look_up_keys(self, run_ids: Sequence[str]) -> None:
        """Those that are kept, for ``history_key``: a question for each run takes many times as long."""
        if unknown := [run_id for run_id in run_ids if run_id not in self._keys]:
            found = self._store.figures.of(unknown, VERSION, ["history_key"])
            self._keys |= {each: found[each].text("history_key") if each in found else "" for each in unknown}

    def history_key(self, run_id: str) -> HistoryKey | None:
        """As kept with the figures, else of its header; None where it cannot be read."""
        self.look_up_keys([run_id])
        if (kept := _parsed(self._keys[run_id])) is not None:
            return kept
        header = self.header(run_id)
        return None if header is None else history_key(header)

    def _leave_out(self, run_id: str, error: RecordFormatError) -> None:
        self._left_out.add(run_id)
        say_left_out(run_id, error, is_listed=self._are_listed)


@cache
def _parsed(text: str) -> HistoryKey | None:
    """Of most runs it is that of the run before. None for what is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    fits = isinstance(found, list) and len(found) == KEY_FACTS and all(isinstance(each, str | None) for each in found)
    return tuple(found) if fits else None


def say_left_out(run_id: str, error: DbcpuError, *, is_listed: bool = False) -> None:
    """A sentence on standard error. ``is_listed``: the run has its row, without an answer."""
    what = "has no answer" if is_listed else "is left out"
    sys.stderr.write(f"dbcpu: {plain(f'run {run_id} {what}: {error}')}\n")


def none_kept(what: str, target: str | None, host: str | None) -> str:
    """That no such run (``what``: "run", "complete run") is in the store, and what helps."""
    chosen = "".join([f" of target {target!r}" if target else "", f" on host {host!r}" if host else ""])
    helps = "; dbcpu list shows which there are" if chosen else " yet; dbcpu run measures one"
    return plain(f"no {what}{chosen} is kept{helps}")


def refuse_unknown(store: Store, what: str, target: str | None, host: str | None) -> None:
    """Raises UsageError where one of these was requested: that there is no such run, and of what there are runs."""
    if target is None and host is None:
        return
    there = store.list()
    named = {"target": (target, {each.target for each in there}), "host": (host, {each.hostname for each in there})}
    for kind, (given, known) in named.items():
        if given is not None and given not in known and there:
            names = sorted(filter(None, known))
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            listed = ", ".join(map(shortened, names[:MAX_NAMED])) or "none"
            raise UsageError(
                f"no run of {kind} {given!r} is kept{did_you_mean(given, names)}; {kind}s with runs: {listed}{more}"
            )
    raise UsageError(none_kept(what, target, host) if there else none_kept("run", None, None))
