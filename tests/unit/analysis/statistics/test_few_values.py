"""To the last bit as NumPy's, of few values and of many."""

import numpy as np
import pytest

from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.few_values import IN_ORDER


@pytest.mark.parametrize("count", range(1, 3 * IN_ORDER))
def test_sums_are_those_of_numpy(count: int) -> None:
    for seed in range(20):
        values = np.random.default_rng([seed, count]).lognormal(0.0, 3.0, count).tolist()
        assert few_values.total(values) == few_values.sum_of(np.array(values)) == np.sum(values)
        assert few_values.mean(values) == np.mean(values)
        if count > 1:
            assert few_values.variance(values) == np.var(values, ddof=1)
            assert few_values.deviation(values) == np.std(values, ddof=1)
