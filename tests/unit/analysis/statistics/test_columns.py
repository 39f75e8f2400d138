"""Columns of attributes are what each object says, with NaN for what is not known."""

from types import SimpleNamespace

import numpy as np
import pytest

from dbcpu.analysis.statistics.columns import column, columns, floats


@pytest.mark.parametrize("last", [2.5, None])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_column_has_a_row_for_each_object(count: int, last: float | None) -> None:
    objects = [SimpleNamespace(a=float(at), b=last) for at in range(count)]
    unknown = np.nan if last is None else last
    np.testing.assert_array_equal(columns(objects, "a", "b"), [np.arange(float(count)), np.full(count, unknown)])
    np.testing.assert_array_equal(column(objects, "b"), np.full(count, unknown))
    np.testing.assert_array_equal(floats([each.b for each in objects]), np.full(count, unknown))
