"""Labelled sessions of real server processes: rounds with a generated cause, measured and explained as any run is.

A run of the lab is a record with solo rounds and a round per generator, in random order, at a random size.
Nothing of the generator is in the record: what was done to whom stands apart, in the labels.
"""

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from bench.rounds import CLOCK_TICKS, HZ, opened, sampling
from dbcpu import __version__
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.driver_process import this_process
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import settle
from dbcpu.hosts.topology import read_host
from dbcpu.measure import workloads
from dbcpu.measure.rounds import Setting, own_pids, run_round
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched
from dbcpu.plan import AA, RoundSpec, rounds
from dbcpu.record import Header, Plan, Round, RunRecord, WorkloadInfo
from dbcpu.targets.base import Session, Target, Work
from lab.cpu_speed import Instrument, Speeds
from lab.generator import Generator
from lab.labelled import LabelledRun, Treatment
from support.priority import prefer

SIZES = (64, 84)
"""Least and largest n of a run: about 0.4 to 1.1 s at 22 ns per row."""
SOLOS_EVERY = 4
QUIET_WAIT_S = 3.0
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

    def connect(self, ordinal: int, timeout_s: float) -> Session:
        session = self._target.connect(ordinal, timeout_s)
        prepare = session.prepare
        setattr(session, "prepare", lambda work: prepare(self._generator.alter(ordinal, work)))  # noqa: B010
        return session


class Lab:
    """The embedded server, its sampler, and rounds on it. A context manager."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.seed = seed
        self.helpers: list[int] = []
        self._stack = ExitStack()

    def __enter__(self) -> "Lab":
        self.guard = self._stack.enter_context(Guard())
        self.target = self._stack.enter_context(opened("embedded", self.guard, SESSIONS))
        self.sampler = self._stack.enter_context(sampling("procfs", self.target))
        self._instrument = self._stack.enter_context(Instrument(self.guard))
        self.conninfo = str(getattr(self.target, "_conninfo"))  # noqa: B009 - the kit gives it to nobody
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def run(self, generators: Sequence[type[Generator]], number: int, n: int | None = None) -> LabelledRun:
        """One record: all ``generators`` once, in random order, at one size, random if ``n`` is not given."""
        work = self._work(self.rng.randint(*SIZES) if n is None else n)
        began_s = time.monotonic()
        order = [generator(self.rng, self.guard, self.conninfo) for generator in generators]
        self.rng.shuffle(order)
        made: list[tuple[Round, Generator | None]] = []
        for position, generator in enumerate(order):
            if position % SOLOS_EVERY == 0:
                made.append((self._round(work, None, len(made)), None))
            made.append((self._round(work, generator, len(made)), generator))
        made.append((self._round(work, None, len(made)), None))
        record = self._record(work, tuple(each for each, _ in made))
        treatments = tuple(_treatment(each.order, by) for each, by in made if by is not None)
        return LabelledRun(f"{self.seed}-{number:02}", record, treatments, self._speeds(began_s))

    def pair(self) -> tuple[RunRecord, Speeds]:
        """What ``dbcpu run --aa`` measures: one and two sessions under each of two names, in turns, nothing done."""
        began_s = time.monotonic()
        work = self._work(self.rng.randint(*SIZES))
        specs = rounds((1, 2), PAIR_REPEATS, self.rng.randrange(2**31), AA)
        record = self._record(work, tuple(self._measure(work, None, spec) for spec in specs))
        plan = replace(record.header.plan, levels=(1, 2), repeats=PAIR_REPEATS, variants=AA)
        return replace(record, header=replace(record.header, plan=plan)), self._speeds(began_s)

    def _speeds(self, since_s: float) -> Speeds:
        return self._instrument.speeds().within(since_s, time.monotonic())

    def _work(self, n: int) -> Work:
        workload = workloads.load("postgresql", "cartesian")
        return replace(workload, sizes={**workload.sizes, "medium": n}).work("medium")

    def _round(self, work: Work, generator: Generator | None, order: int) -> Round:
        # Solo rounds of the run are its level 1; a lone victim's round is not one of them.
        if generator is None:
            return self._measure(work, None, RoundSpec(1, 0, "baseline", order))
        return self._measure(work, generator, RoundSpec(len(generator.labels), 0, "lab", order))

    def _measure(self, work: Work, generator: Generator | None, spec: RoundSpec) -> Round:
        host = self.target.host()
        between: Any = _Between(self.sampler, generator)
        target: Any = self.target if generator is None else _Altered(self.target, generator)
        setting = Setting(
            target=target,
            host=host,
            sampler=between,
            work=work,
            executions=1,
            for_s=None,
            solo_s=1.0,
            vcpus=len(os.sched_getaffinity(0)),
            clock_ticks=CLOCK_TICKS,
            kit_pids=own_pids(self.guard.pid, self.sampler.pid),
        )
        settle(host, QUIET_WAIT_S)
        try:
            if generator is not None:
                generator.ready()
            done = run_round(setting, spec)
        finally:
            if generator is not None:
                self.helpers += [helper.pid for helper in generator.helpers]
                generator.end()
        return done

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
