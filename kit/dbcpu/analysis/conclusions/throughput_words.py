"""What more sessions cost in throughput, in words: of the whole host, not of one session."""

from dbcpu.analysis.results.host import Scaling
from dbcpu.formatting import percent, plural, ranges


def falls_words(scaling: Scaling | None) -> tuple[str, ...]:
    """Where more sessions do less, and where most is done if that is elsewhere; () where none do less."""
    fall = scaling.fall if scaling else None
    if fall is None:
        return ()
    least = "at least " if fall.at_least else ""
    less = f"at {fall.to_level} sessions it is {least}{percent(fall.share)} less than at {fall.from_level}"
    most = "" if fall.best_level in (None, fall.from_level) else f", and it is highest at {fall.best_level}"
    return (f"throughput falls with more sessions: {less}{most}",)


def fewer_words(scaling: Scaling) -> str:
    """What helps where more sessions do less: ``run no more than 4 sessions: ...``; '' where nothing is known to."""
    fall = scaling.fall
    if fall is None or fall.best_level != fall.from_level:
        return ""
    if fall.between is not None:
        first, last = fall.between
        between = ranges(range(first, last + 1))
        return f"measure at N={between}, too: throughput may be highest there (`--sessions {between}`)"
    return f"run no more than {plural(fall.from_level, 'session')}: with more sessions throughput falls"


def advised(fit: int, scaling: Scaling) -> int:
    """So many sessions as ``fit``, or fewer where the host is known to do more with fewer."""
    most = scaling.fall.advised if scaling.fall else None
    return fit if most is None else min(fit, most)
