"""What the rounds so far say of each level, while a run goes: medians of what was measured, not yet explained."""

from collections import defaultdict
from statistics import mean, median

from dbcpu.formatting import plural, seconds, times
from dbcpu.record import BASELINE, Round


class LiveFigures:
    """Seconds per execution of the rounds so far, by variant and level."""

    def __init__(self) -> None:
        self._medians_s: dict[tuple[str, int], list[float]] = defaultdict(list)

    def add(self, done: Round) -> tuple[str, str]:
        """Of the round that just ended: a line of its figures, and its level in a few words, '' where it has none."""
        times_s = [
            mean(each.elapsed_s for each in session.executions) for session in done.sessions if session.executions
        ]
        failed = sum(session.error is not None for session in done.sessions)
        lost = f"; {plural(failed, 'session')} failed" if failed else ""
        who = plural(done.level, "session")
        if not times_s:
            return f"{who}: nothing was measured{lost}", ""
        self._medians_s[done.variant, done.level].append(median(times_s))
        line = f"{who}: median {seconds(median(times_s))} per execution"
        slowdown = self._slowdown(done.variant, done.level)
        if done.level > 1:
            line += f", slowest over fastest {times(max(times_s) / min(times_s))}"
        if slowdown is None:
            return f"{line}{lost}", ""
        return (
            f"{line}, so far {times(slowdown)} of a single session{lost}",
            f"N={done.level}: {times(slowdown)} so far",
        )

    def _slowdown(self, variant: str, level: int) -> float | None:
        alone = self._medians_s.get((variant, 1)) or self._medians_s.get((BASELINE, 1))
        return median(self._medians_s[variant, level]) / median(alone) if alone and level > 1 else None
