"""The callers of a simulated pool: their calls in the form of measured ones."""

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dbcpu.plan import RoundSpec
from dbcpu.record import Call, Round
from dbcpu.simulator.jobs import CallsInTurn
from dbcpu.simulator.rounds import MAX_ANSWER_S

CONNECT_S, SEND_S, RECEIVE_S = 60e-6, 50e-6, 80e-6
"""Medians of loopback TCP between two processes, measured on 2 vCPUs."""
SPREAD = 0.4
"""Standard deviation of the logarithm."""
APART_S = 5e-6
"""Between two calls of the same process."""


def in_turn(spec: RoundSpec, jobs: int, connections: int, seed: int) -> CallsInTurn:
    """When the calls of ``called`` come in such a round."""
    _, send_s, receive_s = _took_s(spec.order, jobs, connections, seed)
    turns_s = np.concatenate([np.zeros(connections), receive_s[: jobs - connections] + MAX_ANSWER_S]) + send_s
    return CallsInTurn(connections, tuple(turns_s.tolist()))


def called(made: Round, connections: int, seed: int, *, one_at_a_time: bool = False) -> Round:
    """``made`` with a call for each job, the jobs being taken in the order in which they began.

    ``one_at_a_time``: it was made of ``in_turn``.
    """
    every = [(each.ordinal, one) for each in made.sessions for one in (*each.executions, *each.blocked)]
    jobs = sorted(every, key=lambda job: (job[1].start_s, job[0]))
    connect_s, send_s, receive_s = _took_s(made.order, len(jobs), connections, seed)
    at_once = connections if one_at_a_time else len(jobs)
    # All that wait for no answer have arrived when the sessions begin.
    sent_s = APART_S * np.arange(len(jobs)) - APART_S * at_once - float(send_s.max())
    ends_s = np.array([job.start_s + job.elapsed_s for _, job in jobs])
    by_end = np.argsort(ends_s, kind="stable")
    answered_s = np.empty(len(jobs))
    answered_s[by_end] = ends_s[by_end] + receive_s
    connection = np.arange(len(jobs)) % connections
    for at in range(at_once, len(jobs)):
        last = by_end[at - at_once]
        sent_s[at], connection[at] = answered_s[last], connection[last]
    calls = [
        Call(
            connection=int(connection[at]),
            connect_s=float(connect_s[connection[at]]),
            sent_s=float(sent_s[at]),
            arrived_s=float(sent_s[at] + send_s[at]),
            session=ordinal,
            began_s=job.start_s,
            ended_s=float(ends_s[at]),
            answered_s=float(answered_s[at]),
        )
        for at, (ordinal, job) in enumerate(jobs)
    ]
    return replace(made, calls=tuple(calls))


def _took_s(order: int, jobs: int, connections: int, seed: int) -> NDArray[np.float64]:
    """Seconds to connect, to send, and to receive the answer; (3, jobs)."""
    rng = np.random.default_rng([seed, order, connections])
    return np.asarray(np.exp(SPREAD * rng.standard_normal((3, jobs))) * np.array([[CONNECT_S], [SEND_S], [RECEIVE_S]]))
