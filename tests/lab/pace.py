"""What does the witness change? The kept live runs explained with and without it, and simulated hosts that toggle.

The lab's instrument noted the same that a witness does: a piece of work 25 times a second on each CPU, with its CPU
time. So its notes are put into the records, and every label is judged as without them.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.record.rounds import CpuPace, Round, RunRecord, Witness
from dbcpu.simulator import SimulatedHost, simulate
from lab import labelled
from lab.cpu_speed import EVERY_S, Speeds
from lab.labelled import LabelledRun
from support.contradictions import contradictions

LEAD_S = 0.5
HOSTS = {
    "2 vCPUs, strangers": SimulatedHost(cores=2, threads=1, toggle=1.8, mrows_per_s=17),
    "2 vCPUs of one core, hidden, strangers": SimulatedHost(
        cores=1, threads=2, hidden_smt=True, toggle=1.8, mrows_per_s=17
    ),
    "4 vCPUs of two cores, hidden, strangers": SimulatedHost(
        cores=2, threads=2, hidden_smt=True, toggle=1.8, mrows_per_s=17
    ),
    "2 vCPUs, left alone": SimulatedHost(cores=2, threads=1, pace_hz=20.0, mrows_per_s=17),
}
"""A host and, by its name, whether its sessions share cores that it does not show."""


def as_witness(record: RunRecord, speeds: Speeds) -> RunRecord:
    """The record with the instrument's notes as the pieces of a witness."""
    return replace(record, rounds=tuple(_with_pieces(each, speeds) for each in record.rounds))


def _with_pieces(each: Round, speeds: Speeds) -> Round:
    released_s = each.released_monotonic_s
    within = speeds.within(released_s - LEAD_S, released_s + (each.timeline_s[-1] if each.timeline_s else 0.0))
    cpus = [
        CpuPace(cpu, tuple(round((at_s - released_s) * 1e6) for at_s, _ in own), tuple(ns for _, ns in own))
        for cpu, own in within.samples.items()
    ]
    return replace(each, witness=Witness(1 / EVERY_S, True, tuple(cpus)))


class Kept(Struct, frozen=True):
    """One kept run with the instrument's notes as pieces, and its ``rows``; ``tolerance`` without and with them.

    ``exponent`` is None where the solo sessions have too few pieces.
    """

    run: LabelledRun
    tolerance: tuple[float, float]
    exponent: float | None
    rows: tuple[Mapping[str, Any], ...]


@cache
def kept(folder: Path) -> tuple[Kept, ...]:
    """Of the runs without a witness that have notes of the instrument."""
    found = []
    for run, rows in labelled.kept(folder):
        if not run.speeds.samples or labelled.with_witness(run) or not rows:
            continue
        paced = replace(run, record=as_witness(run.record, run.speeds))
        analysis = explain(labelled.one_host(paced.record))
        if analysis.reference is None:
            continue
        tolerances, known = (rows[0]["tolerance"], analysis.reference.tolerance), analysis.reference.pace
        exponent = known.exponent if known else None
        found.append(Kept(paced, tolerances, exponent, tuple(labelled.rows(paced, analysis))))
    return tuple(found)


def simulated(host: SimulatedHost, runs: int, seed: int, repeats: int = 6) -> dict[str, Any]:
    """Answers at N = 2 without and with the pieces (even, full speed), tolerances, and contradictions."""
    answers: dict[str, Counter[str]] = {"without": Counter(), "with": Counter()}
    tolerances: dict[str, list[float]] = {"without": [], "with": []}
    contradicting = 0
    for number in range(runs):
        record = simulate(host, (1, 2, 3, 4), repeats, seed + number, size="short", seconds=1.5)
        blind = replace(record, rounds=tuple(replace(each, witness=None) for each in record.rounds))
        for name, each in (("without", blind), ("with", record)):
            analysis = explain(each)
            level = next(one for one in analysis.levels if one.level == 2)
            answers[name][f"{level.even}, {level.full_speed}"] += 1
            tolerances[name].append(analysis.reference.tolerance if analysis.reference else float("nan"))
            contradicting += bool(contradictions(each, analysis))
    return {
        "runs": runs,
        "repeats": repeats,
        **{name: dict(found) for name, found in answers.items()},
        **{f"tolerance {name}": round(float(np.median(found)), 3) for name, found in tolerances.items()},
        "contradicting": contradicting,
    }


def full_speed_said(found: Mapping[str, Any], name: str) -> int:
    """Of how many runs full speed was said at N = 2."""
    return sum(many for answer, many in found[name].items() if answer.endswith(f", {Answer.YES}"))
