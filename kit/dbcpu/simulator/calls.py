"""The callers of a simulated pool: their calls in the form of measured ones."""

from dataclasses import replace

import numpy as np

from dbcpu.record import Call, Round

CONNECT_S, SEND_S, RECEIVE_S = 60e-6, 50e-6, 80e-6
"""Medians of loopback TCP between two processes, measured on 2 vCPUs."""
SPREAD = 0.4
"""Standard deviation of the logarithm."""
APART_S = 5e-6
"""Between two calls of the same process."""


def called(made: Round, connections: int, seed: int) -> Round:
    """``made`` with a call for each job, the jobs being taken in the order in which they began."""
    rng = np.random.default_rng([seed, made.order, connections])
    every = [(each.ordinal, one) for each in made.sessions for one in (*each.executions, *each.blocked)]
    jobs = sorted(every, key=lambda job: (job[1].start_s, job[0]))
    took = np.exp(SPREAD * rng.standard_normal((3, len(jobs)))) * np.array([[CONNECT_S], [SEND_S], [RECEIVE_S]])
    # All have arrived when the sessions begin.
    sent_s = APART_S * np.arange(len(jobs)) - APART_S * len(jobs) - float(took[1].max())
    calls = []
    for number, (ordinal, job) in enumerate(jobs):
        end_s, start_s = job.start_s + job.elapsed_s, float(sent_s[number])
        call = Call(
            connection=number % connections,
            connect_s=float(took[0, number % connections]),
            sent_s=start_s,
            arrived_s=start_s + float(took[1, number]),
            session=ordinal,
            began_s=job.start_s,
            ended_s=end_s,
            answered_s=end_s + float(took[2, number]),
        )
        calls.append(call)
    return replace(made, calls=tuple(calls))
