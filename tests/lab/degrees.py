"""Is ``equal`` said of sessions that truly differ by degrees, each a little slower than the next, and of equal ones?"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.placement.usual_cpu import usual_cpus
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.sessions.valid_sessions import timed_round
from dbcpu.record.rounds import Round, RunRecord, Session
from dbcpu.simulator import SimulatedHost, simulate
from lab.intervals import told
from lab.verdicts import DEFAULT_REPEATS, EQUAL, SIZE

SESSIONS = (4, 8)
NOISES = (0.01, 0.02, 0.03, 0.05)
RATIOS = (1.0, EQUAL, 1.15, 1.20)
SAME_SESSIONS, SAME_CPUS, IN_TURNS = "the same sessions", "those on the same CPUs", "others in each round"
SLOW = (SAME_SESSIONS, SAME_CPUS, IN_TURNS)


class Case(Struct, frozen=True):
    """``slow``: which sessions are slow in each round; ``ratio``: the true max/min, the others lie evenly between."""

    slow: str
    ratio: float
    sessions: int
    noise: float


def cases() -> list[Case]:
    """Every combination; of equal sessions there is one kind."""
    return [
        Case(slow, ratio, sessions, noise)
        for ratio in RATIOS
        for slow in (SLOW if ratio > 1 else SLOW[:1])
        for sessions in SESSIONS
        for noise in NOISES
    ]


def equal_in(case: Case, runs: int, seed: int) -> int:
    """In how many simulated runs with the default repeats ``equal`` is said of the level."""
    return sum(answer(case, [seed, number]) is Answer.YES for number in range(runs))


def answer(case: Case, seed: Sequence[int]) -> Answer:
    """Whether the level of one run is equal."""
    rng = np.random.default_rng(seed)
    host = SimulatedHost(name="degrees", cores=case.sessions, threads=1, noise=case.noise)
    record = simulate(host, (1, case.sessions), DEFAULT_REPEATS, int(rng.integers(2**31)), size=SIZE)
    (level,) = [each for each in explain(graded(record, case, rng)).levels if each.level > 1]
    return level.even


def graded(record: RunRecord, case: Case, rng: np.random.Generator) -> RunRecord:
    """The record with the sessions of each level slower by degrees, about the time that they had."""
    factors = case.ratio ** (np.arange(case.sessions) / (case.sessions - 1) - 0.5)
    made = [_graded(record, each, case.slow, factors, rng) if each.level > 1 else each for each in record.rounds]
    return RunRecord(record.header, tuple(made))


def _graded(record: RunRecord, each: Round, slow: str, factors: np.ndarray, rng: np.random.Generator) -> Round:
    places: Sequence[int] = range(len(factors))
    if slow == SAME_CPUS:
        places = usual_cpus(timed_round(record, each.order)) or places
    elif slow == IN_TURNS:
        places = [int(place) for place in rng.permutation(len(factors))]
    sessions = [_times(one, float(factors[place])) for one, place in zip(each.sessions, places, strict=True)]
    return replace(each, sessions=tuple(sessions))


def _times(session: Session, factor: float) -> Session:
    """One that needs so many times the CPU time for its only execution."""
    (one,) = session.executions
    longer_s = one.elapsed_s * (factor - 1)
    server_s = None if one.server_elapsed_s is None else one.server_elapsed_s + longer_s
    last = session.residency[-1]
    seen = replace(last, to_s=last.to_s + longer_s, cpu_s=None if last.cpu_s is None else last.cpu_s + longer_s)
    return replace(
        session,
        executions=(replace(one, elapsed_s=one.elapsed_s + longer_s, server_elapsed_s=server_s),),
        cpu_s=None if session.cpu_s is None else session.cpu_s + longer_s,
        residency=(*session.residency[:-1], seen),
    )


def rows(runs: int, seed: int, workers: int = 1) -> Iterator[dict[str, Any]]:
    """A row for each case, as it is kept."""
    every = cases()
    if workers == 1:
        found: Sequence[int] = [equal_in(case, runs, seed) for case in every]
    else:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(equal_in, every, [runs] * len(every), [seed] * len(every)))
    for case, equal in zip(every, found, strict=True):
        yield {"slow": case.slow, "ratio": case.ratio, "sessions": case.sessions, "noise": case.noise, "equal": equal}


def section(data: Mapping[str, Any]) -> str:
    """Of docs/accuracy.md: a row for each ratio and kind, a column for each noise."""
    runs = data["runs"]
    head = f"| true max/min | which are slow | {' | '.join(f'noise {noise:.0%}' for noise in NOISES)} |"
    body = []
    for ratio, slow in dict.fromkeys((each["ratio"], each["slow"]) for each in data["rows"]):
        own = [each for each in data["rows"] if (each["ratio"], each["slow"]) == (ratio, slow)]
        shares = []
        for noise in NOISES:
            of_noise = [each["equal"] for each in own if each["noise"] == noise]
            shares.append(told(sum(of_noise), runs * len(of_noise)))
        which = slow if ratio > 1 else "none"
        body.append(f"| {ratio:.2f} | {which} | {' | '.join(shares)} |")
    table = "\n".join((head, "|---|---|" + "---|" * len(NOISES), *body))
    return f"""
### Sessions that differ by degrees

One session per core of 4 and of 8 cores, {DEFAULT_REPEATS} repeats, {runs} runs of each; all sessions lie evenly
between the fastest and the slowest. In how many is the level called equal? At a true {EQUAL:.2f} and above that is
false. {SAME_SESSIONS.capitalize()} are slow in each round, or {SAME_CPUS}, or {IN_TURNS}: then only the scatter of
single sessions shows that it is no noise. Seed {data["seed"]}.

{table}
"""
