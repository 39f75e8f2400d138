"""On which CPU did each session of a round mostly run?"""

from collections.abc import Sequence

from dbcpu.analysis.sessions.valid_sessions import Timed

MOSTLY = 0.5
"""Of the time that it was seen runnable."""


def usual_cpus(members: Sequence[Timed]) -> tuple[int, ...]:
    """A CPU for each session; () where one was not seen, had no such CPU, or shared it with another."""
    found: dict[int, None] = {}
    for each in members:
        cpu = _usual_cpu(each)
        if cpu is None or cpu in found:
            return ()
        found[cpu] = None
    return tuple(found)


def _usual_cpu(member: Timed) -> int | None:
    lasted_s: dict[int, float] = {}
    for each in member.session.residency:
        if each.state == "R":
            lasted_s[each.cpu] = lasted_s.get(each.cpu, 0.0) + each.to_s - each.from_s
    most = max(lasted_s, key=lambda cpu: lasted_s[cpu], default=None)
    return most if most is not None and lasted_s[most] > MOSTLY * sum(lasted_s.values()) else None
