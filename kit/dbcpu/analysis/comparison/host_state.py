"""What others took of a host while one side was measured, and how far its speed drifted: part of a decision's interval.

Strangers that used the share t of all CPU time leave 1 - t of it. Without them a side would have had at most 1 / (1 -
t) times its throughput, so the ratio may be off by the factor (1 - t of the baseline) / (1 - t of the side), and the
interval reaches from the ratio as it was to that. Of max/min all that they used is taken to have hit one session,
which keeps at least half of its CPU. One run a side whose single-session time drifted by d is known to that factor
only.
"""

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.measured_run import Measured, MeasuredSide
from dbcpu.analysis.host_usage.host_time import steal_known, typical_foreign_share
from dbcpu.analysis.levels.drift import drift
from dbcpu.analysis.results.comparison import HOST_STATE, NOT_KNOWN, SITTING, SPREAD, Decision
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.formatting import listed, percent
from dbcpu.record.rounds import Round

MIN_TAKEN = {SPREAD: 0.05}
MIN_THROUGHPUT_TAKEN = 0.01
"""Less is no more than the kernel's counters resolve; of max/min it is what the finding foreign-load asks."""
MAX_HIT = 0.5
"""Of one session's CPU: the scheduler shares it with a stranger."""


class HostState(Struct, frozen=True):
    """Of one side at its levels: shares of all CPU time, medians over rounds and then means over runs."""

    name: str
    used: float
    stolen: float
    vcpus: int

    @property
    def taken(self) -> float:
        """Share of all CPU time that the sessions could not have; at most 0.99."""
        return min(0.99, self.used + self.stolen)

    @property
    def words(self) -> str:
        """Who took it; nothing of a part that is 0."""
        parts = [f"other processes used {percent(self.used)} of all vCPUs of {self.name}"] if self.used > 0 else []
        parts += [f"{percent(self.stolen)} of the CPU time of {self.name} was stolen"] if self.stolen > 0 else []
        return listed(parts)


def with_host_state(
    decision: Decision, sides: tuple[MeasuredSide, MeasuredSide], levels: tuple[Sequence[int], Sequence[int]]
) -> Decision:
    """The decision with the state of both hosts in its interval; no claim where that makes it include 1.

    Variants of one run took turns: what was on the host was there for all of them.
    """
    if decision.low is None or decision.high is None or decision.between_run_source == SITTING:
        return decision
    # Steal is part of what a host delivers: of several runs over days it is no accident of one hour.
    once = decision.between_run_source == NOT_KNOWN
    base, other = (_state(side, at, steal=once) for side, at in zip(sides, levels, strict=True))
    factor, taken = _factor(decision.summary, base, other)
    reasons = [taken] if taken else []
    moved = 1.0
    if once:
        drifts = [(side.name, change) for side in sides if (change := _drift(side.first))]
        moved = max((1 + abs(change) if change > 0 else 1 / (1 + change) for _, change in drifts), default=1.0)
        reasons += [f"the single-session time of {name} drifted by {percent(abs(change))}" for name, change in drifts]
    widened = replace(
        decision,
        low=decision.low * min(1.0, factor) / moved,
        high=decision.high * max(1.0, factor) * moved,
        host_state=listed(reasons),
    )
    if widened.shown and widened.low <= 1 <= widened.high:  # type: ignore[operator]
        return replace(widened, outcome=HOST_STATE)
    return widened


def _factor(summary: str, base: HostState, other: HostState) -> tuple[float, str]:
    """By how much the ratio would be another without strangers, and who they are; (1, '') for nothing much."""
    if abs(other.taken - base.taken) < MIN_TAKEN.get(summary, MIN_THROUGHPUT_TAKEN):
        return 1.0, ""
    words = (other if other.taken > base.taken else base).words
    if summary != SPREAD:
        return (1 - base.taken) / (1 - other.taken), words
    hit = [min(MAX_HIT, each.taken * max(1, each.vcpus)) for each in (base, other)]
    return (1 - hit[1]) / (1 - hit[0]), words


def _state(side: MeasuredSide, levels: Sequence[int], *, steal: bool) -> HostState:
    found = [_of_run(run, levels) for run in side.runs]
    used, stolen = (math.fsum(part) / len(found) for part in zip(*found, strict=True))
    return HostState(side.name, used, stolen if steal else 0.0, side.vcpus or 1)


def _of_run(run: Measured, levels: Sequence[int]) -> tuple[float, float]:
    rounds: list[Round] = [each for each in run.record.rounds if each.level in levels]
    return typical_foreign_share(rounds, run.analysis.vcpus), steal_known(run.record, rounds) or 0.0


def _drift(run: Measured) -> float:
    found = drift(run.record, timed(run.record), run.analysis.reference, whole=True)
    return found.change if found else 0.0
