"""Which targets of a campaign are started next: a pure function of what is known so far.

The first target runs alone, so that a wrong option or a missing privilege costs one host. With each that is done the
campaign may be wider: 1, 2, 4, ... at once, up to the limit. Targets of one group share something, and take turns.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.store.campaigns import DONE, FAILED, PLANNED, RUNNING


class Queued(Struct, frozen=True):
    """What the order depends on. ``lasts_s``: the expected wall time. ``again``: tried before, and failed then."""

    name: str
    group: str = ""
    state: str = PLANNED
    lasts_s: float = 0.0
    again: bool = False


class StartLimits(Struct, frozen=True):
    """``failures``: the largest share of all targets that may fail, 0 to 1; the ``forgiven`` first ones do not count.

    ``left_s``: until the window closes; None: there is no window.
    """

    at_once: int
    failures: float = 1.0
    forgiven: int = 0
    left_s: float | None = None


class Step(Struct, frozen=True):
    """What to start now. ``stop``: nothing more is started from now on, for this reason; '' while it goes on."""

    start: tuple[str, ...] = ()
    stop: str = ""


def next_step(targets: Sequence[Queued], limits: StartLimits) -> Step:
    """What to start, given the state of every target of the campaign; the same input gives the same answer.

    Of the targets that may run, those never tried come first: what failed may fail again, and end the campaign. Of
    these one of the group with the most targets left, then by their order: the largest group is the longest chain of
    turns. A share that is less than one target allows one failure, and 0 none.
    """
    waiting = [each for each in targets if each.state == PLANNED]
    if not waiting:
        return Step()
    failed = sum(each.state in FAILED for each in targets) - limits.forgiven
    allowed = max(1, int(limits.failures * len(targets))) if limits.failures > 0 else 0
    if failed > allowed:
        return Step(stop=f"{failed} of {len(targets)} targets failed, and --failures accepts {allowed}")
    longest_s = max(each.lasts_s for each in waiting)
    if limits.left_s is not None and longest_s > limits.left_s:
        return Step(stop="the longest measurement left would not end within the window")
    running = [each for each in targets if each.state == RUNNING]
    room = min(limits.at_once, _width(targets)) - len(running)
    busy = {each.group for each in running if each.group}
    left = Counter(each.group for each in waiting if each.group)
    start: list[str] = []
    for each in sorted(waiting, key=lambda one: (one.again, -left[one.group])):
        if len(start) >= room:
            break
        if not each.group or each.group not in busy:
            start.append(each.name)
            busy.add(each.group)
    return Step(tuple(start))


def lasts_s(targets: Sequence[Queued], limits: StartLimits) -> float:
    """How long all of them take in this order, if each takes its ``lasts_s`` and none fails."""
    states = {each.name: each for each in targets}
    ends: list[tuple[float, str]] = []
    now_s = 0.0
    while True:
        for name in next_step(tuple(states.values()), limits).start:
            states[name] = replace(states[name], state=RUNNING)
            heappush(ends, (now_s + states[name].lasts_s, name))
        if not ends:
            return now_s
        now_s, name = heappop(ends)
        states[name] = replace(states[name], state=DONE)


def min_duration_s(targets: Sequence[Queued], at_once: int) -> float:
    """How long all of them take at least, whatever their order: groups take turns, and others go on beside them."""
    in_turns: dict[str, float] = defaultdict(float)
    for each in targets:
        in_turns[f"group {each.group}" if each.group else f"target {each.name}"] += each.lasts_s
    return max(sum(in_turns.values()) / at_once, max(in_turns.values(), default=0.0))


def _width(targets: Sequence[Queued]) -> int:
    """The largest power of two that is at most one more than the targets done: 1, 2 after one, 4 after three ..."""
    done = sum(each.state == DONE for each in targets)
    return 1 << ((done + 1).bit_length() - 1)
