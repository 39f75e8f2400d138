"""The sides of a comparison as they are named on the command line, and the runs that these names mean."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.experiments.party_runs import party_runs
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.config.given_file import is_file, is_there
from dbcpu.errors import RecordFormatError, UnknownName, UsageError
from dbcpu.formatting import plain
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import load_run, open_store
from dbcpu.store.record_file import SUFFIXES, refuse_url
from dbcpu.workflows.import_runs import read_run
from dbcpu.workflows.readable_runs import say_left_out

PUBLISHED_SUFFIX = ".csv"
"""Of a table of published figures, and of a run that was imported."""
SHORT = 20
"""A longer name makes no column."""
BY_LABEL = "label:"
_CPUS = re.compile(r"\d{1,4}(-\d{1,4})?$")
"""What follows a comma within ``RUN:cpus:0-3,8``: no run has so short a name."""


class GivenSide(Struct, frozen=True):
    """One side as it was given: its runs, its name if it has one, and how it was written."""

    name: str
    candidates: tuple[Candidate, ...]
    written: str = ""

    @property
    def first(self) -> Candidate:
        return self.candidates[0]


class RunsOnce(Struct):
    """Reads the runs of a comparison, each name once: variants of one run are then seen to be of one run at no cost."""

    store: str | None
    _read: dict[str, RunRecord] = {}

    def read(self, run: str) -> RunRecord:
        """A run of the store, or of a file that can be imported. Raises as ``load_run`` and ``read_run``."""
        if run not in self._read:
            self._read[run] = _record(run, self.store)
        return self._read[run]


def given_sides(text: str, runs_once: RunsOnce) -> Iterator[GivenSide]:
    """``[NAME=]SIDE``; the name is '' unless it was given. A single run of several variants makes several sides.

    Raises:
        UsageError: no run is named, or one among several has variants of its own.
        StoreError: a run cannot be read.
    """
    name, equals, side = text.partition("=")
    # The parameters of a URL, which a target of several may be, have an equals sign as well.
    if not equals or "://" in name or text.startswith(BY_LABEL) or is_there(text):
        name, side = "", text
    runs = _runs(side, runs_once.store)
    if len(runs) == 1:
        candidates = _candidates(runs[0], runs_once)
        for each in candidates:
            yield GivenSide(f"{name} {each.variant}" if name and len(candidates) > 1 else name, (each,))
        return
    if side.startswith(BY_LABEL):
        runs, found = _readable(runs, runs_once)
    else:
        found = [_candidates(run, runs_once) for run in runs]
    several = next((run for run, candidates in zip(runs, found, strict=True) if len(candidates) > 1), None)
    if several is not None:
        raise UsageError(f"run {several} has several variants; name one of them among the runs of a side: RUN:VARIANT")
    yield GivenSide(name, tuple(candidates[0] for candidates in found))


def with_names(sides: Sequence[GivenSide]) -> list[GivenSide]:
    """Those without a name: by variant, label, host, target or file, the first that is short and differs for all.

    Raises UsageError where two have one name.
    """
    for name_of in (_variant, _label, _label_and_variant, _host, _target, None):
        of_side = (_all(each, name_of) if name_of else {_file_stem(each.written)} for each in sides)
        names = ["".join(found) if len(found) == 1 else "" for found in of_side]
        if all(0 < len(name) <= SHORT for name in names) and len(set(names)) == len(names):
            break
    else:
        letters = [chr(ord("A") + at) if at < 26 else str(at + 1) for at in range(len(sides))]
        names = [f"run{'s' if len(each.candidates) > 1 else ''} {at}" for each, at in zip(sides, letters, strict=True)]
    found = [replace(each, name=plain(each.name) or name) for each, name in zip(sides, names, strict=True)]
    if twice := next((name for name, times in Counter(each.name for each in found).items() if times > 1), None):
        raise UsageError(f"two of these are called {twice!r}; give each its own name: NAME=RUN")
    return found


def by_name(wishes: Sequence[str], sides: Sequence[GivenSide]) -> list[str]:
    """``SIDE=WISH`` as ``NAME=WISH``, where SIDE is a side as it was written: ``label:before``, a file, a run."""
    made = []
    for wish in wishes:
        side, _, wanted = wish.rpartition("=")
        known = any(each.name == side for each in sides)
        names = [] if known else [each.name for each in sides if side and _is_written(side, each)]
        made += [f"{name}={wanted}" for name in names] or [wish]
    return made


def _record(run: str, store: str | None) -> RunRecord:
    """A run of the store, or of a file in any form that can be imported. Raises as ``load_run`` and ``read_run``."""
    if not (is_file(run) and Path(run).suffix):
        return load_run(run, store)
    record, warning = read_run(run)
    if warning:
        sys.stderr.write(f"warning: {warning}\n")
    return record


def _readable(runs: Sequence[str], runs_once: RunsOnce) -> tuple[list[str], list[list[Candidate]]]:
    """Without those that cannot be read, which are named. Raises the error of the last where none can."""
    found: dict[str, list[Candidate]] = {}
    for run in runs:
        try:
            found[run] = _candidates(run, runs_once)
        except RecordFormatError as error:
            if run == runs[-1] and not found:
                raise
            say_left_out(run, error)
    return list(found), list(found.values())


def _runs(side: str, store: str | None) -> list[str]:
    """The runs of ``RUN,RUN,...`` or of ``label:TEXT``, in which a comma is part of the text. Raises UsageError."""
    if side.startswith(BY_LABEL):
        return _labelled(side.removeprefix(BY_LABEL), store)
    if is_there(side):
        return [side]
    runs: list[str] = []
    for part in side.split(","):
        if runs and _CPUS.match(part) and ":" in runs[-1]:
            runs[-1] += f",{part}"
        else:
            runs.append(part.strip())
    if not all(runs):
        raise UsageError(f"{side!r} names no run before or after a comma; give RUN,RUN,RUN")
    return runs


def _labelled(label: str, store: str | None) -> list[str]:
    if not label.strip():
        raise UsageError(f"{BY_LABEL} needs a label, such as {BY_LABEL}old; `dbcpu list` shows the labels there are")
    with open_store(store, create=False) as opened:
        found = [each.run_id for each in opened.list() if each.label == label and each.status == "complete"]
    if not found:
        raise UsageError(f"no complete run has the label {label!r}; `dbcpu list` shows the labels there are")
    return found[::-1]


def _candidates(text: str, runs_once: RunsOnce) -> list[Candidate]:
    """``RUN[:VARIANT]``, without a name; without a variant all of them."""
    refuse_url(text)
    run, variant = (text, "") if is_there(text) else _run_and_variant(text)
    record = runs_once.read(run)
    if parties := party_runs(record):
        return _parties(record, parties, variant)
    if variant:
        one_variant(record, variant)
        return [Candidate("", record, variant)]
    variants = tuple(dict.fromkeys(each.variant for each in record.rounds))
    if len(variants) < 2:
        return [Candidate("", record)]
    return [Candidate("", record, each) for each in variants]


def _parties(record: RunRecord, parties: Sequence[RunRecord], variant: str) -> list[Candidate]:
    """A target of a run of several, alone or ``+together``; without a name all of them. Raises UnknownName."""
    by_name = {each.header.plan.variants[0]: each for each in parties}
    if variant and variant not in by_name:
        raise UnknownName(f"target of run {record.header.run_id}", variant, by_name)
    chosen = [variant] if variant else list(by_name)
    return [Candidate("", by_name[name], name) for name in chosen]


def _run_and_variant(name: str) -> tuple[str, str]:
    """A variant, or a target of several, may have colons of its own: ``last:cpus:0-3``, ``last:postgresql://db1/x``.

    So may a file; a run_id has none.
    """
    splits = [(name[:at], name[at + 1 :]) for at, letter in enumerate(name) if letter == ":"]
    files = [split for split in splits if split[0].endswith(SUFFIXES) or is_file(split[0])]
    return next(iter(files or splits), (name, ""))


def _file_stem(written: str) -> str:
    """``old`` of ``records/old.json.gz``; '' where a side is no file."""
    suffix = next((each for each in (*SUFFIXES, PUBLISHED_SUFFIX) if written.endswith(each)), "")
    return plain(Path(written).name.removesuffix(suffix)) if suffix else ""


def _all(side: GivenSide, name_of: Callable[[Candidate], str]) -> set[str]:
    return {name_of(each) for each in side.candidates}


def _variant(each: Candidate) -> str:
    return each.variant or ""


def _label(each: Candidate) -> str:
    return plain(each.record.header.label)


def _label_and_variant(each: Candidate) -> str:
    return plain(f"{each.record.header.label} {each.variant or ''}")


def _host(each: Candidate) -> str:
    host = each.record.header.host
    return plain(host.hostname) if host else ""


def _target(each: Candidate) -> str:
    return plain(each.record.header.plan.target)


def _is_written(text: str, side: GivenSide) -> bool:
    plainly = side.written.removeprefix(f"{side.name}=")
    return text in (side.written, plainly, _file_stem(plainly))
