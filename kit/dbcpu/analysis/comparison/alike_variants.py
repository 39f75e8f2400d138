"""Up to how many sessions variants of one run are the same: a cap on those at work does nothing to fewer than it lets.

This cannot ask the room of variants; tests/contracts/test_contract_variants.py holds it against what each member plans.
"""

from collections.abc import Iterable

from dbcpu.record.header import BASELINE
from dbcpu.record.plan import ACTIVE, MAX_SESSIONS


def max_active_sessions(variant: str) -> int | None:
    """So many sessions work at a time under it (``active:4``), and the others wait in the client; None: all do."""
    kind, _, most = variant.partition(":")
    return int(most) if kind == ACTIVE and most.isdecimal() else None


def levels_in_turns(variant: str, levels: Iterable[int]) -> frozenset[int]:
    """Those at which sessions wait for their turn: no rates to be added, what whole rounds do is the throughput."""
    most = max_active_sessions(variant)
    return frozenset(level for level in levels if most is not None and level > most)


def alike_up_to(one: str, other: str) -> int:
    """With so many sessions, or fewer, nothing is done differently under the two; 0: something always is."""
    return min(MAX_SESSIONS if each == BASELINE else max_active_sessions(each) or 0 for each in (one, other))


def alike_words(one: str, other: str) -> str:
    """Why the decisions on ``other`` are at other levels, as a sentence; '' where they are not."""
    most = alike_up_to(one, other)
    if not most:
        return ""
    return (
        f"{other} changes nothing against {one} up to N={most}. These levels do not decide: throughput is decided at a "
        "larger N, and so is max/min if none is left of its levels."
    )
