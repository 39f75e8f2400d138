"""A host you don't have: a seeded, virtual-clock simulator that yields Rounds as a measurement does.

It knows CPU time as a fluid: between two events (an execution ends, the scheduler balances, a period of
the CPU quota ends ...) every session has a constant share of its CPU and a constant speed. What is modelled:
cores shared by SMT siblings, cores of two speeds, run queues, steal, interrupts, CPU quota, turbo, remote memory,
another process, and four ways of balancing. What is not: time slices, caches, waits of the database.

    record = simulate(preset("c4.4xlarge"), levels=(1, 8, 9, 16), repeats=5, seed=1)
"""

from dbcpu.simulator.engine import Clockwork
from dbcpu.simulator.host import SCHEDULERS, SimulatedHost
from dbcpu.simulator.presets import host_with, listing, preset, presets
from dbcpu.simulator.requested_run import Experiment, simulate_now
from dbcpu.simulator.rounds import SimulatedWork, simulate_round
from dbcpu.simulator.runs import simulate, simulate_rounds
from dbcpu.simulator.trace import ClockTrace

__all__ = [
    "SCHEDULERS",
    "ClockTrace",
    "Clockwork",
    "Experiment",
    "SimulatedHost",
    "SimulatedWork",
    "host_with",
    "listing",
    "preset",
    "presets",
    "simulate",
    "simulate_now",
    "simulate_round",
    "simulate_rounds",
]
