"""What else took CPU while an experiment was measured, in a sentence."""

from collections.abc import Iterable

from dbcpu.analysis.levels.level_losses import lost_nothing
from dbcpu.analysis.results.experiments import DISTURBANCES
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed

THROTTLED = "throttled"
"""The finding of a quota."""


def disturbance_caveat(analysis: Analysis) -> str:
    """A caveat where others took CPU, else '': then times differ for reasons that are not the sessions'.

    A quota holds these sessions back themselves, also on a quiet host: that is a cause.
    """
    named = disturbance_words(code for code in disturbances(analysis) if code != THROTTLED)
    return f"Meanwhile the host lost CPU to {listed(named)}: figures differ from a quiet host's." if named else ""


def disturbances(analysis: Analysis) -> list[str]:
    """Findings of what else took CPU; other processes only where sessions may have lost something to them."""
    codes = {each.code for each in analysis.findings}
    soak = analysis.soak
    steady = soak is None or (soak.trend is None and soak.second is None and not soak.sizes)
    if steady and analysis.levels and all(map(lost_nothing, analysis.levels)):
        codes -= {"foreign-load"}
    return [code for code in DISTURBANCES if code in codes]


def disturbance_words(codes: Iterable[str]) -> list[str]:
    """What these findings are of, each in a few words."""
    return [DISTURBANCES[code] for code in codes]
