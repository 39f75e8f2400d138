"""The first run after a start of the instance: nobody has sent dbcpu's own statements before."""

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.targets.base import SessionOutcome, load_target
from support.doubles.oracle.double import OracleDouble

CONNECT_S = 20.0


def test_no_statement_of_dbcpus_own_is_parsed_in_the_work_of_a_session() -> None:
    outcomes: list[SessionOutcome] = []
    with (
        OracleDouble() as double,
        load_target("oracle").open_target(resolve(double.url, lambda _: None), Guard()) as target,
    ):
        target.findings()
        session = target.connect(0, CONNECT_S)
        try:
            session.identify()
            session.prepare(workloads.load("oracle", "cartesian").work("tiny"))
            session.warm()
            for _ in range(2):
                session.start(1, None)
                outcomes.append(session.outcome())
        finally:
            session.close()
    assert [(each.error, each.db["hard_parses"]) for each in outcomes] == [(None, 0)] * 2
