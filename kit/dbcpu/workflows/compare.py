"""From names on the command line to a document that compares: what ``dbcpu compare`` shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbcpu import registry
from dbcpu.analysis.comparison.compare import Candidate, compare_measured
from dbcpu.analysis.comparison.cpu_scaling import by_cpus
from dbcpu.analysis.comparison.decisions import floor_from
from dbcpu.analysis.comparison.measured_run import measured
from dbcpu.analysis.comparison.published import Published, parse
from dbcpu.analysis.comparison.sizing import FAIR, size
from dbcpu.analysis.comparison.variants import compare_variants, measured_variants
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.per_round import one_variant, real_variants
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rulebook import choose
from dbcpu.config.rules import SizingRules
from dbcpu.config.settings import settings
from dbcpu.errors import StoreError, UnknownName, UsageError
from dbcpu.formatting import plain
from dbcpu.record import RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents import by_cpus as of_by_cpus
from dbcpu.reports.documents import comparison as of_runs
from dbcpu.reports.documents import published as of_published
from dbcpu.reports.documents import variants as of_variants
from dbcpu.store.database import load_run

PUBLISHED_SUFFIX = ".csv"
SHORT = 22
"""A longer name makes no column."""


def comparison_document(
    names: Sequence[str],
    store: str | None = None,
    busy: int | None = None,
    ratio: float = FAIR,
    aa: str | None = None,
    licences: Sequence[str] = (),
    rank_by: str | None = None,
) -> Document:
    """Runs (``RUN`` or ``RUN:VARIANT``) against the first of them, with the sizing answer for ``busy`` cores.

    A run of several variants stands for all of them. ``NAME=`` before a run is what it is called.
    ``aa`` names an A/A run: it sets the smallest detectable difference. ``licences`` are the rules to
    count by, ``RULE`` or ``NAME=RULE`` for one of the runs; ``rank_by`` is one of ``sizing.RANKS``.

    Raises:
        UsageError: they cannot be compared, or there is nothing to size from.
        StoreError: a run cannot be read.
    """
    found = [each for name in names for each in _candidates(name, store)]
    if len(names) == 1 and len(found) > 1 and busy is None and real_variants(found[0].record):
        return variants_document(found[0].record, explain(found[0].record))
    candidates = _named(found)
    floor = None if aa is None else floor_from(load_run(aa, store))
    runs = [measured(each.name, each.record, each.variant) for each in candidates]
    comparison = compare_measured(runs, floor)
    rules = _rules(licences, [each.name for each in runs])
    try:
        sizing = size([(each.name, each.record, each.analysis) for each in runs], rules, busy, ratio, rank_by)
    except UsageError:
        if busy is not None or licences or rank_by:
            raise
        return of_runs.document(comparison)  # not requested: the comparison has no ranking then
    return of_runs.document(comparison, sizing)


def variants_document(record: RunRecord, analysis: Analysis) -> Document:
    """The variants of an explained run against its first, or throughput by CPUs.

    Raises:
        UsageError: fewer than two variants have a valid round.
    """
    runs = measured_variants(record, _by_variant(record, analysis))
    scaling = by_cpus(record, runs)
    if scaling:
        return of_by_cpus.document(scaling)
    return of_variants.document(analysis.variants or compare_variants(record, runs), analysis)


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


def published_document(names: Sequence[str], baseline: str | None = None) -> Document:
    """Published measurements of one or several files, normalised. Raises UsageError, StoreError."""
    files = [_published(Path(name)) for name in names]
    if len(files) == 1:
        return of_published.document(files[0], baseline)
    together = Published(
        title=" and ".join(each.title for each in files),
        notes=tuple(f"{each.title}: {note}" for each in files for note in each.notes),
        measurements=tuple(row for each in files for row in each.measurements),
    )
    return of_published.document(together, baseline)


def are_published(names: Sequence[str]) -> bool:
    """Whether the names are files of published measurements. Raises UsageError for a mixture with runs."""
    published = [name.lower().endswith(PUBLISHED_SUFFIX) for name in names]
    if any(published) and not all(published):
        raise UsageError(
            "runs and files of published measurements are different kinds of evidence; compare each by itself"
        )
    return all(published)


def _candidates(text: str, store: str | None) -> list[Candidate]:
    """``[NAME=]RUN[:VARIANT]``; the name is '' unless it was given."""
    name, equals, run = text.partition("=")
    if not equals or Path(text).exists():
        name, run = "", text
    run, variant = (run, "") if Path(run).exists() else _run_and_variant(run)
    record = load_run(run, store)
    if variant:
        one_variant(record, variant)
        return [Candidate(name, record, variant)]
    variants = tuple(dict.fromkeys(each.variant for each in record.rounds))
    if len(variants) < 2:
        return [Candidate(name, record)]
    return [Candidate(f"{name} {each}" if name else "", record, each) for each in variants]


def _run_and_variant(name: str) -> tuple[str, str]:
    """A variant may have a colon of its own: ``last:cpus:0-3``."""
    parts = name.split(":")
    if len(parts) > 2 and parts[-2] in registry.names("variants"):
        return ":".join(parts[:-2]), ":".join(parts[-2:])
    return (":".join(parts[:-1]), parts[-1]) if len(parts) > 1 else (name, "")


def _named(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those without a name: by variant, label, host or target, the first that is short and differs for all."""
    for name_of in (_variant, _label, _label_and_variant, _host, _target):
        names = [name_of(each) for each in candidates]
        if all(0 < len(name) <= SHORT for name in names) and len(set(names)) == len(names):
            break
    else:
        names = [f"run {chr(ord('A') + at)}" if at < 26 else f"run {at + 1}" for at in range(len(candidates))]
    return [replace(each, name=plain(each.name) or name) for each, name in zip(candidates, names, strict=True)]


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
        return parse(path.read_text("utf-8"), path.stem)
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror}; give a file of published measurements") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def _rules(wanted: Sequence[str], names: Sequence[str]) -> SizingRules:
    rules = settings().sizing
    for wish in wanted:
        host, equals, _ = wish.rpartition("=")
        if equals and host not in names:
            raise UnknownName("run of this comparison", host, names)
    return replace(rules, licences=choose(rules.licences, wanted))
