"""What a run of a host counts is held against the CPUs that its sessions computed on."""

import pytest

from dbcpu.analysis.fleet.hosts import ALONE, LOADED, host_run
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.figures import Figure, RunFigures
from plugins.runs import full_record


@pytest.mark.parametrize("vcpus,alone,loaded", ((8.0, 0.24, 0.06), (4.0, 0.12, 0.03), (64.0, 1.0, 0.48)))
def test_steal_is_a_share_of_the_cpus_that_compute(vcpus: float, alone: float, loaded: float) -> None:
    """A single session whose CPU loses a quarter: of eight CPUs that is 3 %, and it explains a host 24 % slower."""
    figures = RunFigures(
        (
            Figure("variant", text="baseline"),
            Figure("vcpus", value=vcpus),
            Figure("solo_mrows_per_s", value=20.0),
            Figure("throughput_mrows_per_s", 4, "baseline", 80.0),
            Figure("level_steal_share", 1, "baseline", 0.03),
            Figure("level_steal_share", 4, "baseline", 0.03),
        )
    )
    speeds = host_run(full_record().header, figures).speeds
    assert (speeds[ALONE].losses["steal"], speeds[LOADED].losses["steal"]) == pytest.approx((alone, loaded))


@pytest.mark.parametrize("kept,cause", (("steal", Cause.STEAL), ("", ""), ("cosmic_rays", "")))
def test_a_cause_that_only_a_newer_version_knows_is_not_named(kept: str, cause: str) -> None:
    figures = RunFigures((Figure("variant", text="baseline"), *([Figure("lost_to", text=kept)] if kept else ())))
    assert host_run(full_record().header, figures).cause == cause
