"""Real rounds for benches, through the same code as a run: target, gate, sampler, measure."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.topology import read_host, usable_vcpus
from dbcpu.measure import workloads
from dbcpu.measure.pace import PaceWitness
from dbcpu.measure.rounds import RoundSetup, own_pids, run_round
from dbcpu.measure.samplers.base import Sampler, load_sampler
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round
from dbcpu.targets.base import Target, load_target

HZ = 20.0
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def opened(kind: str, guard: Guard, sessions: int = 32) -> Iterator[Target]:
    """A target by the name of its member (embedded, sqlite), for at most so many sessions."""
    target = load_target(kind).open_target(Request(kind, kind, options={"sessions": str(sessions)}), guard)
    with target:
        yield target


@contextmanager
def sampling(name: str, target: Target) -> Iterator[Sampler]:
    """A sampler by the name of its member, at 20 Hz."""
    sampler = load_sampler(name).open_sampler(target.host(), HZ)
    with sampler:
        yield sampler


def one_round(
    target: Target,
    sampler: Sampler,
    guard: Guard,
    level: int,
    executions: int,
    size: str = "short",
    witness: PaceWitness | None = None,
) -> Round:
    """One round of ``cartesian``. Raises MeasureError when it fails; a session that failed ends the bench."""
    host = target.host()
    work = workloads.load(target.kind, "cartesian").work(size)
    setting = RoundSetup(
        target=target,
        host=host,
        sampler=sampler,
        work=work,
        executions=executions,
        for_s=None,
        solo_s=work.rows * 40e-9,
        vcpus=usable_vcpus(read_host(host))[0] if host else 1,
        clock_ticks=CLOCK_TICKS,
        kit_pids=own_pids(guard.pid, sampler.pid, *(witness.pids if witness else ())),
        witness=witness,
    )
    done = run_round(setting, RoundSpec(level, 0, "baseline", 0))
    failed = [session.error for session in done.sessions if session.error or not session.answer_ok]
    if failed:
        raise SystemExit(f"{len(failed)} of {level} sessions did not do the work: {failed[0]}")
    return done


def executions_per_s(one: Round) -> float:
    """Throughput: executions by the time of the last answer."""
    assert one.cost is not None
    return sum(len(session.executions) for session in one.sessions) / one.cost.window_s


def say_level(say: Callable[[str], None], level: int, text: str) -> None:
    """Progress, with the number of sessions before it."""
    say(f"N = {level}, {text}")
