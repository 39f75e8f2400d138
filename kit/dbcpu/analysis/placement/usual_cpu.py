"""On which CPU did each session of a round mostly run?"""

from collections import Counter
from collections.abc import Mapping, Sequence

from dbcpu.analysis.placement.once_per_round import kept
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.record.rounds import Round, Session

MOSTLY = 0.5
"""Of the time that it was seen runnable."""


def usual_cpus(members: Sequence[Timed]) -> tuple[int, ...]:
    """A CPU for each session; () where one was not seen, had no such CPU, or shared it with another."""
    found: dict[int, None] = {}
    for each in members:
        cpu = _usual(each.round)[each.session.ordinal]
        if cpu is None or cpu in found:
            return ()
        found[cpu] = None
    return tuple(found)


def with_own_core(members: Sequence[Timed], core_by_cpu: Mapping[int, int]) -> list[Timed]:
    """Without those that mostly ran on a core on which another mostly ran, too, as far as it was seen."""
    usual = [_usual(each.round)[each.session.ordinal] for each in members]
    cores = [None if cpu is None else core_by_cpu.get(cpu) for cpu in usual]
    many = Counter(cores)
    return [each for each, core in zip(members, cores, strict=True) if core is None or many[core] == 1]


@kept
def _usual(round_: Round) -> dict[int, int | None]:
    """By the ordinal of a session."""
    return {each.ordinal: _usual_cpu(each) for each in round_.sessions}


def _usual_cpu(session: Session) -> int | None:
    lasted_s: dict[int, float] = {}
    for each in session.residency:
        if each.state == "R":
            lasted_s[each.cpu] = lasted_s.get(each.cpu, 0.0) + each.to_s - each.from_s
    most = max(lasted_s, key=lasted_s.__getitem__, default=None)
    return most if most is not None and lasted_s[most] > MOSTLY * sum(lasted_s.values()) else None
