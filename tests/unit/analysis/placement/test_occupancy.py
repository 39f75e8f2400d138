"""Integrals over stretches are those of the counts themselves, cut by cut."""

import numpy as np
import pytest

from dbcpu.analysis.placement.occupancy import Occupancy
from dbcpu.analysis.placement.residency import RUNNABLE, ResidencyStretches


def some(cpus: int, seed: int) -> ResidencyStretches:
    rng, many = np.random.default_rng(seed), 40
    from_s = np.round(rng.uniform(0, 10, many), 2)
    to_s, cpu = from_s + np.round(rng.uniform(0.1, 4, many), 2), rng.integers(cpus, size=many)
    return ResidencyStretches(np.arange(many), cpu, np.full(many, RUNNABLE), from_s, to_s, np.full(many, np.nan))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threads", [1, 2])
def test_integrals_are_those_of_the_counts(threads: int, seed: int) -> None:
    cpus = 4
    rows = some(cpus, seed)
    siblings = {cpu: tuple(range(cpu // threads * threads, cpu // threads * threads + threads)) for cpu in range(cpus)}
    found = Occupancy(rows, siblings, {})
    began_s, ended_s = found.times[:-1], found.times[1:]
    on_cpu = [(rows.cpu == cpu)[:, None] & (rows.from_s[:, None] <= began_s) & (rows.to_s[:, None] >= ended_s)
              for cpu in range(cpus)]  # fmt: skip
    counted = np.array([each.sum(axis=0) for each in on_cpu])
    assert (found.queue == counted).all()
    within = np.clip(np.minimum(ended_s, rows.to_s[:, None]) - np.maximum(began_s, rows.from_s[:, None]), 0, None)
    during = found.during(rows)
    for worth in (counted > 1, counted, found.others / (found.others + 1.0)):
        assert during.of(worth) == pytest.approx((worth[rows.cpu] * within).sum(axis=1))
    busy_cores = np.asarray(found.busy_cores)
    assert during.of(busy_cores) == pytest.approx((busy_cores * within).sum(axis=1))
    assert (found.idle(()).cpus == (counted == 0).sum(axis=0)).all()
