"""One value per round: what comparisons and histories resample. Nothing is averaged over rounds here."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.measured_rounds import usable
from dbcpu.analysis.levels.round_figures import Works, lasting_rate, round_figures
from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.levels.two_groups import noise_limit
from dbcpu.analysis.levels.variant_host import host_of_variant
from dbcpu.analysis.placement.regimes import vcpu_count
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, timed
from dbcpu.analysis.statistics.robust import median_of_known
from dbcpu.errors import UnknownName
from dbcpu.record import AA, BASELINE, RunRecord


class RoundFigures(Struct, frozen=True):
    """One valid round. Rates in Mrows/s; ``max_over_min`` is None for a single session and where only the
    total rate of the round is known."""

    level: int
    repeat: int
    median_s: float
    mrows_per_s: float
    throughput: float
    max_over_min: float | None
    connect_s: float | None
    makespan: float = 0.0
    """Throughput as all work over the time until the last session ended."""
    lasting: float = 0.0
    """``throughput`` without what early ends leave to others (see ``lasting_rate``)."""


def one_variant(record: RunRecord, variant: str | None = None) -> RunRecord:
    """The rounds of one variant as a run of their own; by default of the first. Raises UnknownName."""
    known = tuple(dict.fromkeys((*record.header.plan.variants, *(each.variant for each in record.rounds))))
    chosen = variant or known[0]
    if chosen not in known:
        raise UnknownName(f"variant of run {record.header.run_id}", chosen, known)
    header = replace(record.header, plan=replace(record.header.plan, variants=(chosen,)))
    rounds = tuple(each for each in record.rounds if each.variant == chosen)
    if not real_variants(record):
        return RunRecord(header, rounds)
    usual = [each for each in record.rounds if each.variant == BASELINE]
    return RunRecord(host_of_variant(replace(header, plan=replace(header.plan, rounds=None)), rounds, usual), rounds)


def real_variants(record: RunRecord) -> tuple[str, ...]:
    """The variants of a run that differ in what they are, in the plan's order; () for one, or twice the same (A/A)."""
    names = record.header.plan.variants
    return names if len(names) > 1 and names != AA else ()


def figures_by_round(record: RunRecord) -> tuple[RoundFigures, ...]:
    """The usable rounds of a run of one variant, by level and then in the order they ran."""
    sessions = timed(record)
    rows, vcpus = record.header.plan.workload.rows, vcpu_count(record)
    return figures_of(sessions, reference(record, sessions), rows, vcpus)


def figures_of(
    sessions: Sequence[Timed], known: Reference | None, rows: int, vcpus: int | None
) -> tuple[RoundFigures, ...]:
    """The same of sessions, against a reference; ``rows``: the work in one execution."""
    min_gap = noise_limit(known)
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in by_round(sessions):
        rounds.setdefault(each.level, []).append(members)
    return tuple(
        _figures(members, min_gap, rows, vcpus) for level in sorted(rounds) for members in usable(rounds[level])
    )


def _figures(members: Sequence[Timed], min_gap: float, rows: int, vcpus: int | None) -> RoundFigures:
    works: Works = {}
    found = round_figures(members, min_gap, rows, works)
    each = members[0].round
    return RoundFigures(
        level=each.level,
        repeat=each.repeat,
        median_s=found["median_s"] or 0.0,
        mrows_per_s=found["per_session"] or 0.0,
        throughput=found["rate_sum"] or 0.0,
        max_over_min=found["max_over_min"],
        connect_s=median_of_known(member.session.connect_s for member in members),
        makespan=found["makespan"] or 0.0,
        lasting=lasting_rate(members, rows, vcpus, works) if vcpus else 0.0,
    )


def at_level(figures: Sequence[RoundFigures], level: int | None) -> tuple[RoundFigures, ...]:
    """Those of one level."""
    return tuple(each for each in figures if each.level == level)
