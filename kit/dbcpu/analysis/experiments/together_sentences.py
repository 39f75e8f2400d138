"""What several targets lose beside each other, in sentences."""

from collections.abc import Sequence

from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import MIN_ROUNDS_APART, Conclusion, PartyView, Together
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, percent, plain, plural, ranges, times
from dbcpu.record.header import TOGETHER
from dbcpu.record.run_findings import QUIETER


def together_conclusion(both: Together) -> Conclusion:
    """The headline of targets beside each other, and its tone."""
    slowed = [plain(each.name) for each in both.parties if each.told]
    open_ = [each for each in both.parties if each.slower is Answer.UNDECIDED]
    if slowed:
        unsure = f"; inconclusive for {_names(open_)}" if open_ else ""
        return Conclusion(f"Slower beside the others: {listed(slowed)}{unsure}", Outcome.BAD)
    if not open_:
        return Conclusion("No target is shown to be slower beside the others", Outcome.UNKNOWN)
    known = [each for each in open_ if each.loss is not None]
    few = too_few(both)
    begin = f"Inconclusive, {plural(few, 'round')} {'is' if few == 1 else 'are'} too few" if few else "Inconclusive"
    if not known:
        names = "the targets lose" if len(open_) == len(both.parties) else f"{_names(open_)} loses"
        return Conclusion(f"{begin}: what {names} beside the others is not known", Outcome.UNKNOWN)
    said = f"{begin}: {_seen(known)} beside the others"
    most = max(
        (each for each in known if each.counted_cause.is_known), key=lambda each: each.counted or 0.0, default=None
    )
    counted = f", {_as_counted(most)}" if most is not None else ""
    return Conclusion(f"{said}{counted}", Outcome.UNKNOWN)


def too_few(both: Together) -> int:
    """How many rounds there are, alone or together, where these are too few for an answer; else 0."""
    rounds = min((each.rounds for each in both.parties if each.loss is not None), default=0)
    return rounds if rounds < MIN_ROUNDS_APART else 0


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
    if all(each.slower is Answer.NO for each in both.parties):
        return (
            f"Together, {place}, {listed(slowdowns)}: in no round was any of them slower by more than "
            f"{percent(max(0.0, highest - 1))}."
        )
    if not slowed:
        seen = f"it is inconclusive whether the targets slow each other: seen {_seen(known)}{_unknown(both)}"
        said = f"Together, {place}, {seen}.{_to_decide(both)}{_counted(known)}"
    else:
        said = f"Together, {place}, {listed(slowdowns)}: {_significance(slowed, both, _main(analysis))}."
    return f"{said}{_of_parts(both)}"


def _names(parties: Sequence[PartyView]) -> str:
    return listed([plain(each.name) for each in parties])


def _seen(parties: Sequence[PartyView]) -> str:
    return listed([f"{plain(each.name)} {times(each.loss)}" for each in parties])


def _as_counted(party: PartyView) -> str:
    return f"{times(party.counted)} as the kernel counted ({party.counted_cause.words})"


def _to_decide(both: Together) -> str:
    few = too_few(both)
    if not any(each.whole for each in both.parties):
        return " When no session fails any more, measure the targets together again."
    if not few:  # with more rounds those that overlap still do
        return f" {QUIETER[0].upper()}{QUIETER[1:]}, may decide."
    return f" {plural(few, 'round')} {'is' if few == 1 else 'are'} too few: {MIN_ROUNDS_APART} at least are needed."


def _counted(parties: Sequence[PartyView]) -> str:
    """What the kernel counted that each lost more beside the others than separately, in a sentence; '' for nothing."""
    counted = [each for each in parties if each.counted_cause.is_known]
    if not counted:
        return ""
    causes = {each.counted_cause for each in counted}
    said = [
        f"{plain(each.name)} {times(each.counted)}" + (f" ({each.counted_cause.words})" if len(causes) > 1 else "")
        for each in counted
    ]
    whole = f" ({counted[0].counted_cause.words})" if len(causes) == 1 else ""
    return f" The kernel counted {listed(said)}{whole}."


def _of_parts(both: Together) -> str:
    """That the others had more CPU in every round than beside all sessions."""
    if all(each.whole for each in both.parties):
        return ""
    return (
        " In every round of all targets a session failed: the others had more CPU than beside all sessions, and may "
        "lose more."
    )


def _place(both: Together) -> str:
    """Where the targets were: who was not held on CPUs could share those of all."""
    held = [f"{plain(each.name)} on {_cpus(each)}" for each in both.parties if each.cpus]
    if both.apart:
        return f"each on its own CPUs{', which are threads of the same cores' if both.common_cores else ''}"
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
    little = [each for each in others if each.slower is Answer.NO]
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
