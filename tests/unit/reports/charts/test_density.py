"""Slowdowns counted on a grid: nobody is lost, and a field bears the colour of what most lost to."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import CAUSES
from dbcpu.reports.charts.run.slowdown_grid import density
from support.builders.record import record, round_of, session, solos


def test_every_session_is_in_one_field_of_its_level() -> None:
    rounds = [round_of([session(i, 1.8, 1.8 * (level > 2), cpu=i % 2) for i in range(level)]) for level in (2, 3, 4)]
    analysis = explain(record([*solos(), *rounds]))
    grid = density(analysis.levels, analysis.sessions, columns=64, rows=10)
    assert [[each.level for each in part] for part in grid.levels] == [[1], [2], [3], [4]]
    assert grid.share.sum(axis=0) == pytest.approx(1.0)
    doubled = int(np.searchsorted(grid.edges, 2.0, side="right")) - 1
    assert CAUSES[grid.cause[doubled, 3]] == "run_queue"
    assert (grid.cause[grid.share == 0] == -1).all()


def test_more_levels_than_columns_are_put_together() -> None:
    analysis = explain(record([*solos(), *(round_of([session(i) for i in range(n)]) for n in range(2, 8))]))
    grid = density(analysis.levels, analysis.sessions, columns=3, rows=4)
    assert [[each.level for each in part] for part in grid.levels] == [[1, 2, 3], [4, 5], [6, 7]]
    assert grid.share.sum(axis=0) == pytest.approx(1.0)
