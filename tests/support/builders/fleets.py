"""Hosts of a fleet for tests: speeds that are drawn, and everything else alike."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dbcpu.analysis.fleet.hosts import ALONE, FleetHost, HostRun, Speed
from dbcpu.analysis.scaling.licences import LicenceFacts

RATE = 20.0


def host(
    name: str,
    rates: Sequence[float],
    *,
    error: float | None = 0.005,
    losses: Mapping[str, float] | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    cpu_model: str = "Xeon",
    vcpus: int = 16,
) -> FleetHost:
    """One with a run per rate (Mrows/s of one session)."""
    runs = tuple(
        HostRun(f"{name}-{at}", "2026-11-01T00:00:00+00:00", {ALONE: Speed(rate, error, 1, losses or {})})
        for at, rate in enumerate(rates)
    )
    facts = LicenceFacts(vcpus, vcpus // 2, 1, 2, cpu_model, "postgresql", frozenset({name}))
    return FleetHost(
        name, runs, vcpus, vcpus // 2, cpu_model, "kvm", "postgresql", "17.2", ("Mrows/s", "cartesian", "medium", "a"),
        facts, tags=tags or {}, settings=settings or {},
    )  # fmt: skip


def fleet(
    seed: int,
    count: int,
    *,
    spread: float = 0.02,
    run_effect: float = 0.0,
    runs: int = 1,
    error: float = 0.005,
    slow: Mapping[int, float] | None = None,
) -> list[FleetHost]:
    """So many twins: their nature varies by ``spread``, their runs by ``run_effect``, rounds by ``error``.

    ``slow``: index -> how many times slower by nature. Relative standard deviations of logarithms.
    """
    rng = np.random.default_rng([seed, count])
    made = []
    for at in range(count):
        nature = spread * rng.standard_normal() - math.log((slow or {}).get(at, 1.0))
        luck = rng.standard_normal(runs) * math.hypot(run_effect, error)
        made.append(host(f"db-{at}", [RATE * math.exp(nature + one) for one in luck], error=error))
    return made
