"""A run against the runs of its target before it, in one sentence and in the words of ``dbcpu check``. Pure.

Each figure is compared as the check compares it, whatever the fixed limits say. Where none is beyond what is usual the
sentence says how large a loss would have been seen: not having seen one shows no sameness.
"""

from collections.abc import Sequence

from msgspec import Struct

from dbcpu.analysis.history.limits import (
    RATES,
    ComparedFigure,
    HistoryPoint,
    Violation,
    compared,
    compared_runs,
    figure_words,
    in_maintenance,
    point,
    unusual,
    with_unit,
)
from dbcpu.analysis.history.strangers import may_all_be_strangers, stranger_words, strangers
from dbcpu.config.check_limits import CheckLimits
from dbcpu.formatting import listed, percent, plural
from dbcpu.record.figures import RunFigures
from dbcpu.record.header import Header

WORSE, BETTER, NOT_SHOWN = "worse", "better", "not shown"
MAX_NAMED = 3
NEARLY_ALL = 0.8
"""A loss that is so large is no limit that anybody asks for."""
STEAL = "more steal"
_WORDS = {
    "solo": "slower",
    "throughput": "slower",
    "slowdown": "slower",
    "max_over_min": "less even",
    "connect_s": "slower to connect",
    "steal": STEAL,
}


class AgainstHistory(Struct, frozen=True):
    """A run beside the ``runs`` of its target before it: ``change`` is worse, better, or not shown.

    ``sentence`` says so. ``strangers``: what others took of the host meanwhile, where that may be all of what is worse.
    """

    runs: int
    change: str
    sentence: str
    strangers: str = ""


def against_history(
    header: Header, figures: RunFigures, earlier: Sequence[HistoryPoint], limits: CheckLimits
) -> AgainstHistory | None:
    """None where no figure has a history; ``earlier`` as for ``check``."""
    now = point(header.run_id, header.started_at, figures, in_maintenance(header))
    before = compared_runs(now, earlier, limits)
    shown = [each for each in now.values if each.shown]
    found = [each for value in shown if (each := compared(value, before, limits)) is not None]
    if not found:
        return None
    runs = max(each.usual.runs for each in found)
    if worse := [one for value in shown for one in unusual(value, now, before, limits)]:
        return _worse(worse, runs, strangers(figures, limits.steal))
    if better := [each for each in found if each.is_better]:
        named = "; ".join(each.text for each in better[:MAX_NAMED])
        others = strangers(figures, limits.steal)
        if others:  # busy hosts differ by what others leave them
            said = f"{named}; meanwhile {others}, so this does not show that the host is faster"
            return AgainstHistory(runs, NOT_SHOWN, f"Against the {_before(runs)}: {said}.")
        return AgainstHistory(runs, BETTER, f"Faster than the {_before(runs)}: {named}.")
    unseen = f"{_unseen(found)} would not have been seen"
    return AgainstHistory(runs, NOT_SHOWN, f"No change shown against the {_before(runs)}; {unseen}.")


def _worse(found: Sequence[Violation], runs: int, others: str) -> AgainstHistory:
    words = list(dict.fromkeys(_WORDS[each.metric] for each in found))
    first = listed([each for each in words if each != STEAL] or words)
    named = [each.text for each in found[:MAX_NAMED]]
    if len(found) > MAX_NAMED:
        named.append(f"{len(found) - MAX_NAMED} more, see `dbcpu check`")
    dates = [each.since for each in found if each.since]
    beside = f"since {min(dates)}, by the {_before(runs)}" if dates else f"than the {_before(runs)}"
    sentence = f"{first[0].upper()}{first[1:]} {beside}: {'; '.join(named)}."
    may_be_all = bool(others) and may_all_be_strangers(found)
    if others:
        why = stranger_words(others, may_be_all=may_be_all)
        sentence += f" {why[0].upper()}{why[1:]}."
    return AgainstHistory(runs, WORSE, sentence, others if may_be_all else "")


def _before(runs: int) -> str:
    return f"{plural(runs, 'run')} before"


def _unseen(found: Sequence[ComparedFigure]) -> str:
    """Of the rates if there are any: they are what most histories have."""
    rates = [each for each in found if each.value.metric in RATES and each.usual.median > 0]
    if not rates:
        first = found[0]
        return f"{figure_words(first.value)} below {with_unit(first.value, first.limit)}"
    lost = {each.value.level: min(1.0, 1 - each.limit / each.usual.median) for each in rates}
    most = max(lost, key=lambda level: lost[level])
    least_words, most_words = percent(min(lost.values())), percent(lost[most])
    if min(lost.values()) > NEARLY_ALL:
        return "even a loss of most of the throughput"
    at = "" if least_words == most_words else f" ({most_words} at N={max(1, most)})"
    return f"a loss of throughput below {least_words}{at}"
