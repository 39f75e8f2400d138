"""Throughput in three numbers, and regimes."""

import pytest

from build_record import SOLO_S, host, record, round_of, session, solos
from dbcpu.analysis.explain import explain
from dbcpu.analysis.regimes import regime


def test_yield_of_smt_and_effective_cores_on_one_core_with_two_threads() -> None:
    both = round_of([session(i, 1.5 * SOLO_S, cpu=i) for i in range(2)])
    scaling = explain(record([*solos(), both], host(cores=1, threads=2))).scaling
    assert scaling.smt_yield == pytest.approx(2 / 1.5 - 1)
    assert scaling.effective_cores == pytest.approx(2 / 1.5)
    assert scaling.knees == ()


def test_without_siblings_there_is_no_yield() -> None:
    both = round_of([session(i) for i in range(2)])
    scaling = explain(record([*solos(), both])).scaling
    assert scaling.smt_yield is None
    assert scaling.effective_cores == pytest.approx(2.0)


def test_too_few_levels_tell_nothing_of_the_host() -> None:
    both = round_of([session(i) for i in range(2)])
    scaling = explain(record([*solos(), both], host(cores=8), vcpus=8)).scaling
    assert (scaling.smt_yield, scaling.effective_cores) == (None, None)


@pytest.mark.parametrize(
    ("level", "cores", "vcpus", "expected"),
    [
        (1, 8, 16, "solo"),
        (8, 8, 16, "within cores"),
        (9, 8, 16, "sharing cores"),
        (16, 8, 16, "sharing cores"),
        (17, 8, 16, "oversubscribed"),
        (2, None, 2, "within vcpus"),
        (2, None, None, ""),
    ],
)
def test_regimes(level: int, cores: int | None, vcpus: int | None, expected: str) -> None:
    assert regime(level, cores, vcpus) == expected
