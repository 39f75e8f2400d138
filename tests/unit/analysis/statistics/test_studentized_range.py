"""How far equal sessions are apart by chance, by simulation and against SciPy's slow but exact distribution."""

import numpy as np
import pytest
from scipy import stats

from dbcpu.analysis.statistics.studentized_range import passed_by

ALARM = 1e-4
DRAWS = 100_000


@pytest.mark.parametrize(("count", "freedom"), [(2, 4.0), (8, 4.0), (64, 4.0), (8, 30.0), (64, 100.0)])
def test_of_one_round_it_is_the_studentized_range(count: int, freedom: float) -> None:
    passed = stats.studentized_range.sf(passed_by(count, 1, freedom, ALARM), count, freedom)
    assert passed == pytest.approx(ALARM, rel=0.01)


@pytest.mark.parametrize(
    ("count", "rounds", "freedom"), [(2, 2, 5.0), (8, 3, 4.0), (16, 2, 12.0), (8, 5, 30.0), (6, 10, 8.0), (8, 4, 1e6)]
)
def test_the_median_of_rounds_passes_it_as_seldom_as_it_says(count: int, rounds: int, freedom: float) -> None:
    luck, alarm = np.random.default_rng(rounds), 0.01
    values = luck.standard_normal((DRAWS, rounds, count), dtype=np.float32)
    apart = np.median(values.max(axis=2) - values.min(axis=2), axis=1)
    estimate = np.sqrt(luck.chisquare(freedom, DRAWS) / freedom)
    passed = float((apart > passed_by(count, rounds, freedom, alarm) * estimate).mean())
    assert passed == pytest.approx(alarm, rel=0.12)


def test_more_sessions_fewer_rounds_and_less_known_noise_widen_it() -> None:
    assert passed_by(8, 3, 10.0, ALARM) < passed_by(16, 3, 10.0, ALARM)
    assert passed_by(8, 5, 1e6, ALARM) < passed_by(8, 3, 1e6, ALARM) < passed_by(8, 3, 10.0, ALARM)
    assert passed_by(1, 3, 10.0, ALARM) == 0.0
    assert passed_by(9999, 0, 10.0, ALARM) == 0.0
