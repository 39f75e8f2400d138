"""From names on the command line to a document that compares: what ``dbcpu compare`` shows."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.cpu_scaling import by_cpus
from dbcpu.analysis.comparison.decisions import floor_from
from dbcpu.analysis.comparison.host_kind import FAIR
from dbcpu.analysis.comparison.measured_run import middle_words
from dbcpu.analysis.comparison.published import FORM, NEEDED, Published, parse
from dbcpu.analysis.comparison.published_runs import published_runs
from dbcpu.analysis.comparison.sizing import size
from dbcpu.analysis.comparison.variants import compare_variants, measured_variants
from dbcpu.analysis.experiments.disturbance_caveat import disturbance_caveat
from dbcpu.analysis.experiments.party_runs import party_runs
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.unfinished_run import unfinished_sentence
from dbcpu.analysis.levels.variant_rounds import one_variant, real_variants
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.given_file import is_file, is_there, read_given
from dbcpu.config.rulebook import choose
from dbcpu.config.rules import SizingRules
from dbcpu.config.settings import settings
from dbcpu.errors import RecordFormatError, StoreError, UnknownName, UsageError
from dbcpu.formatting import plain
from dbcpu.plan import not_varied
from dbcpu.record import RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents import by_cpus as of_by_cpus
from dbcpu.reports.documents import comparison as of_runs
from dbcpu.reports.documents import published as of_published
from dbcpu.reports.documents import variants as of_variants
from dbcpu.reports.documents.comparing_document import with_findings, with_first_words
from dbcpu.store import imported_csv
from dbcpu.store.database import load_run, open_store
from dbcpu.store.record_file import SUFFIXES, refuse_url
from dbcpu.workflows.given_shapes import with_shapes
from dbcpu.workflows.import_runs import holds_run, read_run
from dbcpu.workflows.readable_runs import say_left_out
from dbcpu.workflows.side_history import with_history

MAX_PUBLISHED_BYTES = 16 * 1024**2
PUBLISHED_SUFFIX = ".csv"
SHORT = 20
"""A longer name makes no column."""
BY_LABEL = "label:"
_CPUS = re.compile(r"\d{1,4}(-\d{1,4})?$")
"""What follows a comma within ``RUN:cpus:0-3,8``: no run has so short a name."""


class _Given(Struct, frozen=True):
    """One side as it was given: its runs, its name if it has one, and how it was written."""

    name: str
    candidates: tuple[Candidate, ...]
    written: str = ""

    @property
    def first(self) -> Candidate:
        return self.candidates[0]


def document(names: Sequence[str], baseline: str | None = None, **given: Any) -> Document:
    """Of runs, of files of published measurements, or of both. Raises as the two below."""
    if any(map(_is_published, names)):
        return published_document(names, baseline, given.get("store"))
    if baseline is not None:
        raise UsageError(
            "--baseline is for published measurements, and none is given; of runs the first is the baseline"
        )
    return comparison_document(names, **given)


def comparison_document(
    names: Sequence[str],
    store: str | None = None,
    busy: int | None = None,
    ratio: float = FAIR,
    aa: str | None = None,
    licences: Sequence[str] = (),
    rank_by: str | None = None,
    levels_per: str | None = None,
    **shapes: Sequence[str],
) -> Document:
    """Sides against the first of them, with the sizing answer for ``busy`` cores.

    A side is ``RUN``, ``RUN:VARIANT``, several of these with commas between, or ``label:TEXT`` for all complete runs of
    that label. A single run of several variants or targets stands for all of them. ``NAME=`` before a side is what it
    is called. ``aa`` names an A/A run: it sets the smallest detectable difference. ``licences`` are the rules to count
    by, ``RULE`` or ``NAME=RULE`` for one of the sides; ``rank_by`` is one of ``sizing.RANKS``. ``levels_per``: as of
    ``compare_sides``. ``shapes``: as of ``given_shapes.with_shapes``.

    Raises:
        UsageError: they cannot be compared, or there is nothing to size from.
        StoreError: a run cannot be read.
    """
    found = [replace(each, written=name) for name in names for each in _given(name, store)]
    if len(names) == 1 and len(found) > 1 and busy is None and real_variants(found[0].first.record):
        record = found[0].first.record
        return variants_document(record, explain(record))
    floor = None if aa is None else floor_from(load_run(aa, store))
    given = _named(found)
    licences = _by_name(licences, given)
    shapes = {option: _by_name(texts, given) for option, texts in shapes.items()}
    named = [(each.name, each.candidates) for each in given]
    sides = with_history([measured_side(*each) for each in with_shapes(named, **shapes)], store)
    comparison = compare_sides(sides, floor, levels_per)
    if comparison.other_work:
        if busy is not None or licences or rank_by:
            raise UsageError(
                f"sizing needs the same work on all hosts, and theirs differs ({comparison.other_work}); measure all "
                "with the same workload and size, or leave --size-for, --licence and --rank-by out"
            )
        return of_runs.document(comparison)
    rules = _rules(licences, [each.name for each in sides])
    try:
        sizing = size(
            [(each.name, each.middle.record, each.middle.analysis) for each in sides],
            rules,
            busy,
            ratio,
            rank_by,
            {each.name: decision for each in comparison.sides for decision in each.decisions[:1]},
        )
    except UsageError:
        if busy is not None or licences or rank_by:
            raise
        return of_runs.document(comparison)  # not requested: the comparison has no ranking then
    return of_runs.document(comparison, replace(sizing, unknown=(*middle_words(sides), *sizing.unknown)))


def variants_document(record: RunRecord, analysis: Analysis) -> Document:
    """The variants of an explained run against its first, or throughput by CPUs.

    Raises:
        UsageError: fewer than two variants have a valid round.
    """
    runs = measured_variants(record, _by_variant(record, analysis))
    scaling = by_cpus(record, runs)
    if scaling:
        made = of_by_cpus.document(scaling)
    else:
        made = of_variants.document(
            analysis.variants or compare_variants(record, runs), analysis, not_varied(record.header.notes)
        )
    made = with_findings(made, analysis.findings, disturbance_caveat(analysis))
    return with_first_words(made, unfinished_sentence(record.header, len(record.rounds)))


def _by_variant(record: RunRecord, analysis: Analysis) -> Mapping[str, Analysis]:
    """The parts of an analysis that are of one variant each: without a second analysis."""
    measured_ones = {each.variant for each in record.rounds}
    return {
        name: replace(
            analysis,
            levels=tuple(view for view in analysis.levels if view.variant == name),
            sessions=tuple(view for view in analysis.sessions if view.variant == name),
        )
        for name in real_variants(record)
        if name in measured_ones
    }


def published_document(names: Sequence[str], baseline: str | None = None, store: str | None = None) -> Document:
    """Published measurements of one or several files, normalised, and beside them runs at full load.

    Raises:
        UsageError: a file has another form, or the baseline occurs nowhere.
        StoreError: a file or a run cannot be read.
    """
    tables = {name for name in names if _is_published(name)}
    files = [_published(Path(name)) for name in names if name in tables]
    runs = [each for name in names if name not in tables for each in _given(name, store)]
    if runs:
        files.append(published_runs([measured_side(each.name, each.candidates) for each in _named(runs)]))
    if len(files) == 1:
        return of_published.document(files[0], baseline)
    together = Published(
        title=" and ".join(each.title for each in files),
        notes=tuple(f"{each.title}: {note}" for each in files for note in each.notes),
        measurements=tuple(row for each in files for row in each.measurements),
    )
    return of_published.document(together, baseline)


def _is_published(name: str) -> bool:
    """Whether this is a table of published figures: CSV that is not of a run."""
    return name.lower().endswith(PUBLISHED_SUFFIX) and not holds_run(_file_of(name))


def _file_of(side: str) -> str:
    """Of ``[NAME=]FILE``."""
    return side if is_there(side) else side.rpartition("=")[2]


def _record(run: str, store: str | None) -> RunRecord:
    """A run of the store, or of a file in any form that can be imported. Raises as ``load_run`` and ``read_run``."""
    if not (is_file(run) and Path(run).suffix):
        return load_run(run, store)
    record, warning = read_run(run)
    if warning:
        sys.stderr.write(f"warning: {warning}\n")
    return record


def _given(text: str, store: str | None) -> Iterator[_Given]:
    """``[NAME=]SIDE``; the name is '' unless it was given. A single run of several variants makes several sides."""
    name, equals, side = text.partition("=")
    # The parameters of a URL, which a target of several may be, have an equals sign as well.
    if not equals or "://" in name or text.startswith(BY_LABEL) or is_there(text):
        name, side = "", text
    runs = _runs(side, store)
    if len(runs) == 1:
        candidates = _candidates(runs[0], store)
        for each in candidates:
            yield _Given(f"{name} {each.variant}" if name and len(candidates) > 1 else name, (each,))
        return
    if side.startswith(BY_LABEL):
        runs, found = _readable(runs, store)
    else:
        found = [_candidates(run, store) for run in runs]
    several = next((run for run, candidates in zip(runs, found, strict=True) if len(candidates) > 1), None)
    if several is not None:
        raise UsageError(f"run {several} has several variants; name one of them among the runs of a side: RUN:VARIANT")
    yield _Given(name, tuple(candidates[0] for candidates in found))


def _readable(runs: Sequence[str], store: str | None) -> tuple[list[str], list[list[Candidate]]]:
    """Without those that cannot be read, which are named. Raises the error of the last where none can."""
    found: dict[str, list[Candidate]] = {}
    for run in runs:
        try:
            found[run] = _candidates(run, store)
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


def _candidates(text: str, store: str | None) -> list[Candidate]:
    """``RUN[:VARIANT]``, without a name; without a variant all of them."""
    refuse_url(text)
    run, variant = (text, "") if is_there(text) else _run_and_variant(text)
    record = _record(run, store)
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


def _named(sides: Sequence[_Given]) -> list[_Given]:
    """Those without a name: by variant, label, host, target or file, the first that is short and differs for all."""
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
        raise UsageError(f"two of these are called {twice!r}; give each a name of its own: NAME=RUN")
    return found


def _file_stem(written: str) -> str:
    """``old`` of ``records/old.json.gz``; '' where a side is no file."""
    suffix = next((each for each in (*SUFFIXES, PUBLISHED_SUFFIX) if written.endswith(each)), "")
    return plain(Path(written).name.removesuffix(suffix)) if suffix else ""


def _all(side: _Given, name_of: Callable[[Candidate], str]) -> set[str]:
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


def _published(path: Path) -> Published:
    try:
        content = read_given(path, MAX_PUBLISHED_BYTES + 1)
        if len(content) > MAX_PUBLISHED_BYTES:
            raise UsageError(f"{path} is larger than {MAX_PUBLISHED_BYTES >> 20} MiB; give a file of published figures")
        text = content.decode("utf-8")
        if imported_csv.columns_of(text).isdisjoint(NEEDED):
            raise UsageError(
                f"{path} is neither a run nor a table of published figures; a run has the columns "
                f"{imported_csv.FORMS}, such a table {FORM}"
            )
        return parse(text, path.stem)
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror}; give a file of published measurements") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def _by_name(wishes: Sequence[str], sides: Sequence[_Given]) -> list[str]:
    """``SIDE=WISH`` as ``NAME=WISH``, where SIDE is a side as it was written: ``label:before``, a file, a run."""
    made = []
    for wish in wishes:
        side, _, wanted = wish.rpartition("=")
        known = any(each.name == side for each in sides)
        names = [] if known else [each.name for each in sides if side and _is_written(side, each)]
        made += [f"{name}={wanted}" for name in names] or [wish]
    return made


def _is_written(text: str, side: _Given) -> bool:
    plainly = side.written.removeprefix(f"{side.name}=")
    return text in (side.written, plainly, _file_stem(plainly))


def _rules(wanted: Sequence[str], names: Sequence[str]) -> SizingRules:
    rules = settings().sizing
    for wish in wanted:
        host, equals, _ = wish.rpartition("=")
        if equals and host not in names:
            raise UnknownName("run of this comparison", host, names)
    return replace(rules, licences=choose(rules.licences, wanted))
