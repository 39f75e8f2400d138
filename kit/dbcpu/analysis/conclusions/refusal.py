"""A run whose work was not done, or not on one host, answers nothing, whatever its figures say."""

from msgspec.structs import replace

from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.experiments import Conclusion
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.findings import Finding

_WORDS = {
    "work-not-done": "No answer: the work was not done",
    "several-instances": "No answer: the sessions were on several instances, each with a host of its own",
}
"""By finding; the first one counts."""


def refusal(analysis: Analysis) -> Finding | None:
    """The finding for which there is no answer."""
    found = {each.code: each for each in analysis.findings}
    return next((found[code] for code in _WORDS if code in found), None)


def refusal_words(why: Finding) -> str:
    """The headline of a run that has that finding."""
    return _WORDS[why.code]


def refused(analysis: Analysis) -> Analysis:
    """The same, without any all-clear where there is no answer: no level is equal or at full speed."""
    finding = refusal(analysis)
    if finding is None:
        return analysis
    unanswered = {Answer.YES: Answer.UNDECIDED}
    levels = tuple(
        replace(
            each,
            even=unanswered.get(each.even, each.even),
            full_speed=unanswered.get(each.full_speed, each.full_speed),
        )
        for each in analysis.levels
    )
    experiment = analysis.experiment and Conclusion(refusal_words(finding), Outcome.UNKNOWN)
    return replace(analysis, verdict=f"No answer: {finding.seen}.", levels=levels, experiment=experiment, capacity=None)
