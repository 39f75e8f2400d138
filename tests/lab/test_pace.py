"""The short form of the lab on the pace of the CPUs."""

from pathlib import Path

import numpy as np

from lab import labelled, pace

LIVE = Path(__file__).parent / "results" / "live"


def test_kept_runs_are_better_known_with_the_pieces() -> None:
    runs = pace.kept(LIVE)
    assert len(runs) >= 10
    before, after = (float(np.median([each.tolerance[at] for each in runs])) for at in (0, 1))
    assert after <= 0.12 < before
    rows = [row for each in runs for row in each.rows if labelled.left_alone(row) and row["sessions"] > 1]
    quiet = [row for row in rows if row["label"] == "none"]
    assert sum(labelled.said_beside(row) != "none" for row in quiet) <= 0.02 * len(quiet)
    slower = [row for row in rows if row["label"] == "slower_cpu"]
    assert sum(labelled.said_beside(row) == "slower_cpu" for row in slower) >= 0.9 * len(slower)


def test_hidden_sharing_is_found_beside_strangers_and_never_called_full_speed() -> None:
    found = pace.simulated(pace.HOSTS["2 vCPUs of one core, hidden, strangers"], 4, seed=900)
    assert pace.full_speed_said(found, "with") == 0
    assert found["contradicting"] == 0
    assert sum(many for answer, many in found["with"].items() if answer.endswith(", no")) >= 3
