"""To what did a session lose most, and to what else: against one alone, or against the fastest session beside it?

Sessions may all lose to one thing alike (a turbo frequency that falls, a busy host), and some of them to another on
top (a shared core, a queue). Where a session is slower than the fastest of its round by more than 10 %, its parts are
weighed over those of that one: the largest is its cause, unless another part is most of its loss anyhow. Where the
fastest shared no core, what it needed of CPU time beyond one alone is not put down to sharing in those that did:
factors multiply, so their logarithms are shared out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from dbcpu.analysis.causes.evidence_rules import Share, Words
from dbcpu.analysis.causes.loss import Loss
from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.results.causes import Cause
from dbcpu.formatting import seconds

ACCOUNTED = 0.6
LEADING = 0.4
CLEAR = 0.6
"""A part that is so much of what is known of the loss against one alone is its cause, whatever others lose."""
ALSO = 1 / 3
"""A second cause is named where it is more than this of the first, and of the time alone at least ``WORTH_NAMING``."""
WORTH_NAMING = 0.05


@dataclass(slots=True)
class Lost:
    """A session's loss against one alone, ``reference_s``, and its parts.

    ``words``: where it has no parts, why, and then ``cause`` is all. ``beside_s``: the loss beside the pace of its
    CPUs, of which ``tolerated_s`` may stay unexplained. ``fastest``: of its round, None for that one, and ``common``:
    its known parts, of the time alone; both set by ``over_fastest``.
    """

    split: Loss | None
    reference_s: float | None
    cause: Cause = Cause.NONE
    words: str | Words | None = None
    valid: bool = True
    pace_only: bool = False
    slowdown: float = 1.0
    shares: tuple[Share, ...] = ()
    beside_s: float = 0.0
    tolerated_s: float = 0.0
    fastest: "Lost | None" = None
    common: Mapping[Cause, float] | None = None
    _by_cause: dict[Cause, float] | None = None

    @property
    def beside(self) -> float:
        """Of its time alone."""
        return self.beside_s / self.reference_s if self.reference_s else 0.0

    def by_cause(self) -> dict[Cause, float]:
        """Seconds, the largest part first."""
        if self._by_cause is None:
            found: dict[Cause, float] = {}
            for cause, lost_s, _ in self.shares:
                found[cause] = found.get(cause, 0.0) + lost_s
            self._by_cause = dict(sorted(found.items(), key=_largest_first)) if len(found) > 1 else found
        return self._by_cause

    def named(self) -> tuple[Cause, Cause]:
        """The cause, and a second one or NONE. Too little evidence makes it unexplained."""
        if self.words is not None:
            return self.cause, Cause.NONE
        parts = self._of_alone()
        accounted = sum(parts.values())
        left_over = self.beside - accounted > self.tolerated_s / (self.reference_s or 1.0)
        if not parts or left_over or accounted < ACCOUNTED * self.beside:
            return Cause.UNEXPLAINED, Cause.NONE
        of_alone, over = _leading(parts, self.beside), self._over_fastest(parts)
        if of_alone and over and over[0] is not of_alone[0] and parts[of_alone[0]] >= CLEAR * accounted:
            return of_alone[0], over[0]
        return over or of_alone or (Cause.UNEXPLAINED, Cause.NONE)

    def _of_alone(self) -> dict[Cause, float]:
        """The known parts, of the time alone."""
        alone_s, unexplained = self.reference_s or 1.0, Cause.UNEXPLAINED
        return {cause: lost_s / alone_s for cause, lost_s in self.by_cause().items() if cause is not unexplained}

    def _over_fastest(self, parts: dict[Cause, float]) -> tuple[Cause, Cause] | None:
        fastest, common = self.fastest, self.common
        if fastest is None or common is None or not exceeds((1 + self.beside) / (1 + fastest.beside)):
            return None
        over = {cause: max(0.0, part - common.get(cause, 0.0)) for cause, part in parts.items()}
        return _leading(over, self.beside - fastest.beside)


def over_fastest(members: Sequence[Lost]) -> list[Lost]:
    """The sessions of one round, each with the fastest of them."""
    known = [each for each in members if each.valid and each.split is not None]
    if len(known) < 2:
        return list(members)
    fastest = min(known, key=lambda each: each.beside)
    common = fastest._of_alone()
    for each in members:
        if each.shares and each is not fastest:
            each.fastest, each.common = fastest, common
            each.shares, before = _without_common(each, common), each.shares
            if each.shares is not before:
                each._by_cause = None
    return list(members)


def _largest_first(part: tuple[Cause, float]) -> float:
    return -part[1]


def _leading(parts: dict[Cause, float], whole: float) -> tuple[Cause, Cause] | None:
    """The largest part, if it is large enough, and the next one, if that is worth naming."""
    (first, most), *others = sorted(parts.items(), key=_largest_first) if len(parts) > 1 else parts.items()
    if most < LEADING * whole:
        return None
    return first, others[0][0] if others and others[0][1] > max(ALSO * most, WORTH_NAMING) else Cause.NONE


def _without_common(member: Lost, common: Mapping[Cause, float]) -> tuple[Share, ...]:
    """Of a session that shared its core: what one that did not share needed, too, is no cost of sharing.

    ``common``: the parts of the fastest, of the time alone.
    """
    own = member.by_cause()
    shared_s, slower = own.get(Cause.SHARED_CORE, 0.0), common.get(Cause.SLOWER_CPU, 0.0)
    if not shared_s or not slower or Cause.SHARED_CORE in common or Cause.SLOWER_CPU in own:
        return member.shares
    part = min(1.0, log1p(slower) / log1p(shared_s / (member.reference_s or 1.0)))
    common_s = part * shared_s

    def words() -> str:
        return f"{seconds(common_s)} of it not by sharing: a session beside it that shared no core was slower, too"

    kept = (each._replace(seconds=each.seconds * (1 - part)) if each.cause is Cause.SHARED_CORE else each
            for each in member.shares)  # fmt: skip
    return (*kept, Share(Cause.SLOWER_CPU, common_s, words))
