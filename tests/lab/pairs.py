"""Real A/A pairs: one machine measured under several names in turns, nothing done to it. What is claimed all the same?

A sitting has two names or four; every two are a pair. Pairs of one sitting share its runs, and so are not independent.
"""

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.record.header import BASELINE
from dbcpu.record.rounds import RunRecord
from dbcpu.store import record_file
from lab import chance, cpu_speed, labelled
from lab.cpu_speed import Speeds


class RealSession(Struct, frozen=True):
    """``slow``: a cause was named, ``pace_only``: of its CPU's pace alone.

    ``cpu``: how many times as slow its CPU was as in the solo rounds, by the instrument; None without one.
    """

    level: int
    slow: bool
    pace_only: bool
    cpu: float | None


class RealRun(Struct, frozen=True):
    """The rounds under one name, explained as a run of its own. ``alone``: left alone in all of its rounds, by the
    lab's rule. ``claims``: false sentences and findings."""

    alone: bool
    claims: tuple[str, ...]
    tolerance: float | None
    sessions: tuple[RealSession, ...]


class Sitting(Struct, frozen=True):
    """``pairs``: by the numbers of their runs, whether `dbcpu compare` tells them apart. ``witness``: it had one."""

    name: str
    witness: bool
    runs: tuple[RealRun, ...]
    pairs: Mapping[tuple[int, int], bool]

    @property
    def alone(self) -> list[tuple[int, int]]:
        """The pairs of which both runs were left alone."""
        return [pair for pair in self.pairs if all(self.runs[at].alone for at in pair)]

    def false_claims(self, pair: tuple[int, int]) -> tuple[str, ...]:
        """Of either run, and of their comparison."""
        told = ("told apart",) if self.pairs[pair] else ()
        return (*(claim for at in pair for claim in self.runs[at].claims), *told)


@cache
def kept(folder: Path) -> tuple[Sitting, ...]:
    """All sittings of a folder, by name."""
    files = sorted(folder.glob("*.json.gz"))
    return tuple(judge(name, record_file.read(file), cpu_speed.read(folder, name))
                 for file in files for name in [file.name.removesuffix(".json.gz")])  # fmt: skip


def judge(name: str, record: RunRecord, speeds: Speeds) -> Sitting:
    """The rounds of each name explained as a run of its own, and every two compared."""
    halves = [_run(record, each) for each in record.header.plan.variants]
    sides = [chance.side_of(half) for half in halves]
    return Sitting(
        name,
        any(each.witness for each in record.rounds),
        tuple(_judged(half, speeds) for half in halves),
        {(a, b): chance.told_apart(sides[a], sides[b]) for a, b in combinations(range(len(sides)), 2)},
    )


def _run(record: RunRecord, name: str) -> RunRecord:
    """Under the name that every run has: another one is no variant of the host."""
    plan = replace(record.header.plan, variants=(BASELINE,))
    rounds = tuple(replace(each, variant=BASELINE) for each in record.rounds if each.variant == name)
    return RunRecord(replace(record.header, plan=plan), rounds)


def _judged(run: RunRecord, speeds: Speeds) -> RealRun:
    analysis = explain(run)
    cpu = cpu_speed.times_as_slow(run, speeds, [each.order for each in run.rounds if each.level == 1])
    return RealRun(
        all(labelled.disturbed(each, speeds.pids) <= labelled.DISTURBED for each in run.rounds),
        chance.false_claims(analysis, chance.WITHIN_CORES),
        analysis.reference.tolerance if analysis.reference else None,
        tuple(
            RealSession(view.level, view.cause != "none", view.pace_only, cpu.get((view.order, view.ordinal)))
            for view in analysis.sessions
        ),
    )
