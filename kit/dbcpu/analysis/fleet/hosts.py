"""The hosts of a campaign as the fleet's analysis reads them: small, made from kept figures and a run's header. Pure.

A host has one run or several. Speeds are compared as logarithms: a ratio is the same in both directions.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from msgspec import Struct, field

from dbcpu.analysis.placement.usable_cpus import shown_vcpus
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import DISTURBANCES
from dbcpu.analysis.results.quote import QUOTE_METRICS, Quote, kept_quote
from dbcpu.analysis.scaling.licences import LicenceFacts, facts_of
from dbcpu.analysis.statistics.interval import NORMAL_95
from dbcpu.analysis.statistics.robust import median_factor
from dbcpu.formatting import plural
from dbcpu.record.figures import FINDING, RunFigures
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord

ALONE, LOADED = "alone", "loaded"
"""What is compared: the speed of a single session, and the throughput at the largest level up to the vCPUs."""
BUSY = "busy"
"""Tag with the number of busy cores, which sizing reads."""
INSTANCE_TAGS = ("instance", "instance-type", "instance_type", "type", "shape")
FIGURES = (
    *QUOTE_METRICS, "headline", "lost_to", "unit", "cores", "solo_mrows_per_s", "noise_share", "steal_share",
    "others_share", "two_speeds_x", "throughput_mrows_per_s", "slowdown_x", "max_over_min_x", "run_delay_share",
    "level_steal_share", "throttled_share", "main_cause", "even", "elapsed_s",
    *(f"{FINDING}{code}" for code in DISTURBANCES),
)  # fmt: skip
"""Of a run, that ``host_run`` and ``shape`` need."""


class Speed(Struct, frozen=True):
    """``rate`` in the workload's unit; ``error``: standard error of its logarithm by the run's own rounds.

    ``error`` None: not known. ``level``: number of sessions. ``losses``: shares of time by the name of what took them.
    """

    rate: float
    error: float | None
    level: int
    losses: Mapping[str, float] = field(default_factory=dict)

    @property
    def log(self) -> float:
        return math.log(self.rate)


class HostRun(Struct, frozen=True):
    """One run of a host: its speeds by ``ALONE`` and ``LOADED``, as far as they were measured.

    ``disturbed``: what else took CPU meanwhile, in words. ``quote``: what is quoted of it, as everywhere.
    """

    run_id: str
    started_at: str
    speeds: Mapping[str, Speed]
    verdict: str = ""
    headline: str = ""
    cause: Cause | Literal[""] = ""
    max_over_min: float | None = None
    disturbed: tuple[str, ...] = ()
    quote: Quote = Quote()


class FleetHost(Struct, frozen=True):
    """A measured target. ``settings`` do not make twins, and may explain why two of them differ.

    ``work``: unit, workload and size; only hosts with the same are compared. ``shown``: vCPUs that the host shows, of
    which a quota, a setting, may leave fewer; None where no host was seen.
    """

    name: str
    runs: tuple[HostRun, ...]
    vcpus: int | None
    cores: int | None
    cpu_model: str
    hypervisor: str
    database: str
    version: str
    work: tuple[str, ...]
    counted: LicenceFacts
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    sees_host: bool = True
    shown: int | None = None

    @property
    def unit(self) -> str:
        return self.work[0]

    @property
    def instance(self) -> str:
        """The instance type: of a tag, else the product that the host names; '' where neither is known."""
        tagged = (self.tags[key] for key in INSTANCE_TAGS if self.tags.get(key))
        return next(tagged, self.settings.get("product", ""))

    @property
    def host_vcpus(self) -> int | None:
        """That make twins: those the host shows, of which a quota may leave fewer; else those that may be used."""
        return self.shown or self.vcpus

    @property
    def quote(self) -> Quote:
        """What is quoted of it: of its newest run."""
        return self.runs[-1].quote

    @property
    def disturbed(self) -> tuple[str, ...]:
        """What else took CPU in any of its runs, in words."""
        return tuple(dict.fromkeys(words for each in self.runs for words in each.disturbed))

    def speeds(self, metric: str) -> tuple[Speed, ...]:
        """Of all runs that measured it at the level of the newest of them."""
        found = [each.speeds[metric] for each in self.runs if metric in each.speeds]
        return tuple(each for each in found if each.level == found[-1].level)

    def rate(self, metric: str) -> float | None:
        """Geometric mean over the runs; None where it was not measured."""
        found = self.speeds(metric)
        return math.exp(float(np.mean([each.log for each in found]))) if found else None


class FailedTarget(Struct, frozen=True):
    """A target without a whole run: its ``state`` (refused, partial, unknown, cancelled ...) and why."""

    name: str
    state: str
    why: str
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class FleetMember(Struct, frozen=True):
    """What the campaign says of a target: ``runs`` are its header and figures, the oldest first."""

    name: str
    runs: tuple[tuple[Header, RunFigures], ...]
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def host_of(member: FleetMember) -> FleetHost | None:
    """None without a run that measured a single session; facts are those of the newest run."""
    runs = [(header, figures) for header, figures in member.runs if figures.value("solo_mrows_per_s")]
    if not runs:
        return None
    header, figures = runs[-1]
    host, work = header.host, header.plan.workload
    vcpus, cores = (whole(figures.value(each)) for each in ("vcpus", "cores"))
    bare = RunRecord(header, ())
    return FleetHost(
        name=member.name,
        runs=tuple(host_run(*each) for each in runs),
        vcpus=vcpus,
        cores=cores,
        cpu_model=host.cpu_model if host else "",
        hypervisor=(host.hypervisor or ("" if header.is_imported else "none")) if host else "",
        database=header.database.kind,
        version=header.database.version.partition(" (")[0],  # whose package it is, the shell kit does not know
        work=(figures.text("unit"), work.name, work.size, work.sql_hash or ""),
        counted=facts_of(bare, vcpus, cores, member.name),
        group=member.group,
        tags=member.tags,
        settings=_settings(header, cores),
        sees_host=host is not None,
        shown=shown_vcpus(bare),
    )


def host_run(header: Header, figures: RunFigures) -> HostRun:
    """The figures of a run's first variant."""
    variant, vcpus = figures.text("variant"), figures.value("vcpus")
    within = [level for level in figures.levels(variant) if vcpus is None or level <= vcpus]
    speeds = {ALONE: _alone(header, figures, variant)}
    full = max(within, default=1)
    together = figures.value("throughput_mrows_per_s", full, variant)
    if full > 1 and together:
        spread = _half_width(figures, full, variant)
        speeds[LOADED] = Speed(together, spread, full, _losses(figures, full, variant))
    uneven = [found for level in within if (found := figures.value("max_over_min_x", level, variant)) is not None]
    return HostRun(
        run_id=header.run_id,
        started_at=header.started_at,
        speeds=speeds,
        verdict=figures.text("verdict"),
        headline=figures.text("headline"),
        cause=Cause.of(figures.text("lost_to")) or "",
        max_over_min=max(uneven, default=None),
        disturbed=tuple(words for code, words in DISTURBANCES.items() if figures.value(f"{FINDING}{code}")),
        quote=kept_quote(figures),
    )


def _alone(header: Header, figures: RunFigures, variant: str) -> Speed:
    noise, rounds = figures.value("noise_share"), header.plan.repeats
    error = None if noise is None else noise * median_factor(rounds) / math.sqrt(max(1, rounds))
    return Speed(figures.value("solo_mrows_per_s") or 1.0, error, 1, _losses(figures, 1, variant))


def _half_width(figures: RunFigures, level: int, variant: str) -> float | None:
    """Standard error by the interval of the slowdown at a level, in which that of the single session is, too."""
    found = next((each for each in figures.all if (each.metric, each.level, each.variant) ==
                  ("slowdown_x", level, variant)), None)  # fmt: skip
    if found is None or not found.low or not found.high:
        return None
    return max(0.0, math.log(found.high / found.low)) / (2 * NORMAL_95)


def _stolen(figures: RunFigures, level: int, variant: str) -> float | None:
    """Of the CPUs that the sessions compute on; more than theirs where other processes lose CPU to steal, too.

    An idle vCPU has no steal: it counts while something wants to run. Source: proc_stat(5)
    """
    share, vcpus = figures.value("level_steal_share", level, variant), figures.value("vcpus")
    return min(1.0, share * vcpus / min(level, vcpus)) if share and vcpus else share


LOSSES: Mapping[str, Callable[[RunFigures, int, str], float | None]] = {
    "steal": _stolen,
    "throttled": lambda figures, level, variant: figures.value("throttled_share", level, variant),
    "run-queue wait": lambda figures, level, variant: figures.value("run_delay_share", level, variant),
    "other processes": lambda figures, level, variant: figures.value("others_share"),
    "CPUs slow by turns": lambda figures, level, variant: (figures.value("two_speeds_x") or 1.0) - 1.0,
}
"""What a run counts that takes speed from its sessions."""


def _losses(figures: RunFigures, level: int, variant: str) -> Mapping[str, float]:
    found = {name: of(figures, level, variant) for name, of in LOSSES.items()}
    return {name: share for name, share in found.items() if share}


def _settings(header: Header, cores: int | None) -> Mapping[str, str]:
    host = header.host
    found: dict[str, object] = {"cores": cores, "driver": header.database.driver}
    if host is not None:
        quota = plural(host.limits.quota_cpus, "CPU") if host.limits.quota_cpus else "none"
        found |= {"kernel": host.kernel, "governor": host.governor, "quota": quota, "container": host.container}
        found |= {"product": host.facts.get("product")}
    return {name: str(value) for name, value in found.items() if value}


def whole(value: float | None) -> int | None:
    return None if value is None else int(value)
