"""To what did a session lose most, and to what else: against one alone, or against the fastest session beside it?

Sessions may all lose to one thing alike (a turbo frequency that falls, a busy host), and some of them to another on
top (a shared core, a queue). Where a session is slower than the fastest of its round by more than 10 % and noise, its
parts are weighed over those of that one: the largest is its cause, unless another part is most of its loss anyhow.
Where the fastest shared no core, what it needed of CPU time beyond one alone is not put down to sharing in those that
did: factors multiply, so their logarithms are shared out.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.causes.parts_by_cause import AT, LossPart, LossParts
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.statistics.cumulative import Floats, Mask
from dbcpu.analysis.statistics.robust import expected_range
from dbcpu.formatting import seconds

ACCOUNTED = 0.6
LEADING = 0.4
LARGEST = 0.3
"""Enough for a part that is larger than all of the loss that is not known: nothing else can be larger."""
CLEAR = 0.6
"""A part that is so much of what is known of the loss against one alone is its cause, whatever others lose."""
ALSO = 1 / 3
"""A second cause is named where it is more than this of the first, and of the time alone at least ``WORTH_NAMING``."""
WORTH_NAMING = 0.05


_NONE, _UNEXPLAINED = AT[Cause.NONE], AT[Cause.UNEXPLAINED]
At = npt.NDArray[np.int64]


class NamedCauses(NamedTuple):
    """Columns of ``CAUSES`` by row: to what most was lost, and to what else, or NONE."""

    first: At
    second: At


class Lost(Struct):
    """The losses of sessions against one alone, which takes ``alone_s``, and their parts; one row each.

    ``round_at``: of which round. ``known``: its loss is known, and it counts. ``weighed``: it has parts, of a loss
    ``beside_s`` beside the pace of its CPUs, 0 elsewhere, of which ``tolerated_s`` may stay unexplained. ``spread``:
    relative standard deviation of times by noise.
    """

    round_at: At
    known: Mask
    weighed: Mask
    alone_s: Floats
    beside_s: Floats
    tolerated_s: Floats
    spread: Floats
    shares: LossParts

    def named(self) -> tuple[NamedCauses, LossParts]:
        """By row, where it has parts, and the parts that this rests on. Too little evidence makes a loss unexplained.

        In these parts what the fastest session lost without sharing is not put down to sharing.
        """
        parts_s, there = self.shares.by_cause()
        beside = self.beside_s / self.alone_s
        fastest = self._fastest(beside)
        # Without a fastest one (-1) these are of the last row, which says nothing: ``compared`` leaves such rows out.
        common, is_common = parts_s[:, fastest] / self.alone_s[fastest], there[:, fastest]
        compared = self.weighed & (fastest >= 0) & (fastest != np.arange(fastest.size))
        shares = self._without_common(compared, parts_s, there, common, is_common)
        if shares is not self.shares:
            parts_s, there = shares.by_cause()
        there[_UNEXPLAINED] = False
        parts = np.where(there, parts_s / self.alone_s, 0.0)
        accounted = parts.sum(axis=0)
        too_little = (beside - accounted > self.tolerated_s / self.alone_s) | (accounted < ACCOUNTED * beside)
        explained = self.weighed & there.any(axis=0) & ~too_little

        of_alone = _leading(parts, there, beside)
        # Where it is more than equal, as it is printed: 1.10x is not.
        over_fastest = np.round((1 + beside) / (1 + beside[fastest]), 2)
        slower = compared & (over_fastest > np.maximum(EQUAL, np.round(self._by_noise(), 2)))
        common = np.where(is_common, common, 0.0)
        over = _leading(np.maximum(0.0, parts - common), there, beside - beside[fastest])
        is_over, is_alone = slower & (over.first != _NONE), of_alone.first != _NONE
        largest = parts[of_alone.first, np.arange(fastest.size)]
        clear = is_over & is_alone & (over.first != of_alone.first) & (largest >= CLEAR * accounted)
        first = np.where(is_over & ~clear, over.first, np.where(is_alone, of_alone.first, _UNEXPLAINED))
        second = np.where(clear, over.first, np.where(is_over, over.second, of_alone.second))
        named = NamedCauses(np.where(explained, first, _UNEXPLAINED), np.where(explained, second, _NONE))
        return named, shares

    def _fastest(self, beside: Floats) -> At:
        """By row: that of the fastest session of its round, -1 where fewer than two are known."""
        rows = np.flatnonzero(self.known)
        rows = rows[np.lexsort((rows, beside[rows], self.round_at[rows]))]
        rounds, firsts, counts = np.unique(self.round_at[rows], return_index=True, return_counts=True)
        of_round = np.full(int(self.round_at.max(initial=-1)) + 1, -1)
        of_round[rounds[counts > 1]] = rows[firsts[counts > 1]]
        return np.asarray(of_round[self.round_at])

    def _by_noise(self) -> Floats:
        """By row: the slowest over the fastest of its round, where nothing but noise makes them differ."""
        counts = np.bincount(self.round_at[self.known], minlength=int(self.round_at.max(initial=-1)) + 1)
        ranges = np.array([expected_range(many) for many in counts.tolist()])
        return np.asarray(np.exp(self.spread * ranges[self.round_at]))

    def _without_common(
        self, compared: Mask, parts_s: Floats, there: Mask, common: Floats, is_common: Mask
    ) -> LossParts:
        """Of sessions that shared their core: what one that did not share needed, too, is no cost of sharing.

        ``common``: the parts of the fastest, of the time alone. The parts as they are where there is no such session.
        """
        sharing, slower = AT[Cause.SHARED_CORE], AT[Cause.SLOWER_CPU]
        shared_s = parts_s[sharing]
        beside = compared & (shared_s > 0) & is_common[slower] & (common[slower] > 0)
        beside &= ~is_common[sharing] & ~there[slower]
        if not beside.any():
            return self.shares
        of_both = np.log1p(shared_s / self.alone_s)
        part = np.divide(np.log1p(common[slower]), of_both, out=np.zeros_like(of_both), where=beside)
        part = np.minimum(1.0, part)
        common_s = part * shared_s

        def words(row: int) -> str:
            only = "a session beside it that shared no core was slower, too"
            return f"{seconds(common_s[row])} of it by something else: {only}"

        less = [share.scaled(1 - part) if share.cause is Cause.SHARED_CORE else share for share in self.shares.of_all]
        common_part = LossPart.where(beside, Cause.SLOWER_CPU, common_s, words)
        return LossParts(self.shares.count, [*less, common_part], self.shares.of_row)


def _leading(parts: Floats, there: Mask, whole: Floats) -> NamedCauses:
    """The largest part, if it is large enough, and the next one, if that is worth naming; else NONE."""
    some = np.asarray(there.any(axis=1))
    some[_NONE] = True
    ranked, causes = np.where(there[some], parts[some], -np.inf), np.flatnonzero(some)
    first, most = ranked.argmax(axis=0), ranked.max(axis=0)
    ranked[first, np.arange(first.size)] = -np.inf
    second, more = ranked.argmax(axis=0), ranked.max(axis=0)
    not_known = np.maximum(0.0, whole - parts.sum(axis=0))
    large = (most >= LEADING * whole) | ((most >= LARGEST * whole) & (most > not_known))
    also = large & (more > np.maximum(ALSO * most, WORTH_NAMING))
    return NamedCauses(np.where(large & np.isfinite(most), causes[first], _NONE), np.where(also, causes[second], _NONE))
