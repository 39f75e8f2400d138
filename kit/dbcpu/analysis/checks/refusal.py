"""A run whose work was not done answers nothing, whatever its figures say."""

from msgspec.structs import replace

from dbcpu.analysis.levels.outcome import UNKNOWN
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.experiments import Conclusion
from dbcpu.analysis.results.run import Analysis
from dbcpu.findings import Finding

CODE = "work-not-done"
WORDS = "No answer: the work was not done"


def refusal(analysis: Analysis) -> Finding | None:
    """The finding for which there is no answer."""
    return next((each for each in analysis.findings if each.code == CODE), None)


def refused(analysis: Analysis) -> Analysis:
    """The same, without any all-clear where work was not done: no level is equal or at full speed."""
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
    experiment = analysis.experiment and Conclusion(WORDS, UNKNOWN)
    return replace(analysis, verdict=f"No answer: {finding.seen}.", levels=levels, experiment=experiment, capacity=None)
