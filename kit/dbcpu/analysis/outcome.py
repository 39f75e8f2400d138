"""What was found of the sessions themselves, as findings, so that an exit code can depend on it."""

from collections.abc import Callable

from dbcpu.analysis.facts import Facts
from dbcpu.analysis.regimes import WITHIN_CORES, WITHIN_VCPUS
from dbcpu.findings import Finding, Level
from dbcpu.wording import count, percent, plural, ranges, times

UNEVEN = 1.25
"""Median of the per-round max/min above which unevenness is practically never chance (simulated: no false alarm)."""


def uneven_sessions(facts: Facts) -> Finding | None:
    uneven = [each for each in facts.levels if each.uneven and (each.max_over_min or 1.0) > UNEVEN]
    if not uneven:
        return None
    worst = max(uneven, key=lambda each: each.max_over_min or 1.0)
    slow = f": {count(worst.slow)} of {worst.level} in a slow group" if worst.slow else ""
    return Finding(
        "uneven-sessions",
        Level.WARNING,
        f"at N={ranges(each.level for each in uneven)} the slowest session took up to "
        f"{times(worst.max_over_min)} as long as the fastest (N={worst.level}{slow})",
        "sessions doing the same work at the same time did not get the same CPU",
        "the sessions' causes say what took it",
    )


def slow_together(facts: Facts) -> Finding | None:
    if facts.reference is None:
        return None
    within = [each for each in facts.levels if each.regime in (WITHIN_CORES, WITHIN_VCPUS)]
    slow = [each for each in within if each.slowed and not each.uneven]
    if not slow:
        return None
    worst = max(slow, key=lambda each: each.slowdown_median or 1.0)
    return Finding(
        "slow-together",
        Level.WARNING,
        f"at N={worst.level} all sessions took about {times(worst.slowdown_median)} as long as one alone, "
        "though there are as many CPUs as sessions",
        "they are equal, and equally short of CPU: hidden shared cores, steal, a quota or falling frequency",
        "the sessions' causes say which",
    )


def shared_cores(facts: Facts) -> Finding | None:
    found = facts.shared_core
    if found is None or not found.speeds:
        return None
    pair, table = found.speeds[0], found.table
    if pair.high >= 1.0:
        return None
    return Finding(
        "shared-cores",
        Level.INFO,
        f"while {pair.threads} sessions share a core each runs at {percent(pair.speed)} of its speed "
        f"({percent(pair.low)} to {percent(pair.high)}); of {plural(table.shared_slow + table.shared_fine, 'session')} "
        f"that mostly shared {table.shared_slow} lost time, of {table.alone_slow + table.alone_fine} others "
        f"{table.alone_slow}",
        "what a second hardware thread on a core takes from the first, measured over the whole run (95 % interval)",
        "where it matters, run one session per core: smt/control off, ThreadsPerCore=1, or affinity",
    )


CHECKS: tuple[Callable[[Facts], Finding | None], ...] = (uneven_sessions, slow_together, shared_cores)
