"""What an Oracle session rests on, without a database."""

import pytest

from dbcpu.errors import ServerError
from dbcpu.measure import workloads
from dbcpu.targets.oracle import session as oracle_session
from dbcpu.targets.oracle.session import BATCH_S, OracleSession
from dbcpu.targets.oracle.target import call_s

MONITORED_FROM_S = 5.0
"""CPU or I/O time of a call. Source: Oracle Database SQL Tuning Guide, About Database Operations"""


def test_a_call_of_short_executions_gets_no_entry_in_sql_monitor() -> None:
    """The last execution begins before the end of the batch: one of up to a second still ends in time."""
    assert BATCH_S + 1.0 <= MONITORED_FROM_S


@pytest.mark.parametrize(
    ("limits", "longest_s"), [({}, BATCH_S), ({"CPU_PER_CALL": 300}, 1.5), ({"CPU_PER_CALL": 6000}, BATCH_S)]
)
def test_a_call_is_half_as_long_as_the_profile_allows(limits: dict[str, int], longest_s: float) -> None:
    assert call_s(limits) == longest_s


class Broken(OracleSession):
    """A session whose call is ended by somebody else: ORA-01013, as Oracle's client library does at Ctrl-C."""

    def _call(self, *given: object) -> tuple[list[oracle_session.Ran], str | None]:
        raise ServerError("ORA-01013: user requested cancel of current operation")


class Nowhere:
    """A connection on which nothing is sent."""

    call_timeout = 0

    def is_healthy(self) -> bool:
        return False

    def cancel(self) -> None:
        """There is nothing to cancel."""


@pytest.mark.parametrize(("stopped", "error"), [(True, "cancelled after 0 of 3 executions"), (False, "ORA-01013")])
def test_a_call_that_was_broken_before_the_gate_stopped_it_counts_as_cancelled(
    stopped: bool, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken(0, Nowhere(), None, lambda: 0.0, "here")  # type: ignore[arg-type]
    broken._work = workloads.load("oracle", "cartesian").work("tiny")
    monkeypatch.setattr(broken, "_unfinished", list)
    broken.start(3, None)
    if stopped:
        broken.cancel()
    assert broken.failed()
    assert str(broken.outcome().error).startswith(error)
