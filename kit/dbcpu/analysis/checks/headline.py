"""The short answer: a headline, a few figures, and what would help; chosen from the analysis.

The question is: does every session get the same CPU, and if not, how large is the slowdown, what is its cause, and
what would fix it?
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dbcpu.analysis.checks.verdict import even_and_short, is_blind
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.findings import Finding
from dbcpu.formatting import count, number, plural, rate, seconds, times

GOOD, PARTLY, BAD, UNKNOWN = "good", "partly", "bad", "unknown"


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure: ``value`` large, ``name`` above and ``beside`` below it."""

    name: str
    value: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """``kind`` is good (all even), partly (short only beyond the vCPUs), bad or unknown. ``remedy`` is '' if none."""

    kind: str
    headline: str
    facts: tuple[Fact, ...]
    remedy: str


def answer(analysis: Analysis) -> Answer:
    """For the first variant. Levels that count as short are those of the verdict."""
    variant = analysis.levels[0].variant if analysis.levels else ""
    levels = [each for each in analysis.levels if each.variant == variant and each.sessions]
    together = [each for each in levels if each.level > 1]
    if analysis.reference is None or not together:
        headline = "Nothing was measured" if not levels else "Too few measurements for an answer"
        return Answer(UNKNOWN, headline, _alone(analysis), "")
    even, short = even_and_short(together)
    if not short and is_blind(analysis.reference):
        return Answer(
            UNKNOWN, "Inconclusive: too much noise", _facts(analysis, levels), _noise_remedy(analysis.findings)
        )
    if even and not all(each.shares_known for each in even):
        return Answer(UNKNOWN, _of_totals(even, short), _facts(analysis, levels), "")
    if not short:
        return Answer(GOOD, f"Yes: equal CPU up to {plural(even[-1].level, 'session')}", _facts(analysis, levels), "")
    beyond = analysis.vcpus is not None and short[0].level > analysis.vcpus
    slower = short[0].slower or 0
    all_lose = slower >= short[0].level if slower else not short[0].uneven
    lose = "all are slower" if all_lose else "some are slower"
    headline = f"No: already at {short[0].level} sessions {lose}"
    if even:
        headline = f"Yes up to {plural(even[-1].level, 'session')}, from {short[0].level} on {lose}"
    remedy = _remedy(analysis.findings, short[0])
    return Answer(PARTLY if beyond else BAD, headline, _facts(analysis, levels, short[0]), remedy)


def _of_totals(even: Sequence[LevelView], short: Sequence[LevelView]) -> str:
    slower = f", slower from {short[0].level} on" if short else ""
    return f"No slowdown up to {plural(even[-1].level, 'session')}{slower}; shares not known"


def _facts(analysis: Analysis, levels: list[LevelView], short: LevelView | None = None) -> tuple[Fact, ...]:
    facts = []
    spread = [each for each in levels if each.max_over_min is not None]
    if spread:
        worst = max(spread, key=lambda each: each.max_over_min or 1.0)
        facts.append(Fact("slowest over fastest", times(worst.max_over_min), f"at most, at {worst.level} sessions"))
    if short is not None and short.main_cause != Cause.NONE:
        many = dict(short.causes).get(short.main_cause, 0)
        share = f"{many} of {short.sessions} sessions at N = {short.level}"
        facts.append(Fact("main cause", Cause(short.main_cause).words, share))
    elif short is not None and short.likely_cause:
        facts.append(Fact("probable cause", Cause(short.likely_cause).words, f"{count(short.slow)} slow"))
    room = analysis.capacity
    if room is not None and room.most_throughput:
        cores = analysis.scaling.effective_cores
        worth = f"{analysis.unit}, {number(cores, 1)} effective cores" if cores else analysis.unit
        facts.append(Fact("peak throughput", rate(room.most_throughput), worth))
    return (*facts, *_alone(analysis))


def _alone(analysis: Analysis) -> tuple[Fact, ...]:
    ref = analysis.reference
    return (Fact("single session", rate(ref.mrows_per_s), f"{analysis.unit}, {seconds(ref.elapsed_s)}"),) if ref else ()


def _remedy(findings: tuple[Finding, ...], short: LevelView) -> str:
    """Of the finding that fits the main cause; of two regimes the one in which more time was spent."""
    wanted = Cause(short.main_cause).helped_by or Cause(short.likely_cause or Cause.NONE).helped_by
    if (short.misplaced_s or 0.0) <= max(short.sharing_s or 0.0, short.oversubscribed_s or 0.0):
        wanted = (*(code for code in wanted if code != "misplaced"), *(code for code in wanted if code == "misplaced"))
    by_code = {each.code: each.remedy for each in findings}
    return next((by_code[code] for code in wanted if by_code.get(code)), "")


def _noise_remedy(findings: tuple[Finding, ...]) -> str:
    known = ("foreign-load", "steal", "unsteady-cpu", "noisy-reference")
    return next((each.remedy for code in known for each in findings if each.code == code), "")
