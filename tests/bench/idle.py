"""Idle between executions of one session at N = 64: queued ahead (pipeline), and asked for one by one."""

import statistics
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from msgspec import Struct

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import CLOCK_TICKS
from dbcpu.hosts.quiesce import settle
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.record.rounds import Execution
from dbcpu.targets.base import Target, Work
from dbcpu.targets.postgresql.connection import dial
from dbcpu.targets.postgresql.embedded_server import EmbeddedServer
from dbcpu.targets.postgresql.session import LibpqSession
from dbcpu.targets.postgresql.target import LibpqTarget

TITLE = "Idle between executions at N = 64"
HOW = (
    "64 sessions of the embedded PostgreSQL do 24 executions each of cartesian tiny. Idle is the server's own stamp "
    "at the start of an execution minus that at the end of the one before, in the same session: it holds the "
    "server's work between statements, the wait for the driver, and the wait for a CPU after waking up. The twin is "
    "the same driver without the queue: it sends an execution when the answer of the one before has arrived."
)
SESSIONS = 64
EXECUTIONS = 24


class AskedOneByOne(LibpqSession):
    """Request and response: one execution is under way, never more."""

    def _ahead(self) -> int:
        return 1


class Twin(LibpqTarget):
    """A target whose sessions ask one by one."""

    def connect(self, ordinal: int, timeout_s: float) -> LibpqSession:
        return AskedOneByOne(ordinal, dial(self._conninfo, timeout_s))


class Idle(Struct, frozen=True):
    """One round: the middle and the 90th percentile of all gaps, and executions per second."""

    median_s: float
    high_s: float
    per_s: float


def run(setup: Setup) -> Result:
    work = workloads.load("postgresql", "cartesian").work("tiny")
    with (
        EmbeddedServer(SESSIONS, setup.guard) as server,
        LibpqTarget(server.conninfo) as target,
        Twin(server.conninfo) as twin,
    ):
        contestants: dict[str, Callable[[], Idle]] = {
            "pipeline": partial(_measured, target, work),
            "request/response": partial(_measured, twin, work),
        }
        found = interleaved(contestants, setup.rounds, setup.say)
    samples: dict[str, list[float]] = {}
    rows = []
    for name, idles in found.items():
        median_s = samples[f"{name} idle_median_s"] = [one.median_s for one in idles]
        high_s = samples[f"{name} idle_p90_s"] = [one.high_s for one in idles]
        per_s = samples[f"{name} executions_per_s"] = [one.per_s for one in idles]
        rows.append((name, shown(median_s, 1000), shown(high_s, 1000), shown(per_s)))
    pipeline_s, asked_s = (samples[f"{name} idle_median_s"] for name in ("pipeline", "request/response"))
    columns = ("executions are sent by", "median idle, ms", "90th percentile, ms", "executions per second")
    return Result(
        bars=(Bar("median idle, pipeline", statistics.median(pipeline_s) * 1000, 1.0, "ms"),),
        tables=(Table(columns, tuple(rows)),),
        samples=samples,
        notes=(f"Request/response idles {ratio(asked_s, pipeline_s):,.0f} times as long (ratio of medians).",),
    )


def _measured(target: Target, work: Work) -> Idle:
    with SessionGate(target, target.host(), CLOCK_TICKS) as gate:
        gate.gather(SESSIONS, work)
        settle(target.host(), 5.0)
        released = gate.release(EXECUTIONS, None, 300.0)
        outcomes = gate.outcomes()
    if any(one.error or not one.answer_ok or len(one.executions) != EXECUTIONS for one in outcomes):
        raise SystemExit(f"not all executions were done: {next((one.error for one in outcomes if one.error), None)}")
    gaps = [gap for one in outcomes for gap in _gaps(one.executions)]
    return Idle(
        median_s=statistics.median(gaps),
        high_s=statistics.quantiles(gaps, n=10)[-1],
        per_s=SESSIONS * EXECUTIONS / released.window_s,
    )


def _gaps(executions: tuple[Execution, ...]) -> list[float]:
    """Seconds between the end of each execution and the start of the next, on the server's clock."""
    spans = [(one.server_start_s or 0.0, one.server_elapsed_s or 0.0) for one in executions]
    return [later[0] - earlier[0] - earlier[1] for earlier, later in pairwise(spans)]
