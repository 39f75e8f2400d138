"""What each variant does against the first, in sentences and in ratios."""

from dbcpu.analysis.comparison.sentences import NAMES
from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    TOO_FEW,
    VariantResult,
    VariantRow,
    Variants,
)
from dbcpu.formatting import listed, percent, times

_WORDS = {
    MORE: "higher",
    LESS: "lower",
    NOT_SHOWN: "no difference shown",
    BELOW_FLOOR: "below the noise floor",
    TOO_FEW: "undecided, too few rounds",
    NOT_MEASURED: "not measured in both",
}
RATIOS = {"throughput": "throughput", "max_over_min": "max/min", "median_s": "seconds"}
"""Fields of ``VariantRow`` that the bar chart shows, and what they are called there."""

Ratio = tuple[float, float | None, float | None]
"""With its interval, if there is one."""


def variant_sentences(found: Variants) -> tuple[str, ...]:
    """A sentence per variant but the first, and one on what sharing cores costs if that was measured."""
    others = found.variants[1:]
    return tuple(_sentence(found.first, each, found.telling) for each in others) + _penalties(found)


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
    """``smt_off against baseline at N=3: CV 21 % -> 1.0 %, max/min 1.45 -> 1.02, throughput -3.0 %``."""
    one, other = first.row(telling), variant.row(telling)
    if one is None or other is None:
        one, other = _largest(first, variant)
    if one is None or other is None:
        return f"{variant.name} against {first.name}: no level was measured under both."
    parts = []
    if one.cv is not None and other.cv is not None:
        parts.append(f"CV {percent(one.cv)} -> {percent(other.cv)}")
    if one.max_over_min is not None and other.max_over_min is not None:
        parts.append(f"max/min {one.max_over_min:.2f} -> {other.max_over_min:.2f}")
    if other.ratio is not None:
        parts.append(f"throughput {signed(other.ratio - 1)}")
    decided = [
        f"{NAMES[by.summary]} {_WORDS[by.outcome]}{f' at {by.levels}' if by.levels else ''}" for by in variant.decisions
    ]
    return f"{variant.name} against {first.name} at N={one.level}: {', '.join(parts)} ({', '.join(decided)})."


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
