"""The pieces that a witness would have done beside a simulated round."""

import numpy as np

from dbcpu.record.plan import MAX_PACE_HZ, PACE_LEAD_S, PACE_PIECES
from dbcpu.record.rounds import CpuPace, Witness
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.pace import CpuPaces
from dbcpu.simulator.trace import ClockTrace, Floats

PIECE_NS = 110_000
PIECE_NOISE = 0.02
"""Relative standard deviation of a piece at one speed."""


def simulate_witness(
    host: SimulatedHost, trace: ClockTrace, begin_s: float, rng: np.random.Generator
) -> Witness | None:
    """None on a host whose CPUs have one speed, unless it asks for pieces. ``begin_s``: the trace's start."""
    end_s = float(trace.times_s[-1])
    hz = host.pace_hz
    if hz is None:
        hz = min(MAX_PACE_HZ, max(1.0, PACE_PIECES / end_s)) if host.toggle > 1 else 0.0
    if not hz:
        return None
    cpus = []
    for cpu in host.online:
        at_s = np.cumsum(rng.uniform(0.5, 1.5, int((PACE_LEAD_S + end_s) * hz * 2) + 2)) / hz - PACE_LEAD_S - begin_s
        at_s = at_s[at_s < end_s]
        during = np.clip(np.searchsorted(trace.times_s, at_s, side="right") - 1, 0, len(trace.piece) - 1)
        slower = np.where(at_s >= 0, trace.piece[during, cpu], _idle(host, at_s, cpu, rng))
        ns = PIECE_NS * slower * np.exp(PIECE_NOISE * rng.standard_normal(at_s.size))
        at_us = tuple(map(round, ((at_s + begin_s) * 1e6).tolist()))
        cpus.append(CpuPace(cpu, at_us, tuple(map(round, ns.tolist()))))
    return Witness(hz, True, tuple(cpus))


def _idle(host: SimulatedHost, at_s: Floats, cpu: int, rng: np.random.Generator) -> Floats:
    """How many times longer than at full speed a piece takes while no session is at work."""
    alone = host.core_speed[host.core_of[cpu]]
    if host.toggle == 1:
        return np.full(at_s.size, 1 / alone)
    paces = CpuPaces(host, 1, rng, float(at_s[0]) if at_s.size else 0.0)
    times, change_s, now = np.empty(at_s.size), float(paces.next_s[0]), float(paces.times[0])
    for index, moment in enumerate(at_s.tolist()):
        while change_s <= moment:
            paces.turn(change_s)
            change_s, now = float(paces.next_s[0]), float(paces.times[0])
        times[index] = now
    return np.asarray(times / alone)
