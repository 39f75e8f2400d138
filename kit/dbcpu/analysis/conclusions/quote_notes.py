"""What has to be said beside usable cores and evenness, so that nobody quotes them for more than they are."""

from dbcpu.analysis.levels.level_losses import worth_counting
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.quote import QuoteNotes
from dbcpu.analysis.results.run import Analysis


def quote_notes(analysis: Analysis, alone_under: str = "") -> QuoteNotes:
    """Of a run of one variant, or of the first of several; else ``alone_under`` is where the single sessions are of."""
    room, vcpus = analysis.capacity, analysis.vcpus
    if room is None:
        return QuoteNotes()
    few = (
        room.usable_cores is None and analysis.busy == 1 and all(each.level < (vcpus or 0) for each in analysis.levels)
    )
    return QuoteNotes(
        without_curve=analysis.scaling.fit_error is None,
        divided_by=_divided_by(analysis),
        alone_under=alone_under,
        needs_level=vcpus if few else None,
        more_between=analysis.scaling.more_between,
        disturbance=analysis.disturbance,
        even_levels=_even_levels(analysis),
    )


def _even_levels(analysis: Analysis) -> tuple[int, ...]:
    """() where evenness is decided, or a measured level is not shown to be even."""
    found = analysis.capacity.evenness if analysis.capacity else None
    first = analysis.first_levels
    within = [each for each in first if 1 < each.level <= (analysis.vcpus or 0)]
    open_ = found is not None and found.even is Answer.UNDECIDED
    return tuple(each.level for each in within) if open_ and all(each.even is Answer.YES for each in within) else ()


def _divided_by(analysis: Analysis) -> float | None:
    """None where a single session had a whole CPU, as far as the kernel counts."""
    ref = analysis.reference
    slowed = worth_counting(ref.counted_slowdown) if ref is not None else 1.0
    return slowed if slowed > 1 and ref is not None and ref.busy == 1 else None
