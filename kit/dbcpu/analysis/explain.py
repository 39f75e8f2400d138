"""Composes the answers: a record in, everything the reports show out. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from dbcpu.analysis.conclusions.measurement_findings import of_whole_run
from dbcpu.analysis.conclusions.refusal import refused
from dbcpu.analysis.conclusions.remedy_commands import with_own_options
from dbcpu.analysis.conclusions.several_targets import explain_targets
from dbcpu.analysis.conclusions.several_variants import of_all_variants
from dbcpu.analysis.conclusions.single_run import explain_variant, explain_variants
from dbcpu.analysis.garbage_collector import no_cycles_sought
from dbcpu.analysis.host_usage.scaled_cpu import may_be_scaled, without_db_cpu, without_scaled_cpu
from dbcpu.analysis.levels.lost_levels import FailureCount, failures_of
from dbcpu.analysis.levels.unfinished_run import unfinished_prefix
from dbcpu.analysis.levels.variant_rounds import real_variants
from dbcpu.analysis.results.comparison import Variants
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rules import Licence
from dbcpu.errors import UsageError
from dbcpu.record.header import SOAK, SWEEP, Header, are_of_one_kind
from dbcpu.record.rounds import Round, RunRecord


def explain(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> Analysis:
    """Explain a run; works on any record, also one that failed or was interrupted.

    ``licence_rules``: those of the user's configuration; by default the ones that come with dbcpu.
    """
    return explain_rounds(record.header, record.rounds, licence_rules)[1]


def explain_rounds(
    header: Header, rounds: Iterable[Round], licence_rules: Sequence[Licence] | None = None
) -> tuple[RunRecord, Analysis]:
    """The same of rounds that are read one by one, with the record that pictures can be drawn of.

    Of a soak only some rounds are in it, so that one of days needs little memory.
    """
    with no_cycles_sought():
        return _explained(header, rounds, licence_rules)


def _explained(
    header: Header, rounds: Iterable[Round], licence_rules: Sequence[Licence] | None
) -> tuple[RunRecord, Analysis]:
    if may_be_scaled(header):
        rounds = map(without_db_cpu, rounds)
    if header.plan.experiment != SWEEP:
        return _of_experiment(header, rounds, licence_rules)
    record = RunRecord(header, tuple(rounds))
    analysis = replace(_swept(record, licence_rules), failures=failures_of(record))
    return record, _of_run(analysis, header, len(record.rounds))


def _of_run(analysis: Analysis, header: Header, done: int) -> Analysis:
    """How far the run came begins the verdict, and remedies have the options of the command that measured it."""
    nothing = header.plan.experiment == SWEEP and not any(each.sessions for each in analysis.levels)
    begun = "" if nothing else unfinished_prefix(header, done)
    findings = tuple(replace(each, remedy=with_own_options(each.remedy, header)) for each in analysis.findings)
    return replace(analysis, verdict=begun + with_own_options(analysis.verdict, header), findings=findings)


def _of_experiment(
    header: Header, rounds: Iterable[Round], licence_rules: Sequence[Licence] | None
) -> tuple[RunRecord, Analysis]:
    from dbcpu.analysis.experiments import thinned, with_experiment, with_soak

    if header.plan.experiment == SOAK:
        failures = FailureCount()
        kept, soak = thinned(header, rounds, failures)
        said = of_whole_run(with_soak(explain_variant(kept, licence_rules), soak), header, failures.of_rounds)
        return kept, refused(_of_run(replace(said, failures=failures.result()), header, failures.of_rounds))
    record = RunRecord(header, tuple(rounds))
    explaining = explain_variant if are_of_one_kind(header.plan.parties) else explain_targets
    said = replace(with_experiment(explaining(record, licence_rules), record), failures=failures_of(record))
    return record, refused(_of_run(said, header, len(record.rounds)))


def _swept(record: RunRecord, licence_rules: Sequence[Licence] | None) -> Analysis:
    if not real_variants(record):
        return explain_variant(record, licence_rules)
    found = explain_variants(record, licence_rules)
    first, *others = found.items()
    all_ = of_all_variants(found, without_scaled_cpu(record).rounds)
    sessions = [each for _, analysis in (first, *others) for each in analysis.sessions]
    whole = replace(
        first[1],
        levels=tuple(each for _, analysis in (first, *others) for each in analysis.levels),
        sessions=tuple(sorted(sessions, key=lambda each: (each.order, each.ordinal))),
        findings=all_,
        variants=_compared(record, found),
    )
    return of_whole_run(whole, record.header, len(record.rounds))


def _compared(record: RunRecord, found: Mapping[str, Analysis]) -> Variants | None:
    from dbcpu.analysis.comparison.variants import compare_variants, measured_variants

    try:
        return compare_variants(record, measured_variants(record, found))
    except UsageError:  # fewer than two have a valid round
        return None
