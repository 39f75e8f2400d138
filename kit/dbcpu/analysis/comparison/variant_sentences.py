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

Ratio = tuple[float, float | None, float | None]
"""With its interval, if there is one."""


def variant_sentences(found: Variants) -> tuple[str, ...]:
    """A sentence per variant but the first, and those on what sharing cores costs and SMT off does, if measured."""
    others = found.variants[1:]
    basis = ", as delivered" if found.as_delivered else ""
    said = tuple(_sentence(found.first, each, found.telling, basis) for each in others)
    return (*said, *_penalties(found), *of_variants(found))


def variants_headline(found: Variants) -> str:
    """``smt_off: throughput 0.75x at N=16, max/min 0.66x at N=9,16``: what is shown of each against the first."""
    shown = [
        f"{each.name}: {listed([_shown(one) for one in each.decisions if one.shown])}"
        for each in found.variants[1:]
        if any(one.shown for one in each.decisions)
    ]
    return "; ".join(shown) or f"No variant is shown to differ from {found.first.name}"


def _shown(one: Decision) -> str:
    return f"{NAMES[one.summary]} {times(one.ratio)}{f' at {one.levels}' if one.levels else ''}"


def variant_ratios(found: Variants) -> tuple[tuple[str, tuple[Ratio | None, ...]], ...]:
    """Each variant over the first, by what is decided, at the level of the decision, as sentences and headline say it.

    Seconds are those at the representative level. None of what fewer than two have.
    """
    series: list[tuple[str, list[Ratio | None]]] = []
    for summary, words in NAMES.items():
        decided = [next((one for one in each.decisions if one.summary == summary), None) for each in found.variants[1:]]
        levels = {one.levels for one in decided if one and one.ratio}
        where = f" at {levels.pop()}" if len(levels) == 1 else ""
        ratios = [(one.ratio, one.low, one.high) if one and one.ratio else None for one in decided]
        series.append((f"{words}{where}", [(1.0, None, None), *ratios]))
    base = found.first.row(found.telling)
    if base and base.median_s:
        rows = [each.row(found.telling) for each in found.variants]
        seconds = [(row.median_s / base.median_s, None, None) if row else None for row in rows]
        series.append((f"seconds at N={base.level}", list(seconds)))
    return tuple((words, tuple(ratios)) for words, ratios in series if sum(one is not None for one in ratios) > 1)


def _sentence(first: VariantResult, variant: VariantResult, level: int | None, basis: str) -> str:
    """``smt_off against baseline: throughput at N=4 1.01x, no difference shown; ...; at N=3 max/min 1.45 -> 1.02``.

    What is decided is said with its own level and ratio; detail of one level has no ratio of throughput. ``basis``: of
    which times, where a run has two kinds.
    """
    one, other = first.row(level), variant.row(level)
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
    return f"{variant.name} against {first.name}{basis}: {'; '.join(parts)}."


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
