"""What takes NumPy's place gives what NumPy gives, to the last bit."""

import subprocess
import sys

import numpy as np
import pytest

from dbcpu.analysis.statistics.robust import column_medians, distinct, expected_range, median, quantile


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 50, 255, 4000])
@pytest.mark.parametrize("digits", [1, 15])
def test_they_are_numpys(count: int, digits: int) -> None:
    rng = np.random.default_rng([count, digits])
    drawn = np.round(rng.lognormal(size=(6, count)), digits)
    for row in drawn:
        assert median(row) == median(row.tolist()) == np.median(row)
        assert distinct(row).tolist() == np.unique(row).tolist()
    assert column_medians(drawn).tolist() == np.median(drawn, axis=0).tolist()
    for share in (0.0, 0.04, 0.1, 0.5, 0.77, 1.0):
        assert quantile(drawn, share).tolist() == np.quantile(drawn, share, axis=1).tolist()


def test_what_is_not_known_makes_the_median_unknown() -> None:
    assert np.isnan(median([1.0, np.nan, 3.0]))
    assert np.isnan(median([]))
    assert np.isnan(column_medians(np.array([[1.0, 1.0], [np.nan, 2.0]]))).tolist() == [True, False]


@pytest.mark.parametrize(("count", "published"), [(1, 0.0), (2, 1.128), (3, 1.693), (10, 3.078), (25, 3.931)])
def test_the_expected_range_is_that_of_control_charts(count: int, published: float) -> None:
    """The factor d2: Montgomery, "Introduction to Statistical Quality Control", appendix VI."""
    assert expected_range(count) == pytest.approx(published, rel=0.05)


def test_they_load_no_masked_arrays() -> None:
    asked = (
        "import sys\n"
        "from dbcpu.analysis.statistics.robust import distinct, median, quantile\n"
        "median([1.0, 2.0]), quantile([1.0, 2.0], 0.3), distinct([1.0, 2.0])\n"
        "print('numpy.ma' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", asked], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
