"""Simulated hosts whose parameters are drawn at random and hidden from the analysis, which has to find the cause.

The simulator keeps what each session truly lost to what. Here a session's truth is what it lost beyond
that of the sessions alone, for the analysis, too, explains only what goes beyond the reference. A session is a *clear*
case when it lost more than LOST and one cause made CLEAR of it; it is *quiet* when it lost less than QUIET.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.solo_reference import solo_sessions
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import Clockwork, SimulatedHost, simulate

LOST = 0.15
CLEAR = 0.7
QUIET = 0.03
MORE = 4
ROWS_M = 40.96
"""Million rows of one execution at size medium."""


class Drawn(Struct, frozen=True):
    """A host nobody knows but this file, and what to measure on it."""

    kind: str
    host: SimulatedHost
    levels: tuple[int, ...]
    executions: int
    seed: int


class Judged(Struct, frozen=True):
    """One session: what was true, and what was said of it. ``truth`` is '' for a session that is neither."""

    kind: str
    truth: str
    said: str
    factor: float

    @property
    def right(self) -> bool:
        return self.said == self.truth


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _base(rng: np.random.Generator) -> SimulatedHost:
    scheduler = str(rng.choice(["sticky", "rotating", "smt_balancing"]))
    return SimulatedHost(
        cores=int(rng.integers(4, 9)),
        scheduler=scheduler,
        smt_yield=_uniform(rng, 0.0, 0.4),
        noise=_uniform(rng, 0.002, 0.02),
        rebalance_s=_uniform(rng, 0.1, 0.8),
        mrows_per_s=ROWS_M / _uniform(rng, 1.0, 2.0),
    )


def draw(kind: str, seed: int) -> Drawn:
    """A host of this kind. The same seed draws the same host."""
    rng = np.random.default_rng([seed, *kind.encode()])
    base = _base(rng)
    no_smt = replace(base, threads=1, scheduler="smt_balancing")
    choices: Mapping[str, SimulatedHost] = {
        "sticky": replace(base, scheduler="sticky"),
        "rotating": replace(base, scheduler="rotating", rebalance_s=_uniform(rng, 0.05, 0.2)),
        "smt_balancing": replace(base, scheduler="smt_balancing"),
        "frozen": replace(base, scheduler="frozen"),
        "c4.4xlarge": replace(base, cores=8, scheduler="sticky", smt_yield=_uniform(rng, 0.25, 0.4), hypervisor="xen"),
        "2x20x2": replace(base, sockets=2, cores=20, nodes=2, hypervisor=None),
        "smt4": replace(base, cores=4, threads=4, smt_yield=_uniform(rng, 0.2, 0.5)),
        "smt8": replace(base, cores=4, threads=8, smt_yield=_uniform(rng, 0.2, 0.5)),
        "no_smt": no_smt,
        "hidden_smt": replace(base, hidden_smt=True, scheduler="sticky"),
        "turbo": replace(no_smt, turbo_slope=_uniform(rng, 0.25, 0.4), hypervisor=None),
        "turbo_unmeasured": replace(no_smt, turbo_slope=_uniform(rng, 0.25, 0.4)),
        "steal": replace(no_smt, steal=_uniform(rng, 0.15, 0.4), steal_above=2),
        "quota": replace(no_smt, quota_cpus=_uniform(rng, 1.0, 3.0), quota_period_s=_uniform(rng, 0.01, 0.1)),
        "remote_memory": replace(
            no_smt, sockets=2, cores=4, nodes=2, memory_node=int(rng.integers(2)),
            remote_slowdown=_uniform(rng, 0.2, 0.5),
        ),
        "noisy": replace(no_smt, cores=6, noisy_neighbour=_uniform(rng, 0.5, 1.0), scheduler="frozen"),
        "irq": replace(no_smt, cores=6, irq=_uniform(rng, 0.25, 0.5), scheduler="frozen"),
        "all_slow": replace(no_smt, all_slow=_uniform(rng, 0.2, 0.5)),
        "quiet": no_smt,
    }  # fmt: skip
    host = replace(choices[kind], name=kind)
    cores, cpus = host.all_cores, len(host.online)
    levels = {1, 2, cores - 1, cores, cores + 1, (cores + cpus) // 2, cpus, cpus + 1, 2 * cpus}
    if kind == "quiet":
        levels = {1, 2, cores // 2, cores}
    most = cores if kind in _NO_SHARING else 2 * cpus
    return Drawn(kind, host, tuple(sorted(n for n in levels if 1 <= n <= most)), int(rng.integers(1, 4)), seed)


KINDS = (
    "sticky", "rotating", "smt_balancing", "frozen", "c4.4xlarge", "2x20x2", "smt4", "smt8", "no_smt", "hidden_smt",
    "turbo", "turbo_unmeasured", "steal", "quota", "remote_memory", "noisy", "irq", "all_slow", "quiet",
)  # fmt: skip

_NO_SHARING = ("noisy", "steal", "all_slow", "irq", "turbo", "turbo_unmeasured", "remote_memory")
"""Measured up to one session per core, so that what is theirs stands alone."""
_UNTOLD = {"shared_core": "hidden_smt", "frequency": "turbo_unmeasured"}


def measured(drawn: Drawn, repeats: int = 3) -> RunRecord:
    """What a measurement of the drawn host would record; the host's parameters are not in it."""
    record = simulate(drawn.host, drawn.levels, repeats, drawn.seed, executions=drawn.executions)
    if record.header.host is None:
        return record
    told = replace(record.header.host, facts={}, hostname="host", kernel="0")
    return replace(record, header=replace(record.header, host=told, label=""))


class Losses(Struct, frozen=True):
    """What each session of a run truly lost to each cause beyond what one alone does, in s, by round and ordinal.

    ``alone``: what one alone loses to each, ``alone_s``: what it takes in all.
    """

    sessions: Mapping[tuple[int, int], Mapping[str, float]]
    alone: Mapping[str, float]
    alone_s: float


def losses(drawn: Drawn, record: RunRecord) -> Losses:
    """Of all rounds above level 1, played again; beyond the sessions that are the reference of the analysis, too."""
    played = {each.order: _truth(drawn, each) for each in record.rounds}
    causes = sorted({cause for truth in played.values() for cause in truth})
    truths = {
        each.order: {cause: played[each.order].get(cause, np.zeros(each.level)) for cause in causes}
        for each in record.rounds
    }
    solos = [each.round.order for each in solo_sessions(record, timed(record))]
    alone = {cause: float(np.median([truths[order][cause][0] for order in solos])) for cause in causes}
    work_s = drawn.executions * ROWS_M / drawn.host.mrows_per_s
    return Losses(
        {
            (each.order, session.ordinal): {
                cause: float(truths[each.order][cause][session.ordinal]) - alone[cause] for cause in causes
            }
            for each in record.rounds
            if each.level > 1
            for session in each.sessions
        },
        alone,
        work_s + sum(alone.values()),
    )


def judge(drawn: Drawn, record: RunRecord, analysis: Analysis) -> list[Judged]:
    """Every session above level 1: its true cause, and the one that was named."""
    known = losses(drawn, record)
    said = {(view.order, view.ordinal): view.cause for view in analysis.sessions}
    return [
        Judged(drawn.kind, cause(drawn.kind, lost, known.alone_s), said[key], 1 + sum(lost.values()) / known.alone_s)
        for key, lost in known.sessions.items()
    ]


def cause(kind: str, lost: Mapping[str, float], alone_s: float) -> str:
    """The true cause of a clear case, 'none' of a quiet one, '' of another."""
    gone = {name: seconds for name, seconds in lost.items() if seconds > 0}
    total_s = sum(lost.values())
    if total_s < QUIET * alone_s:
        return "none"
    top = max(gone, key=lambda name: gone[name])
    if total_s < LOST * alone_s or gone[top] < CLEAR * sum(gone.values()):
        return ""
    return "slower_cpu" if _UNTOLD.get(top) == kind else top


def _truth(drawn: Drawn, each: Round) -> Mapping[str, np.typing.NDArray[np.float64]]:
    """The round played again from the same random source."""
    spec = RoundSpec(each.level, each.repeat, each.variant, each.order, each.anchor)
    rng = np.random.default_rng([drawn.seed, spec.level, spec.repeat, int(spec.anchor), *spec.variant.encode()])
    work_s = ROWS_M / drawn.host.mrows_per_s
    return Clockwork(drawn.host, spec.level, work_s, rng, drawn.executions).run().truth


def play(kinds: tuple[str, ...], draws: int, seed: int) -> Iterator[tuple[Drawn, RunRecord, Analysis]]:
    """``draws`` hosts of each kind, MORE times as many of those with few sessions; measured and explained."""
    for kind in kinds:
        for number in range(draws * (MORE if kind in _NO_SHARING else 1)):
            drawn = draw(kind, seed + number)
            record = measured(drawn)
            yield drawn, record, explain(record)
