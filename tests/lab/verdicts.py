"""Does a result contradict itself, is ``yes`` ever false, how often is a run decided? On difficult simulated hosts.

The truth of a level is what the same host does without noise: the median max/min and slowdown of its rounds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.adaptive_plan import adaptive
from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.header import BASELINE
from dbcpu.record.plan import QUICK, auto_levels, fixed, rounds
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.workflows.more_rounds import Asked, addition
from lab.intervals import told
from support.contradictions import contradictions

NOISES = (0.03, 0.05, 0.20)
EQUAL = 1.10
NO_DIFFERENCE = 1.03
DEFAULT_REPEATS = 6
TRUTH_REPEATS = 4
SIZE = "short"
Asks = TypeVar("Asks")
Made = TypeVar("Made")


class Judged(Struct, frozen=True):
    """One run: what contradicts itself, and which answers of its levels are false."""

    noise: float
    kind: str
    contradictions: tuple[str, ...]


class LevelJudged(Struct, frozen=True):
    """One level: its answers, and the true median max/min and slowdown. ``beyond``: more sessions than vCPUs."""

    noise: float
    sessions: int
    beyond: bool
    even: str
    full_speed: str
    true_ratio: float
    true_slowdown: float


def difficult(rng: np.random.Generator) -> SimulatedHost:
    """A host as it may be: noise, steal, a quota, a neighbour, turbo, hidden siblings, any scheduler."""

    def sometimes(share: float, low: float, high: float) -> float:
        return float(rng.uniform(low, high)) if rng.random() < share else 0.0

    cores, threads = int(rng.integers(1, 7)), int(rng.choice([1, 2, 2, 4]))
    return SimulatedHost(
        name="difficult",
        cores=cores,
        threads=threads,
        scheduler=str(rng.choice(["frozen", "sticky", "rotating", "smt_balancing"])),
        smt_yield=float(rng.uniform(0.0, 1.0)),
        hidden_smt=bool(rng.random() < 0.2),
        steal=sometimes(0.25, 0.02, 0.5),
        quota_cpus=sometimes(0.2, 0.4, cores * threads) or None,
        noisy_neighbour=sometimes(0.2, 0.1, 0.9),
        turbo_slope=sometimes(0.2, 0.05, 0.4),
        all_slow=sometimes(0.15, 0.02, 0.3),
        noise=float(rng.choice([0.0, rng.uniform(0, 0.03), rng.uniform(0, 0.2)])),
    )


def swept(host: SimulatedHost, rng: np.random.Generator, repeats: int) -> RunRecord:
    vcpus = len(host.online)
    wanted = {1, 2, host.cores, host.cores + 1, vcpus, vcpus + 1, 2 * vcpus}
    levels = tuple(sorted(level for level in wanted if level == 1 or rng.random() < 0.8))
    return simulate(host, levels, repeats, int(rng.integers(2**31)), size=SIZE)


def mutated(record: RunRecord, rng: np.random.Generator) -> RunRecord:
    """As records are that come from elsewhere: times only, rounds missing, interrupted, one session slow."""
    rounds = list(record.rounds)
    if rng.random() < 0.25:
        rounds = [_unsampled(each) for each in rounds]
    if rng.random() < 0.25:
        rounds = rounds[: int(rng.integers(1, len(rounds) + 1))]
    if rng.random() < 0.15:
        rounds = [each for each in rounds if each.level > 1 or each.repeat == 0]
    if rng.random() < 0.2:
        rounds = [_slowed(each, float(rng.uniform(1.0, 3.0))) for each in rounds]
    status = "complete" if len(rounds) == len(record.rounds) else "interrupted"
    return RunRecord(replace(record.header, status=status), tuple(rounds))


def _unsampled(each: Round) -> Round:
    blind = [
        replace(session, cpu_s=None, run_delay_s=None, residency=(), migrations=None, migrations_seen=None)
        for session in each.sessions
    ]
    return replace(each, sessions=tuple(blind), cpu_timeline=(), timeline_s=(), not_sampled="the host is remote")


def _slowed(each: Round, factor: float) -> Round:
    """The first session of rounds with several takes longer, asleep."""
    if each.level < 2 or not each.sessions or not each.sessions[0].executions:
        return each
    first, *others = each.sessions
    longer = tuple(
        replace(
            one,
            elapsed_s=one.elapsed_s * factor,
            server_elapsed_s=None if one.server_elapsed_s is None else one.server_elapsed_s * factor,
        )
        for one in first.executions
    )
    return replace(each, sessions=(replace(first, executions=longer), *others))


def runs(count: int, seed: int, workers: int = 1) -> Iterator[Judged]:
    """Runs of difficult hosts, half of them mutated."""
    yield from _spread(_run, [(seed, number) for number in range(count)], workers)


def _run(asked: tuple[int, int]) -> Judged:
    rng = np.random.default_rng(asked)
    host = difficult(rng)
    record = swept(host, rng, int(rng.integers(1, 7)))
    record = mutated(record, rng) if asked[1] % 2 else record
    return _judged(host, record, explain(record))


def _judged(host: SimulatedHost, record: RunRecord, analysis: Analysis) -> Judged:
    return Judged(host.noise, headline(analysis).kind, tuple(contradictions(record, analysis)))


def _spread(task: Callable[[Asks], Made], asked: Sequence[Asks], workers: int) -> Iterator[Made]:
    """Each in turn, or by several processes; the results are the same, in the same order."""
    if workers == 1:
        yield from map(task, asked)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(task, asked, chunksize=4)


class Decided(Struct, frozen=True):
    """One host: the run of fixed levels, as measured, and after the rounds that its result asks for where it is
    inconclusive (else the same); and the run that ``dbcpu run`` makes there without options."""

    first: tuple[Judged, tuple[LevelJudged, ...]]
    after_more: tuple[Judged, tuple[LevelJudged, ...]]
    by_default: tuple[Judged, tuple[LevelJudged, ...]]


def decided(count: int, seed: int, most_noise: float, workers: int = 1) -> Iterator[Decided]:
    """Runs with the default repeats on hosts whose only trouble is noise up to ``most_noise`` and their shape."""
    yield from _spread(one_decided, [(seed, number, most_noise) for number in range(count)], workers)


def one_decided(asked: tuple[int, int, float]) -> Decided:
    """The run of a seed with a number, and up to so much noise."""
    seed, number, most_noise = asked
    rng = np.random.default_rng([seed, number, 2])
    host = SimulatedHost(
        name="noisy",
        cores=int(rng.integers(2, 9)),
        threads=int(rng.integers(1, 3)),
        scheduler=str(rng.choice(["sticky", "rotating", "smt_balancing"])),
        smt_yield=float(rng.uniform(0.0, 0.6)),
        noise=float(rng.uniform(0.0, most_noise)),
    )
    vcpus = len(host.online)
    levels = tuple(sorted({1, 2, host.cores, host.cores + 1, vcpus, 2 * vcpus}))
    run_seed = int(rng.integers(2**31))
    record = simulate(host, levels, DEFAULT_REPEATS, run_seed, size=SIZE)
    analysis = explain(record)
    first = after = _with_truth(host, record, analysis)
    if first[0].kind == Outcome.UNKNOWN and analysis.more_rounds is not None:
        specs = (*rounds(levels, DEFAULT_REPEATS, run_seed, (BASELINE,)), *addition(record, Asked()).specs)
        longer = simulate(host, levels, DEFAULT_REPEATS, run_seed, size=SIZE, planner=lambda _: fixed(specs))
        after = _with_truth(host, longer, explain(longer))
    by_itself = simulate(host, auto_levels(vcpus, host.cores), QUICK, run_seed, size=SIZE, planner=adaptive)
    return Decided(first, after, _with_truth(host, by_itself, explain(by_itself)))


def _with_truth(host: SimulatedHost, record: RunRecord, analysis: Analysis) -> tuple[Judged, tuple[LevelJudged, ...]]:
    truth = _truth(host, tuple(each.level for each in analysis.levels))
    return _judged(host, record, analysis), tuple(_levels(host.noise, len(host.online), analysis, truth))


@lru_cache(2)
def _truth(host: SimulatedHost, levels: tuple[int, ...]) -> Analysis:
    """The same host without noise; runs of the same levels of one host have the same."""
    return explain(simulate(replace(host, noise=0.0), levels, TRUTH_REPEATS, 1, size=SIZE))


def _levels(noise: float, vcpus: int, analysis: Analysis, truth: Analysis) -> Iterator[LevelJudged]:
    for each, true in zip(analysis.levels, truth.levels, strict=True):
        if each.level > 1:
            ratio, slowdown = true.max_over_min or 1.0, true.slowdown_median or 1.0
            yield LevelJudged(
                noise, each.level, each.level > vcpus, each.even.value, each.full_speed.value, ratio, slowdown
            )


def section(data: Mapping[str, Any]) -> str:
    """Of docs/accuracy.md."""
    rows = [
        f"| up to {float(most):.0%} | {told(each['decided'], each['runs'])} | {told(each['false_yes'], each['yes'])} "
        f"| {told(each['false_no'], each['no'])} | {_other(each, 'after_more')} | {_other(each, 'by_default')} |"
        for most, each in data["noise_up_to"].items()
    ]
    table = "\n".join(rows)
    return f"""
## The answers: equal, and at full speed

Difficult hosts: 1 to 6 cores of 1, 2 or 4 threads, noise up to 20 %, steal, quotas, neighbours, turbo, hidden
siblings, any scheduler, 1 to 6 repeats; half of the records are mutated: times only, rounds missing, interrupted, a
session asleep. All parts of each result are compared with each other (tests/support/contradictions.py): verdict,
headline, table, capacity, findings, limits of `dbcpu check`, remedies, intervals. Seed {data["seed"]}.

- results that contradict themselves: {told(data["contradicting"], data["runs"])}

Hosts with noise alone, 2 to 8 cores of 1 or 2 threads, fixed levels, {DEFAULT_REPEATS} repeats. The truth of a level
is the same host without noise; above the vCPUs none is at full speed. A false yes is one where the true ratio is above
{EQUAL:.2f}, a false no one where it is below {NO_DIFFERENCE:.2f}. A run is decided if its headline is not
"inconclusive". After the rounds that such a result asks for (`dbcpu more`, once), and of the run that `dbcpu run`
makes without options (`--sessions auto`, {QUICK} repeats and more rounds where they may decide), what is false is
of all answers. What is asked of dbcpu is asked of that run: 98 % decided up to a noise of 3 %, 90 % up to 5 %.

| noise | runs decided | false yes | false no | decided with more rounds; false then | decided by default; false then |
|---|---|---|---|---|---|
{table}
"""


def _other(each: Mapping[str, Any], run: str) -> str:
    """Of results that were kept before there was such a run nothing is known."""
    found = each.get(run)
    if found is None:
        return "-"
    false, answers = found["false_yes"] + found["false_no"], found["yes"] + found["no"]
    return f"{told(found['decided'], found['runs'])}; {told(false, answers)}"


def _true_slowdown(level: LevelJudged) -> float:
    """Above the vCPUs no level is at full speed, also where the same few sessions do all the waiting."""
    return max(level.true_slowdown, EQUAL) if level.beyond else level.true_slowdown


def tallied(found: Iterable[tuple[Judged, tuple[LevelJudged, ...]]]) -> dict[str, int]:
    """Counts of runs, decided runs and contradictions; of levels, answers of either kind, and false ones."""
    counts = dict.fromkeys(("runs", "decided", "contradicting", "levels", "yes", "false_yes", "no", "false_no"), 0)
    for judged, levels in found:
        counts["runs"] += 1
        counts["decided"] += judged.kind != Outcome.UNKNOWN
        counts["contradicting"] += bool(judged.contradictions)
        for each in levels:
            counts["levels"] += 1
            for said, true in ((each.even, each.true_ratio), (each.full_speed, _true_slowdown(each))):
                counts["yes"] += said == Answer.YES
                counts["false_yes"] += said == Answer.YES and true > EQUAL
                counts["no"] += said == Answer.NO
                counts["false_no"] += said == Answer.NO and true < NO_DIFFERENCE
    return counts
