"""Labelled sessions of real server processes: rounds with a generated cause, measured and explained as any run is.

A run of the lab is a record with solo rounds and a round per generator, in random order, at a random size, with the
witness that every run has. Nothing of the generator is in the record: what was done to whom stands in the labels.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count, islice
from random import Random
from statistics import median
from typing import Any

from msgspec.structs import replace

from bench.rounds import CLOCK_TICKS, HZ, opened, sampling
from dbcpu import __version__
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.driver_process import this_process
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host
from dbcpu.measure import workloads
from dbcpu.measure.pace import PaceWitness
from dbcpu.measure.rounds import RoundSetup, calibrate, own_pids, run_round
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched
from dbcpu.record.header import Header, Plan, WorkloadInfo
from dbcpu.record.plan import RoundSpec, rounds
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.targets.base import DatabaseSession, Target, Work
from lab.cpu_speed import Instrument, Speeds
from lab.generator import Generator
from lab.labelled import LabelledRun, Treatment
from support.priority import prefer

ALONE_S = (1.2, 1.6)
"""Shortest and longest a session alone is to take: at the witness' largest rate, 30 pieces and more are beside it."""
TRIAL_N = 50
CAUSES = 6
"""Generators of a run: of the fourteen there are, so many and the solo rounds take less than half a minute."""
SOLOS = 5
"""From first to last. With fewer the tolerance of a run is that of chance."""
SITTING = ("a", "b", "c", "d")
"""Names under which one sitting measures the same thing: every two of them are a pair."""
PAIR_REPEATS = 6
"""Fewer cannot tell two runs apart (``inference.can_decide``), and would prove nothing."""
SESSIONS = 8
NICE = -10


class _Between:
    """A sampler that lets a generator in: before the first counters, and before the release."""

    def __init__(self, sampler: Sampler, generator: Generator | None) -> None:
        self._sampler, self._generator = sampler, generator

    @property
    def pid(self) -> int | None:
        return self._sampler.pid

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        pids = [one.pid for one in sorted(watched, key=lambda one: one.ordinal)]
        if self._generator is not None:
            self._generator.before(pids)
        self._sampler.start(watched, kit_pids)
        if self._generator is not None:
            self._generator.begin()
            pids += [helper.pid for helper in self._generator.helpers]
        # Sessions and what is done to them come before other work, and stay equal among themselves.
        for pid in pids:
            prefer(pid, NICE)

    def stop(self) -> Sampled:
        return self._sampler.stop()


class _Altered:
    """A target whose sessions prepare what the generator makes of their work."""

    def __init__(self, target: Target, generator: Generator) -> None:
        self._target, self._generator = target, generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def connect(self, ordinal: int, timeout_s: float) -> DatabaseSession:
        session = self._target.connect(ordinal, timeout_s)
        prepare = session.prepare
        setattr(session, "prepare", lambda work: prepare(self._generator.alter(ordinal, work)))  # noqa: B010
        return session


def drawn(generators: Sequence[type[Generator]], number: int, seed: int) -> list[type[Generator]]:
    """Those of a run: over all runs each comes equally often, and a run does not depend on those before it."""
    return list(islice(_dealt(generators, seed), CAUSES * number, CAUSES * (number + 1)))


def _dealt(generators: Sequence[type[Generator]], seed: int) -> Iterator[type[Generator]]:
    for deck in count():
        yield from Random(f"{seed} {deck}").sample(generators, len(generators))


class Lab:
    """The embedded server, its sampler and witness, and rounds on it. A context manager.

    ``alone_s``: how long a session alone takes, at least and at most; sizes are drawn so.
    """

    def __init__(self, seed: int, alone_s: tuple[float, float] = ALONE_S) -> None:
        self.seed, self.alone_s = seed, alone_s
        self.helpers: list[int] = []
        self._rows_per_s = 0.0
        self._stack = ExitStack()

    def __enter__(self) -> "Lab":
        with ExitStack() as stack:
            self.guard = stack.enter_context(Guard())
            self.target = stack.enter_context(opened("embedded", self.guard, SESSIONS))
            self.sampler = stack.enter_context(sampling("procfs", self.target))
            self._instrument = stack.enter_context(Instrument(self.guard))
            self.witness = stack.enter_context(PaceWitness(sorted(os.sched_getaffinity(0)), self.alone_s[0]))
            assert self.witness.pid is not None
            self.guard.end_later(self.witness.pid)
            self.conninfo = str(getattr(self.target, "_conninfo"))  # noqa: B009 - the kit gives it to nobody
            trial = self._work(TRIAL_N)
            self._rows_per_s = trial.rows / calibrate(self.target, self.target.host(), CLOCK_TICKS, trial).elapsed_s
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def run(self, generators: Sequence[type[Generator]], number: int) -> LabelledRun:
        """One record: all ``generators`` once, in random order, at one size."""
        rng = Random(f"{self.seed}-{number}")
        work, alone_s = self._drawn_work(rng)
        began_s = time.monotonic()
        order = [generator(rng, self.guard, self.conninfo, alone_s) for generator in generators]
        rng.shuffle(order)
        solos = {round(at * len(order) / (SOLOS - 1)) for at in range(SOLOS)}
        made: list[tuple[Round, Generator | None]] = []
        for position, generator in enumerate([*order, None]):
            if position in solos:
                made.append((self._round(work, None, len(made)), None))
            if generator is not None:
                made.append((self._round(work, generator, len(made)), generator))
        self._learn(work, [each for each, by in made if by is None])
        record = self._record(work, tuple(each for each, _ in made))
        treatments = tuple(_treatment(each.order, by) for each, by in made if by is not None)
        return LabelledRun(f"{self.seed}-{number:02}", record, treatments, self._speeds(began_s))

    def sitting(self, number: int) -> tuple[RunRecord, Speeds]:
        """One and two sessions under each of the names, in turns as ``dbcpu run --aa`` takes them, nothing done."""
        rng = Random(f"{self.seed}-{number}")
        work, _ = self._drawn_work(rng)
        began_s = time.monotonic()
        specs = rounds((1, 2), PAIR_REPEATS, rng.randrange(2**31), SITTING)
        made = tuple(self._measure(work, None, spec) for spec in specs)
        self._learn(work, [each for each in made if each.level == 1])
        record = self._record(work, made)
        plan = replace(record.header.plan, levels=(1, 2), repeats=PAIR_REPEATS, variants=SITTING)
        return replace(record, header=replace(record.header, plan=plan)), self._speeds(began_s)

    def _speeds(self, since_s: float) -> Speeds:
        return self._instrument.speeds().within(since_s, time.monotonic())

    def _drawn_work(self, rng: Random) -> tuple[Work, float]:
        """At a random size, and how long a session alone takes for it."""
        work = self._work(round((rng.uniform(*self.alone_s) * self._rows_per_s) ** 0.25))
        return work, work.rows / self._rows_per_s

    def _learn(self, work: Work, solos: Sequence[Round]) -> None:
        """The next run is as long as this one was to be, also where the machine's speed is another by then."""
        took_s = [one.executions[0].elapsed_s for each in solos for one in each.sessions if one.executions]
        if took_s:
            self._rows_per_s = work.rows / median(took_s)

    def _work(self, n: int) -> Work:
        workload = workloads.load("postgresql", "cartesian")
        return replace(workload, sizes={**workload.sizes, "medium": n}).work("medium")

    def _round(self, work: Work, generator: Generator | None, order: int) -> Round:
        # Solo rounds of the run are its level 1; a lone victim's round is not one of them.
        if generator is None:
            return self._measure(work, None, RoundSpec(1, 0, "baseline", order))
        return self._measure(work, generator, RoundSpec(len(generator.labels), 0, "lab", order))

    def _measure(self, work: Work, generator: Generator | None, spec: RoundSpec) -> Round:
        between: Any = _Between(self.sampler, generator)
        target: Any = self.target if generator is None else _Altered(self.target, generator)
        setup = RoundSetup(
            target=target,
            host=self.target.host(),
            sampler=between,
            work=work,
            executions=1,
            for_s=None,
            solo_s=1.0,
            vcpus=len(os.sched_getaffinity(0)),
            clock_ticks=CLOCK_TICKS,
            kit_pids=own_pids(self.guard.pid, self.sampler.pid, *self.witness.pids),
            witness=self.witness,
        )
        try:
            if generator is not None:
                generator.ready()
            return run_round(setup, spec)
        finally:
            if generator is not None:
                self.helpers += [helper.pid for helper in generator.helpers]
                generator.end()

    def _record(self, work: Work, made: tuple[Round, ...]) -> RunRecord:
        info = read_host(LocalHost())
        plan = Plan(
            target="embedded",
            workload=WorkloadInfo("cartesian", "lab", work.n, work.rows, work.sql, "0" * 64, work.answer),
            levels=(1, 2, 3),
            repeats=1,
            seed=self.seed,
            executions=1,
            for_s=None,
            sampler="procfs",
            hz=HZ,
            vcpus=len(info.limits.allowed_cpus),
            vcpus_source="host",
            variants=("baseline", "lab"),
            rounds=len(made),
        )
        header = Header(
            run_id="lab",
            label="",
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            status="complete",
            tool_version=__version__,
            plan=plan,
            host=info,
            database=self.target.describe(),
            driver=this_process(),
        )
        return RunRecord(header, made)


def _treatment(order: int, generator: Generator) -> Treatment:
    helper_pids = tuple(helper.pid for helper in generator.helpers)
    return Treatment(order, generator.name, generator.setting, generator.labels, helper_pids)
