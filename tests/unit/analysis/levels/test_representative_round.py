"""Which round is drawn, by default and by request."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.representative_round import telling_rounds, with_round
from dbcpu.analysis.results.run import Analysis
from dbcpu.errors import UsageError
from dbcpu.simulator import preset, simulate


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return explain(simulate(preset("c4.4xlarge"), (1, 8, 9), repeats=3, seed=1))


def drawn(analysis: Analysis) -> tuple[int, int]:
    """Sessions and round, counted from 1."""
    (telling,) = telling_rounds(analysis)
    return telling.level, telling.repeat + 1


def test_the_most_uneven_level_is_drawn_unless_another_one_is_wanted(analysis: Analysis) -> None:
    assert drawn(analysis)[0] == 9
    assert drawn(with_round(analysis, "8"))[0] == 8
    assert [drawn(with_round(analysis, f"8:{number}")) for number in (1, 2, 3)] == [(8, 1), (8, 2), (8, 3)]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("7", "N=7 was not measured; there are: 1,8-9"),
        ("8:4", "N=8 has no round 4; there are: 1-3"),
        ("8:0", "N=8 has no round 0"),
        ("eight", "such as 8 or 8:3"),
        ("8:", "such as 8 or 8:3"),
    ],
)
def test_a_round_that_is_not_there_is_refused_with_those_that_are(analysis: Analysis, wanted: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_round(analysis, wanted)
