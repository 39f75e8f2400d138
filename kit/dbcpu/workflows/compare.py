"""From names on the command line to a document that compares: what ``dbcpu compare`` shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import compare_sides, measured_sides
from dbcpu.analysis.comparison.cpu_scaling import by_cpus
from dbcpu.analysis.comparison.decisions import floor_from
from dbcpu.analysis.comparison.host_kind import FAIR
from dbcpu.analysis.comparison.measured_run import middle_words
from dbcpu.analysis.comparison.published import FORM, NEEDED, Published, parse
from dbcpu.analysis.comparison.published_runs import published_runs
from dbcpu.analysis.comparison.sizing import size
from dbcpu.analysis.comparison.variants import compare_variants, measured_variants
from dbcpu.analysis.experiments.disturbance_caveat import disturbance_caveat
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.unfinished_run import unfinished_sentence
from dbcpu.analysis.levels.variant_rounds import real_variants
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.given_file import is_there, read_given
from dbcpu.config.rulebook import choose
from dbcpu.config.rules import SizingRules
from dbcpu.config.settings import settings
from dbcpu.errors import StoreError, UnknownName, UsageError
from dbcpu.formatting import listed
from dbcpu.record.plan import not_varied
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents import by_cpus as of_by_cpus
from dbcpu.reports.documents import comparison as of_runs
from dbcpu.reports.documents import published as of_published
from dbcpu.reports.documents import variants as of_variants
from dbcpu.reports.documents.comparing_document import with_findings, with_first_words
from dbcpu.store import imported_csv
from dbcpu.store.database import load_run
from dbcpu.workflows.given_shapes import with_shapes
from dbcpu.workflows.given_sides import PUBLISHED_SUFFIX, RunsOnce, by_name, given_sides, with_names
from dbcpu.workflows.import_runs import holds_run
from dbcpu.workflows.side_history import with_history

MAX_PUBLISHED_BYTES = 16 * 1024**2


class ComparisonOptions(Struct, frozen=True, kw_only=True):
    """What ``dbcpu compare`` takes beside names; everything is optional, and needs runs.

    ``busy``: cores whose load the sizing places. ``ratio``: largest slowest / fastest that counts as even. ``aa``: an
    A/A run, which sets the smallest detectable difference. ``licences``: the rules to count by, ``RULE``, or
    ``NAME=RULE`` for one of the sides. ``rank_by``: one of ``sizing.RANKS``. ``levels_per``: as of ``compare_sides``.
    ``vcpus``, ``cores``, ``threads``: as of ``given_shapes.with_shapes``.
    """

    busy: int | None = None
    ratio: float = FAIR
    aa: str | None = None
    licences: tuple[str, ...] = ()
    rank_by: str | None = None
    levels_per: str | None = None
    vcpus: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[str, ...]:
        """The fields that are not as they are by default."""
        return tuple(field for field in self.__struct_fields__ if getattr(self, field) != getattr(NO_OPTIONS, field))

    @property
    def needs_sizing(self) -> bool:
        """Whether there is no answer without a ranking of hosts."""
        return bool(self.busy is not None or self.licences or self.rank_by)


NO_OPTIONS = ComparisonOptions()
_WRITTEN = {"busy": "--size-for", "licences": "--licence", "threads": "--threads-per-core"}
"""Options of the command line whose names are not those of the fields."""


def document(
    names: Sequence[str],
    baseline: str | None = None,
    store: str | None = None,
    options: ComparisonOptions = NO_OPTIONS,
) -> Document:
    """Of runs, of files of published measurements, or of both. Raises as the two below.

    With published measurements UsageError names the ``options`` that are given.
    """
    if tables := [name for name in names if _is_published(name)]:
        if unused := [_WRITTEN.get(field, f"--{field.replace('_', '-')}") for field in options.given]:
            raise UsageError(
                f"{listed(unused)}: {tables[0]} is a table of published figures, and only runs have what this needs; "
                "leave it out, or compare runs"
            )
        return published_document(names, baseline, store)
    if baseline is not None:
        raise UsageError(
            "--baseline is for published measurements, and none is given; of runs the first is the baseline"
        )
    return comparison_document(names, store, options)


def comparison_document(
    names: Sequence[str], store: str | None = None, options: ComparisonOptions = NO_OPTIONS
) -> Document:
    """Sides against the first of them, with the sizing answer for ``options.busy`` cores.

    A side is ``RUN``, ``RUN:VARIANT``, several of these with commas between, or ``label:TEXT`` for all complete runs of
    that label. A single run of several variants or targets stands for all of them; variants are shown against the first
    in tables of their own, unless there is an option, all of which only sides have. ``NAME=`` before a side is what it
    is called.

    Raises:
        UsageError: they cannot be compared, or there is nothing to size from.
        StoreError: a run cannot be read.
    """
    runs_once = RunsOnce(store)
    found = [replace(each, written=name) for name in names for each in given_sides(name, runs_once)]
    if len(names) == 1 and len(found) > 1 and not options.given and real_variants(found[0].first.record):
        record = found[0].first.record
        return variants_document(record, explain(record))
    floor = None if options.aa is None else floor_from(load_run(options.aa, store))
    given = with_names(found)
    licences = by_name(options.licences, given)
    vcpus, cores, threads = (by_name(texts, given) for texts in (options.vcpus, options.cores, options.threads))
    shaped = with_shapes([(each.name, each.candidates) for each in given], vcpus, cores, threads)
    sides = with_history(measured_sides(shaped), store)
    comparison = compare_sides(sides, floor, options.levels_per)
    if comparison.other_work:
        if options.needs_sizing:
            raise UsageError(
                f"sizing needs the same work on all hosts, and theirs differs ({comparison.other_work}); measure all "
                "with the same kind of database, workload and size, or leave --size-for, --licence and --rank-by out"
            )
        return of_runs.document(comparison)
    rules = _rules(licences, [each.name for each in sides])
    try:
        sizing = size(
            [(each.name, each.middle.record, each.middle.analysis) for each in sides],
            rules,
            options.busy,
            options.ratio,
            options.rank_by,
            {each.name: decision for each in comparison.sides for decision in each.decisions[:1]},
        )
    except UsageError:
        if options.needs_sizing:
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
    runs_once = RunsOnce(store)
    runs = [each for name in names if name not in tables for each in given_sides(name, runs_once)]
    if runs:
        files.append(published_runs(measured_sides((each.name, each.candidates) for each in with_names(runs))))
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


def _rules(wanted: Sequence[str], names: Sequence[str]) -> SizingRules:
    rules = settings().sizing
    for wish in wanted:
        host, equals, _ = wish.rpartition("=")
        if equals and host not in names:
            raise UnknownName("run of this comparison", host, names)
    return replace(rules, licences=choose(rules.licences, wanted))
