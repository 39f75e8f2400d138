"""What is known of one host of a fleet, and which hosts are twins of it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.robust import MEDIAN
from dbcpu.figures import RunFigures


@dataclass(frozen=True, slots=True)
class Kind:
    """What twins have in common: hardware, hypervisor, database, and the work that was measured."""

    cpu_model: str
    vcpus: int | None
    cores: int | None
    hypervisor: str | None
    database: str
    work: str

    def __str__(self) -> str:
        vcpus = f"{self.vcpus} vCPUs of " if self.vcpus else ""
        under = f" ({self.hypervisor})" if self.hypervisor else ""
        return f"{vcpus}{self.cpu_model or 'an unknown CPU'}{under}, {self.database}"


@dataclass(frozen=True, slots=True)
class FleetHost:
    """One measured target. Rates in the unit of the work per second; None where a figure is not known.

    ``error``: standard error of the logarithm of ``solo_rate``, by the rounds of its run alone.
    """

    target: str
    run_id: str
    kind: Kind
    solo_rate: float
    error: float
    peak_rate: float | None = None
    usable_cores: float | None = None
    usable_cores_interval: Interval | None = None
    evenness: float | None = None
    verdict: str = ""
    lost_to: str = ""
    findings: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def per_vcpu(self) -> float | None:
        """The largest throughput of any level, of each vCPU."""
        return self.peak_rate / self.kind.vcpus if self.peak_rate and self.kind.vcpus else None

    @property
    def per_core(self) -> float | None:
        return self.peak_rate / self.kind.cores if self.peak_rate and self.kind.cores else None


def fleet_host(
    target: str, run_id: str, kind: Kind, figures: RunFigures, tags: Mapping[str, str], repeats: int
) -> FleetHost | None:
    """None where the run says nothing of a single session."""
    rate, noise = figures.value("solo_mrows_per_s"), figures.value("noise_share")
    if not rate or not math.isfinite(rate):
        return None
    cores = next((each for each in figures.all if each.metric == "usable_cores"), None)
    known = cores is not None and cores.low is not None and cores.high is not None
    return FleetHost(
        target=target,
        run_id=run_id,
        kind=kind,
        solo_rate=rate,
        error=(noise or 0.0) * MEDIAN / math.sqrt(max(1, repeats)),
        peak_rate=figures.value("peak_mrows_per_s"),
        usable_cores=cores.value if cores else None,
        usable_cores_interval=Interval(cores.low, cores.high) if known else None,  # type: ignore[union-attr,arg-type]
        evenness=figures.value("evenness"),
        verdict=figures.text("verdict"),
        lost_to=figures.text("lost_to"),
        findings=figures.findings(),
        tags=tags,
    )


def by_kind(hosts: Iterable[FleetHost]) -> dict[Kind, list[FleetHost]]:
    """The groups of twins, the largest first; in each the fastest single session first."""
    found: dict[Kind, list[FleetHost]] = {}
    for each in sorted(hosts, key=lambda host: -host.solo_rate):
        found.setdefault(each.kind, []).append(each)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))
