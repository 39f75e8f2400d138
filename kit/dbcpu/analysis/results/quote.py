"""What is quoted of a host, from a run or from its kept figures: usable cores, and evenness beside them. Pure."""

from msgspec import Struct

from dbcpu.analysis.results.host import Capacity
from dbcpu.figures import RunFigures

EVEN_WORDS = {"yes": "even", "no": "not even", "undecided": "inconclusive"}
AT_LEAST = "at least"
"""Text of the kept figure of usable cores."""
METRICS = ("vcpus", "cpu_quota", "usable_cores", "evenness")
"""Figures that ``kept_quote`` needs."""


class Quote(Struct, frozen=True):
    """Each figure with its 95 % interval; None where it is not known.

    ``even``: whether all levels up to the vCPUs, or to the quota, are even: yes, no, undecided, or '' where evenness is
    not known. ``quota``: what bounds the sessions, where that is not the vCPUs. ``at_least``: more sessions than were
    measured, or numbers between these, may show more usable cores.
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


def kept_quote(figures: RunFigures) -> Quote:
    """Of figures that were kept."""
    vcpus, quota, cores, evenness = (figures.figure(metric) for metric in METRICS)
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
    )


def quote(vcpus: int | None, room: Capacity | None, quota: float | None = None) -> Quote:
    """The same of a run that was just explained."""
    if room is None:
        return Quote(vcpus, quota=quota)
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
    )
