"""What the witness has to make possible on real hosts, in figures set beforehand, and what the kept runs say of each.

A bar is met if the figure itself is; its 95 % interval stands beside it, and may reach beyond the bar.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from lab import labelled
from lab.causes import MoreWork
from lab.intervals import told
from lab.pairs import Sitting

Row = Mapping[str, Any]
TOLERANCE, LARGE_TOLERANCE = 0.12, 0.20
A_FIFTH = 1.3
"""Work up to so many times that of the others is called 1.2 times: sizes are whole numbers."""


class Bar(Struct, frozen=True):
    """``met`` is None where there is no case."""

    what: str
    wanted: str
    found: str
    met: bool | None


def of_live(rows: Sequence[Row]) -> list[Bar]:
    """Of labelled sessions with the pieces of a witness."""
    return of_tallies(list({row["run"]: row["tolerance"] for row in rows}.values()), tallies(rows))


def tallies(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Hits and cases by the name of what is counted."""
    counted = [row for row in rows if labelled.counted(row)]
    victims = [row for row in counted if row["label"] != "none"]
    quiet = [row for row in counted if row["label"] == "none"]
    slow = [row for row in quiet if row["cpu"] is not None and row["cpu"] >= labelled.SLOWER]
    more = [row for row in victims if row["generator"] == MoreWork.name and _times(row) <= A_FIFTH]
    return {
        "count": (len(counted), len(rows)),
        "right": _hits(found_right, victims),
        "beyond": _hits(found_right, labelled.treated(counted)),
        "more": _hits(found_right, more),
        "gaps": _hits(found_right, [row for row in victims if row["label"] in ("wait", "stopped")]),
        "named_slow": _hits(labelled.named_slow, quiet),
        "slow_named_slow": _hits(labelled.named_slow, slow),
        "other": _hits(_is_another, victims),
    }


def of_tallies(tolerances: Sequence[float], of: Mapping[str, Sequence[int]]) -> list[Bar]:
    """``tolerances`` of the runs; ``of`` as ``tallies`` brings them."""
    return [
        _median(sorted(tolerances)),
        _at_least("runs with a tolerance of at most 20 %", 0.90, sum(t <= LARGE_TOLERANCE for t in tolerances),
                  len(tolerances)),
        _at_least("labelled sessions that count", 0.85, *of["count"]),
        _at_least("right cause, of those that count", 0.97, *of["right"]),
        _at_least("right cause, of those that lost more than the tolerance", 0.99, *of["beyond"]),
        _at_least("1.2 times more work found", 0.95, *of["more"]),
        _at_least("waits and stops found", 0.92, *of["gaps"]),
        _at_most("quiet sessions named slow", 0.01, *of["named_slow"]),
        _at_most("the same, of those whose CPU was slow", 0.01, *of["slow_named_slow"]),
        _at_most("another cause named", 0.005, *of["other"]),
    ]  # fmt: skip


def of_pairs(sittings: Sequence[Sitting]) -> list[Bar]:
    """Of pairs whose runs were left alone."""
    pairs = [(each, pair) for each in sittings for pair in each.alone]
    false = sum(bool(each.false_claims(pair)) for each, pair in pairs)
    met = None if not pairs else len(pairs) >= 40 and false <= 1
    return [Bar("A/A pairs with a false claim", "at most 1 of 40", told(false, len(pairs)), met)]


def found_right(row: Row) -> bool:
    """Its label was said, and not of its CPU's pace alone."""
    return bool(labelled.said_beside(row) == row["label"])


def table(columns: Mapping[str, Sequence[Bar]]) -> str:
    """A row per bar, and a column per set of cases with the same bars."""
    names = list(columns)
    head = f"| bar | | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}"
    lines = [
        f"| {first.what} | {first.wanted} | {' | '.join(map(_met, bars))} |"
        for bars in zip(*columns.values(), strict=True)
        for first in bars[:1]
    ]
    return "\n".join([head, *lines])


def _met(bar: Bar) -> str:
    return "-" if bar.met is None else f"{bar.found}: {'met' if bar.met else '**not met**'}"


def _times(row: Row) -> float:
    found = re.match(r"[\d.]+", row["setting"])
    assert found is not None, row
    return float(found.group())


def _hits(is_hit: Callable[[Row], bool], rows: Sequence[Row]) -> tuple[int, int]:
    return sum(map(is_hit, rows)), len(rows)


def _is_another(row: Row) -> bool:
    return labelled.said_beside(row) not in (row["label"], "none", "unexplained")


def _median(values: Sequence[float]) -> Bar:
    low, high = quantile_interval(values, 0.5)
    middle = float(np.median(values)) if values else float("nan")
    found = f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f}; {len(values)} runs)"
    return Bar("tolerance of a run, median", f"at most {TOLERANCE:.0%}", found, middle <= TOLERANCE if values else None)


def quantile_interval(values: Sequence[float], share: float) -> tuple[float, float]:
    """95 % interval of a quantile, by ranks: no distribution is assumed. ``values`` sorted. Source: Hahn and Meeker,
    *Statistical Intervals*, section 5.2."""
    if not values:
        return float("nan"), float("nan")
    from scipy.stats import binom  # loads slowly

    low, high = (int(binom.ppf(p, len(values), share)) for p in (0.025, 0.975))
    return values[max(0, low - 1)], values[min(len(values) - 1, high)]


def _at_least(what: str, share: float, hits: int, cases: int) -> Bar:
    return Bar(what, f"at least {100 * share:g} %", told(hits, cases), hits >= share * cases if cases else None)


def _at_most(what: str, share: float, hits: int, cases: int) -> Bar:
    return Bar(what, f"at most {100 * share:g} %", told(hits, cases), hits <= share * cases if cases else None)
