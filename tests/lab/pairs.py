"""Real A/A pairs: one machine measured under two names in turns, nothing done to it. What is claimed all the same?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.per_round import one_variant
from dbcpu.plan import AA
from dbcpu.record import RunRecord
from dbcpu.store import record_file
from lab import chance, cpu_speed, labelled
from lab.cpu_speed import Speeds


@dataclass(frozen=True, slots=True)
class RealSession:
    """``cpu``: how many times as slow its CPU was as in the solo rounds, by the instrument; None without one."""

    level: int
    slow: bool
    cpu: float | None


@dataclass(frozen=True, slots=True)
class RealPair:
    """``alone``: in all of its rounds, by the lab's rule. ``claims``: false sentences and findings of its halves."""

    alone: bool
    claims: tuple[str, ...]
    told_apart: bool
    sessions: tuple[RealSession, ...]


def read(folder: Path) -> Iterator[RealPair]:
    """All pairs that are kept, by name."""
    for file in sorted(folder.glob("*.json.gz")):
        yield judge(record_file.read(file), cpu_speed.read(folder, file.name.removesuffix(".json.gz")))


def judge(record: RunRecord, speeds: Speeds) -> RealPair:
    """Each half explained as a run of its own, and both compared."""
    halves = [one_variant(record, name) for name in AA]
    told = [explain(half) for half in halves]
    return RealPair(
        all(labelled.disturbed(each, speeds.pids) <= labelled.DISTURBED for each in record.rounds),
        tuple(claim for each in told for claim in chance.false_claims(each, chance.WITHIN_CORES)),
        chance.told_apart(*halves),
        tuple(
            RealSession(view.level, view.cause != "none", cpu.get((view.order, view.ordinal)))
            for half, each in zip(halves, told, strict=True)
            for cpu in [cpu_speed.times_as_slow(half, speeds, [one.order for one in half.rounds if one.level == 1])]
            for view in each.sessions
        ),
    )
