"""The slowdown of each target in the rounds of all targets, compared with its own rounds alone.

Figures are medians per round and then over rounds. A slowdown is significant when it is beyond 10 %, beyond three times
the noise of the rounds alone (robust standard deviation), and when each of three rounds or more beside was slower than
each of three or more alone: by chance that happens once in twenty times.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.results.experiments import PartyView, Together
from dbcpu.analysis.results.run import SPREADS
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, times_of
from dbcpu.analysis.statistics.robust import median, median_of_known, robust_deviation
from dbcpu.record.header import TOGETHER, Party
from dbcpu.record.rounds import RunRecord

MIN_ROUNDS_APART = 3


def together(record: RunRecord, sessions: Sequence[Timed]) -> Together:
    """A view for each party, in their order."""
    parties = record.header.plan.parties
    views, first = [], 0
    for party in parties:
        views.append(_party(party, range(first, first + party.sessions), sessions))
        first += party.sessions
    sets = [set(party.cpus) for party in parties]
    apart = all(sets) and sum(map(len, sets)) == len(set().union(*sets))
    return Together(tuple(views), apart)


def _party(party: Party, ordinals: range, sessions: Sequence[Timed]) -> PartyView:
    # Of a target with one session the rounds that show drift are like the others, and the table of levels has them too.
    own = [each for each in sessions if each.round.variant == party.target and each.round.level == party.sessions]
    beside = _rounds([each for each in sessions if each.round.variant == TOGETHER and each.session.ordinal in ordinals])
    alone = _rounds(own)
    alone_s, beside_s = [_elapsed_s(members) for members in alone], [_elapsed_s(members) for members in beside]
    before = median_of_known(alone_s)
    ratios = [value / before for value in beside_s] if before else []
    spread = robust_deviation(np.array(alone_s) / before, 1.0) if before else 0.0
    gate = 1.0 + max(MIN_TOLERANCE, SPREADS * spread)
    loss = median_of_known(ratios)
    # A sleeping process still shows the CPU that it was on before it was held on others.
    seen = {
        stretch.cpu for members in beside for each in members for stretch in each.session.residency
        if stretch.state == "R"
    }  # fmt: skip
    return PartyView(
        name=party.target,
        sessions=party.sessions,
        cpus=party.cpus,
        alone_s=before,
        beside_s=median_of_known(beside_s),
        alone_rate=median_of_known(_rate(members, party.workload.rows) for members in alone),
        beside_rate=median_of_known(_rate(members, party.workload.rows) for members in beside),
        loss=loss,
        low=min(ratios, default=None),
        high=max(ratios, default=None),
        gate=gate,
        told=loss is not None and loss > gate and _apart(alone_s, beside_s),
        cpus_seen=tuple(sorted(seen)),
    )


def _apart(alone_s: Sequence[float], beside_s: Sequence[float]) -> bool:
    return min(len(alone_s), len(beside_s)) >= MIN_ROUNDS_APART and min(beside_s) > max(alone_s)


def _rounds(sessions: Sequence[Timed]) -> list[list[Timed]]:
    """Of rounds in which nothing failed."""
    found = [members for _, members in by_round(sessions)]
    return [members for members in found if all(each.span and not each.why for each in members)]


def _elapsed_s(members: Sequence[Timed]) -> float:
    return median(times_of(members))


def _rate(members: Sequence[Timed], rows: int) -> float:
    """Mrows/s: the sum of the sessions' own rates."""
    return sum(rows / each_s for each_s in times_of(members)) / 1e6
