"""What each variant does against the first, in sentences and in ratios."""

from dbcpu.analysis.comparison.second_threads import of_variants
from dbcpu.analysis.comparison.sentences import NAMES, comparative, unshown_words
from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    NOT_MEASURED,
    TOO_FEW,
    Decision,
    VariantResult,
    VariantRow,
    Variants,
)
from dbcpu.formatting import listed, percent, times

RATIOS = {"throughput": "throughput", "max_over_min": "max/min", "median_s": "seconds"}
"""Fields of ``VariantRow`` that the bar chart shows, and what they are called there."""

Ratio = tuple[float, float | None, float | None]
"""With its interval, if there is one."""


def variant_sentences(found: Variants) -> tuple[str, ...]:
    """A sentence per variant but the first, and those on what sharing cores costs and SMT off does, if measured."""
    others = found.variants[1:]
    said = tuple(_sentence(found.first, each, found.telling) for each in others)
    return (*said, *_penalties(found), *of_variants(found))


def variants_headline(found: Variants) -> str:
    """``smt_off: throughput 0.75x, max/min 0.66x``: what is shown of each variant against the first."""
    shown = [
        f"{each.name}: {listed([f'{NAMES[one.summary]} {times(one.ratio)}' for one in each.decisions if one.shown])}"
        for each in found.variants[1:]
        if any(one.shown for one in each.decisions)
    ]
    return "; ".join(shown) or f"No variant is shown to differ from {found.first.name}"


def variant_ratios(found: Variants) -> tuple[tuple[str, tuple[Ratio | None, ...]], ...]:
    """At the representative level each variant over the first, by metric; none that fewer than two have."""
    base, series = found.first.row(found.telling), []
    for field, words in RATIOS.items():
        one = getattr(base, field, None)
        values = [getattr(each.row(found.telling), field, None) for each in found.variants]
        if one and sum(value is not None for value in values) > 1:
            series.append((words, tuple(None if value is None else (value / one, None, None) for value in values)))
    return tuple(series)


def _sentence(first: VariantResult, variant: VariantResult, telling: int | None) -> str:
    """``smt_off against baseline: throughput at N=4 1.01x, no difference shown; ...; at N=3 max/min 1.45 -> 1.02``.

    What is decided is said with its own level and ratio; detail of one level has no ratio of throughput.
    """
    one, other = first.row(telling), variant.row(telling)
    if one is None or other is None:
        one, other = _largest(first, variant)
    if one is None or other is None:
        return f"{variant.name} against {first.name}: no level was measured under both."
    detail = []
    if one.max_over_min is not None and other.max_over_min is not None:
        detail.append(f"max/min {one.max_over_min:.2f} -> {other.max_over_min:.2f}")
    if one.cv is not None and other.cv is not None:
        detail.append(f"CV {percent(one.cv)} -> {percent(other.cv)}")
    parts = [_decided(each) for each in variant.decisions]
    parts += [f"at N={one.level} {', '.join(detail)}"] if detail else []
    return f"{variant.name} against {first.name}: {'; '.join(parts)}."


def _decided(each: Decision) -> str:
    """One decision in short, with the level at which it was taken."""
    what = f"{NAMES[each.summary]} at {each.levels}" if each.levels else NAMES[each.summary]
    if each.outcome == NOT_MEASURED:
        return f"{what} was not measured in both"
    if each.shown:
        return f"{what} {comparative(each)}"
    words = {TOO_FEW: "inconclusive, too few rounds", BELOW_FLOOR: "below the noise floor"}
    return f"{what} is {times(each.ratio)}: {words.get(each.outcome, unshown_words(each))}"


def _largest(first: VariantResult, variant: VariantResult) -> tuple[VariantRow | None, VariantRow | None]:
    both = {row.level for row in first.rows} & {row.level for row in variant.rows}
    level = max(both, default=None)
    return first.row(level), variant.row(level)


def _penalties(found: Variants) -> tuple[str, ...]:
    if not found.penalties:
        return ()
    parts = [f"{times(ratio)} at N={level}" for level, ratio in found.penalties]
    return (
        f"Cost of sharing cores: the time of an execution under pack is {listed(parts)} of that under spread; "
        "only the placement differs.",
    )


def signed(share: float) -> str:
    """``+3.0 %``, ``-12 %``."""
    return f"{'+' if share >= 0 else '-'}{percent(abs(share))}"
