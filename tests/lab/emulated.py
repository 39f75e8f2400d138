"""The guest's records as labelled sessions: what each truly shared follows from how its CPUs were pinned.

In the guest of ``tests/guest`` CPUs 2i and 2i + 1 run on CPU i of the machine. A session beside which another one ran
on the other CPU of that pair for half of its time has truly shared a core; one that met nobody there has not. What
the guest's kernel tells of siblings plays no part in the label, so the record with the topology hidden has one, too.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dbcpu.analysis.explain import explain
from dbcpu.record.rounds import Round, RunRecord, Session
from dbcpu.store import record_file

EXAMPLES = Path(__file__).parents[2] / "reports" / "examples"
PACED = Path(__file__).parent / "results" / "guest"
EXAMPLE_FILES = ("emulated-smt", "emulated-smt-off", "emulated-smt-hidden")
FILES = {
    **{name: EXAMPLES / name / "record.json.gz" for name in EXAMPLE_FILES},
    **{file.name.removesuffix(".json.gz"): file for file in sorted(PACED.glob("witness-*.json.gz"))},
}
"""Examples without a witness, and runs of longer sessions with one (``--executions 64``)."""
SHARED, ALONE = 0.5, 0.1
"""Shares of a session's time from which it has shared a core, and up to which it has not; between them no label."""


class Row(Struct, frozen=True):
    """One session above level 1. ``label`` is '' where it shared for too little and too much of its time."""

    file: str
    level: int
    label: str
    said: str
    slowdown: float


def rows(file: str) -> Iterator[Row]:
    """The sessions of the record of this name."""
    record = record_file.read(FILES[file])
    rounds = {each.order: each for each in record.rounds}
    for view in explain(record).sessions:
        if view.level > 1 and view.valid and view.slowdown is not None:
            each = rounds[view.order]
            session = next(one for one in each.sessions if one.ordinal == view.ordinal)
            yield Row(file, view.level, _label(record, each, session), view.cause, view.slowdown)


def _label(record: RunRecord, each: Round, session: Session) -> str:
    assert record.header.host is not None
    cpus = [cpu for cpu in record.header.host.topology.cpus if cpu.online]
    if each.level > len(cpus):
        return "run_queue"
    share = shared_share(each, session)
    if share <= ALONE:
        return "none"
    if share < SHARED:
        return ""
    return "shared_core" if any(len(cpu.siblings) > 1 for cpu in cpus) else "slower_cpu"


def shared_share(each: Round, session: Session) -> float:
    """Share of the session's runnable time with another session on the other CPU of its pair."""
    own = [(one.cpu, one.from_s, one.to_s) for one in session.residency if one.state == "R"]
    others = [
        (one.cpu, one.from_s, one.to_s)
        for other in each.sessions
        if other.ordinal != session.ordinal
        for one in other.residency
        if one.state == "R"
    ]
    met_s = sum(
        max(0.0, min(to_s, until_s) - max(from_s, since_s))
        for cpu, from_s, to_s in own
        for near, since_s, until_s in others
        if near != cpu and near // 2 == cpu // 2
    )
    return met_s / max(1e-9, sum(to_s - from_s for _, from_s, to_s in own))
