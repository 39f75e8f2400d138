"""The rounds of one variant of a run, as a run of their own."""

from msgspec.structs import replace

from dbcpu.analysis.levels.variant_host import host_of_variant
from dbcpu.errors import UnknownName
from dbcpu.record import AA, BASELINE, RunRecord


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
