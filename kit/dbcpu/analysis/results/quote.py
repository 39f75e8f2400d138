"""What is quoted of a host, from a run or from its kept figures: usable cores, and evenness beside them. Pure."""

from msgspec import Struct

from dbcpu.analysis.results.host import Capacity
from dbcpu.record.figures import RunFigures

EVEN_WORDS = {"yes": "even", "no": "not even", "undecided": "inconclusive"}
AT_LEAST = "at least"
"""Text of the kept figure of usable cores."""
_OF_PAIR = ("vcpus", "cpu_quota", "usable_cores", "evenness", "evenness_sessions", "variant", "variants")
QUOTE_METRICS = (*_OF_PAIR, "disturbance")
"""Figures that ``kept_quote`` and ``kept_notes`` need."""


class Quote(Struct, frozen=True):
    """Each figure with its 95 % interval; None where it is not known.

    ``even``: whether all levels up to the vCPUs, or to the quota, are even: yes, no, undecided, or '' where evenness is
    not known. ``quota``: what bounds the sessions, where that is not the vCPUs. ``at_least``: more sessions than were
    measured, or numbers between these, may show more usable cores. ``evenness_level``: the N that the evenness is of,
    the least even one. ``variant``: which one this is of, where the run has several, else ''.
    """

    vcpus: int | None = None
    usable_cores: float | None = None
    usable_cores_low: float | None = None
    usable_cores_high: float | None = None
    evenness: float | None = None
    evenness_low: float | None = None
    evenness_high: float | None = None
    even: str = ""
    quota: float | None = None
    at_least: bool = False
    evenness_level: int | None = None
    variant: str = ""


class QuoteNotes(Struct, frozen=True):
    """What has to be said beside the pair of a run or variant.

    ``without_curve``: usable cores are those of the best level. ``divided_by``: the slowdown that was counted of one
    session alone, where usable cores are fewer than the rates for it; ``alone_under``: the variant that this one was
    measured under, where that is another. ``needs_level``: the N without which usable cores
    are not known. ``disturbance``: the finding of what took the host's CPU meanwhile; '' for nothing much.
    ``more_between``: the first and last N that nobody measured and at which more may be done. ``even_levels``: all
    that were measured from two sessions to the vCPUs, where these are even and those that would decide are missing.
    """

    without_curve: bool = False
    divided_by: float | None = None
    alone_under: str = ""
    needs_level: int | None = None
    more_between: tuple[int, int] | None = None
    even_levels: tuple[int, ...] = ()
    disturbance: str = ""


def kept_quote(figures: RunFigures) -> Quote:
    """Of figures that were kept."""
    vcpus, quota, cores, evenness, level, variant, variants = (figures.figure(metric) for metric in _OF_PAIR)
    several = variants is not None and (variants.value or 0) > 1
    return Quote(
        vcpus=None if vcpus is None or vcpus.value is None else int(vcpus.value),
        usable_cores=cores.value if cores else None,
        usable_cores_low=cores.low if cores else None,
        usable_cores_high=cores.high if cores else None,
        evenness=evenness.value if evenness else None,
        evenness_low=evenness.low if evenness else None,
        evenness_high=evenness.high if evenness else None,
        even=(evenness.text or "") if evenness else "",
        quota=quota.value if quota else None,
        at_least=cores is not None and cores.text == AT_LEAST,
        evenness_level=None if level is None or level.value is None else int(level.value),
        variant=(variant.text or "") if several and variant else "",
    )


def kept_notes(figures: RunFigures) -> QuoteNotes:
    """Of figures that were kept: of the notes only what else took the host's CPU."""
    return QuoteNotes(disturbance=figures.text("disturbance"))


def quote(vcpus: int | None, room: Capacity | None, quota: float | None = None, variant: str = "") -> Quote:
    """The same of a run that was just explained."""
    if room is None:
        return Quote(vcpus, quota=quota, variant=variant)
    wide, evenness = room.usable_cores_interval, room.evenness
    within = evenness.interval if evenness else None
    return Quote(
        vcpus=vcpus,
        usable_cores=room.usable_cores,
        usable_cores_low=wide.low if wide else None,
        usable_cores_high=wide.high if wide else None,
        evenness=evenness.value if evenness else None,
        evenness_low=within.low if within else None,
        evenness_high=within.high if within else None,
        even=evenness.even.value if evenness else "",
        quota=quota,
        at_least=room.usable_cores_at_least,
        evenness_level=evenness.level if evenness else None,
        variant=variant,
    )
