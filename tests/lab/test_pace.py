"""The short form of the lab on the pace of the CPUs."""

from collections import Counter
from pathlib import Path

import numpy as np

from lab import pace

LIVE = Path(__file__).parent / "results" / "live"


def test_kept_runs_are_better_known_with_the_pieces() -> None:
    runs = list(pace.kept(LIVE))
    assert len(runs) >= 10
    before, after = (float(np.median([each.tolerance[at] for each in runs])) for at in (0, 1))
    assert after <= 0.12 < before
    said = sum((each.with_pieces for each in runs), Counter[str]())
    quiet = sum(many for pair, many in said.items() if pair.startswith("none>"))
    wrong = quiet - said["none>none"] - said["none>pace"]
    assert wrong <= 0.02 * quiet
    slower = sum(many for pair, many in said.items() if pair.startswith("slower_cpu>"))
    assert said["slower_cpu>slower_cpu"] >= 0.9 * slower


def test_hidden_sharing_is_found_beside_strangers_and_never_called_full_speed() -> None:
    found = pace.simulated(pace.HOSTS["2 vCPUs of one core, hidden, strangers"], 4, seed=900)
    assert pace.full_speed_said(found, "with") == 0
    assert found["contradicting"] == 0
    assert sum(many for answer, many in found["with"].items() if answer.endswith(", no")) >= 3
