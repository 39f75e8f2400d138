"""Real A/A pairs: one machine measured under two names in turns, nothing done to it. What is claimed all the same?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbcpu.analysis.explain import explain
from dbcpu.analysis.per_round import one_variant
from dbcpu.plan import AA
from dbcpu.record import RunRecord
from dbcpu.store import record_file
from lab import chance, labelled


@dataclass(frozen=True, slots=True)
class RealPair:
    """``alone``: in all of its rounds, by the lab's rule. ``claims``: false sentences and findings of its halves."""

    alone: bool
    claims: tuple[str, ...]
    told_apart: bool
    sessions: int
    named_slow: int


def read(folder: Path) -> Iterator[RealPair]:
    """All pairs that are kept, by name."""
    for file in sorted(folder.glob("*.json.gz")):
        yield judge(record_file.read(file))


def judge(record: RunRecord) -> RealPair:
    """Each half explained as a run of its own, and both compared."""
    halves = [one_variant(record, name) for name in AA]
    told = [explain(half) for half in halves]
    views = [view for each in told for view in each.sessions]
    return RealPair(
        all(labelled.disturbed(each, ()) <= labelled.DISTURBED for each in record.rounds),
        tuple(claim for each in told for claim in chance.false_claims(each, chance.WITHIN_CORES)),
        chance.told_apart(*halves),
        len(views),
        sum(view.cause != "none" for view in views),
    )
