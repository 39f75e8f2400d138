"""Every cause is that of a session in some record: one that no rule claims would be documented and never said."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import RunRecord, Session, Wait
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.presets import preset
from support.builders.record import record, round_of, session, solos


def on(host: SimulatedHost, level: int) -> Callable[[], RunRecord]:
    """A simulated run, alone and at that level."""
    return lambda: simulate(host, (1, level), 3, seed=1, size="medium")


def beside_a_quiet_one(slow: Session) -> Callable[[], RunRecord]:
    """Session 0, and one that loses nothing."""
    return lambda: record([*solos(), round_of([slow, session(1)])])


def stopped() -> Session:
    one = session(0, gap_s=0.9, gap_state="D")
    return replace(one, residency=tuple(replace(each, state=each.state.replace("D", "T")) for each in one.residency))


SHOWN_BY: Mapping[Cause, Callable[[], RunRecord]] = {
    Cause.NONE: on(preset("this-vm"), 2),
    Cause.SHARED_CORE: on(preset("c4.4xlarge"), 12),
    Cause.RUN_QUEUE: on(preset("this-vm"), 4),
    Cause.STEAL: on(preset("steal"), 4),
    Cause.THROTTLED: on(preset("quota-4"), 8),
    Cause.FREQUENCY: on(SimulatedHost(threads=1, turbo_slope=0.3, hypervisor=None), 8),
    Cause.REMOTE_MEMORY: on(SimulatedHost(sockets=2, nodes=2, threads=1, remote_slowdown=0.4, memory_node=0), 16),
    Cause.COMPETITOR: on(SimulatedHost(cores=4, threads=1, scheduler="frozen", noisy_neighbour=0.8), 4),
    Cause.IRQ: on(SimulatedHost(cores=4, threads=1, irq=0.4), 4),
    Cause.RESOURCE_MANAGER: beside_a_quiet_one(session(0, gap_s=0.7, waits=(Wait("resmgr:cpu quantum", 9, 0.7),))),
    Cause.WAIT: beside_a_quiet_one(session(0, gap_s=0.7, waits=(Wait("Timeout:PgSleep", 1, 0.7),))),
    Cause.STOPPED: beside_a_quiet_one(stopped()),
    Cause.SLOWER_CPU: on(preset("hidden-smt"), 8),
    Cause.UNEXPLAINED: beside_a_quiet_one(session(0, gap_s=0.9)),
}
"""A run in which it is the cause of a session."""


@pytest.mark.parametrize("cause", Cause)
def test_a_rule_claims_every_cause(cause: Cause) -> None:
    assert cause in SHOWN_BY, (
        f"nothing shows that a rule claims {cause.value!r}: add to SHOWN_BY of tests/contracts/test_contract_causes.py "
        "a run, simulated or built, in which it is the cause of a session"
    )
    named = {view.cause for view in explain(SHOWN_BY[cause]()).sessions}
    assert cause in named, f"no session of its run has the cause {cause.value!r}: no rule of analysis/causes claims it"
