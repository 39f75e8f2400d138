"""Which round is drawn, by default and by request."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.representative_round import representative_rounds, with_round
from dbcpu.analysis.results.run import Analysis
from dbcpu.errors import UsageError
from dbcpu.simulator import preset, simulate
from support.builders.record import host, record, round_of, session, solos


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return explain(simulate(preset("c4.4xlarge"), (1, 8, 9), repeats=3, seed=1))


def drawn(analysis: Analysis) -> tuple[int, int]:
    """Sessions and round, counted from 1."""
    (telling,) = representative_rounds(analysis)
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
        ("9" * 5000, "--round 9{40} is not understood"),
        ("8:" + "9" * 5000, "--round 8:9{38} is not understood"),
        ("\N{FULLWIDTH DIGIT EIGHT}", "such as 8 or 8:3"),
        ("eight", "such as 8 or 8:3"),
        ("8:", "such as 8 or 8:3"),
    ],
)
def test_a_round_that_is_not_there_is_refused_with_those_that_are(analysis: Analysis, wanted: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_round(analysis, wanted)


def test_the_usual_round_is_usual_in_its_median_too() -> None:
    """All rounds are even; two of three are half as slow again, and the third is drawn by neither."""
    rounds = [
        round_of([session(at, run_s=time_s) for at in range(2)], repeat=repeat, order=3 + repeat)
        for repeat, time_s in enumerate((1.0, 1.5, 1.51))
    ]
    found = explain(record([*solos(), *rounds]))
    drawn = with_round(found, "2")
    (telling,) = representative_rounds(drawn)
    assert telling.repeat == 1


def test_a_round_that_lost_a_session_is_no_example_of_the_others() -> None:
    """Its one session that is left has no spread, as the equal rounds of the level have nearly none."""
    killed = round_of([session(0), session(1, error="terminating connection due to administrator command")], order=10)
    whole = [round_of([session(0), session(1, run_s=1.02)], repeat=at, order=10 + at) for at in (1, 2, 3)]
    assert drawn(explain(record([*solos(), killed, *whole]))) in [(2, 2), (2, 3), (2, 4)]


def test_what_is_left_of_a_round_is_no_example_though_it_looks_usual() -> None:
    """What is left of it has the usual ratio."""
    whole = [(1.8, 1.8, 1.8), (1.8, 1.8, 2.2)]
    rounds = [round_of([session(i, s, cpu=i) for i, s in enumerate(of)], repeat=at) for at, of in enumerate(whole)]
    gone = session(2, 0.4, cpu=2, answer_ok=None, error="server closed the connection")
    lost = round_of([session(0, 1.8, cpu=0), session(1, 2.0, cpu=1), gone], repeat=2)
    found = explain(record([*solos(), *rounds, lost], host(cores=4), vcpus=4))
    assert drawn(with_round(found, "3"))[1] in (1, 2)
