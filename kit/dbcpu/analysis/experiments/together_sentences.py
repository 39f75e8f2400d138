"""What several targets lose beside each other, in sentences."""

from collections.abc import Sequence

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.results.answer import Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import Conclusion, PartyView, Together
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, percent, plain, ranges, times
from dbcpu.record.header import TOGETHER


def together_conclusion(both: Together) -> Conclusion:
    """The headline of targets beside each other, and its tone."""
    slowed = [plain(each.name) for each in both.parties if each.told]
    if slowed:
        return Conclusion(f"Slower beside the others: {listed(slowed)}", Outcome.BAD)
    return Conclusion("No target is shown to be slower beside the others", Outcome.UNKNOWN)


def together_sentence(both: Together, analysis: Analysis) -> str:
    """What each target loses beside the others, where it ran, and to what most is lost."""
    known = [each for each in both.parties if each.loss is not None]
    if not known and all(each.beside_s is None for each in both.parties):
        return "No round of all targets together was finished."
    if not known:
        return "No target has a valid round separately: what they lose together is not known."
    place = _place(both)
    slowdowns = [_slowdown(each) for each in known]
    slowed = [each for each in known if each.told]
    highest = max((each.high or float("inf") for each in known), default=float("inf"))
    if not slowed and highest <= EQUAL and len(known) == len(both.parties):
        return (
            f"Together, {place}, {listed(slowdowns)}: in no round was any of them slower by more than "
            f"{percent(max(0.0, highest - 1))}."
        )
    if not slowed:
        seen = listed([f"{plain(each.name)} {times(each.loss)}" for each in known])
        seen = f"(seen: {seen}){_unknown(both)}"
        return f"Together, {place}, no target has a significant slowdown {seen}; more rounds may decide."
    return f"Together, {place}, {listed(slowdowns)}: {_significance(slowed, both, _main(analysis))}."


def _place(both: Together) -> str:
    """Where the targets were: who was not held on CPUs could share those of all."""
    held = [f"{plain(each.name)} on {_cpus(each)}" for each in both.parties if each.cpus]
    if both.apart:
        return "each on its own CPUs"
    if not held:
        return "free to share CPUs"
    if len({each.cpus for each in both.parties}) == 1:
        return f"all pinned to {_cpus(both.parties[0])}"
    free = [f"{plain(each.name)} on any CPU" for each in both.parties if not each.cpus]
    return f"pinned by `--cpus` ({listed([*held, *free])})"


def _cpus(party: PartyView) -> str:
    return f"CPU{'s' if len(party.cpus) > 1 else ''} {ranges(party.cpus)}"


def _slowdown(party: PartyView) -> str:
    name, loss = plain(party.name), party.loss or 1.0
    if round(loss, 2) < 1.0:
        return f"{name} takes {times(loss)} of its time separately"
    return f"{name} has a slowdown of {times(loss)}"


def _unknown(both: Together) -> str:
    """``; not known for b``: of these a round together or separately is lacking."""
    lacking = [plain(each.name) for each in both.parties if each.loss is None]
    return f"; not known for {listed(lacking)}" if lacking else ""


def _significance(slowed: Sequence[PartyView], both: Together, cause: str) -> str:
    if len(slowed) == len(both.parties):
        return f"significant for all{cause}"
    words = [f"significant for {listed([plain(each.name) for each in slowed])}{cause}"]
    others = [each for each in both.parties if each.loss is not None and each not in slowed]
    # As of targets of which none is slower: this much is shown.
    little = [each for each in others if each.high is not None and each.high <= EQUAL]
    seen = [f"{plain(each.name)} ({times(each.low)} to {times(each.high)})" for each in others if each not in little]
    if seen:
        words.append(f"inconclusive for {listed(seen)}")
    if little:
        most = percent(max(0.0, max(each.high or 0.0 for each in little) - 1))
        words.append(f"in no round was {listed([plain(each.name) for each in little])} slower by more than {most}")
    return f"{', '.join(words)}{_unknown(both)}"


def _main(analysis: Analysis) -> str:
    causes = [each.main_cause for each in analysis.levels if each.variant == TOGETHER and each.main_cause != Cause.NONE]
    return f" ({causes[0].words})" if causes else ""
