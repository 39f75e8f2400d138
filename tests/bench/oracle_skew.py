"""Release skew of Oracle sessions at N = 16, 64 and 256: dbcpu's gate, plain threads and asyncio, one driver."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import oracledb

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import CLOCK_TICKS
from bench.skew import settle_host
from dbcpu.config.targets import resolve
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import Target, Work, load_target

# The double is a part of the tests, and the benches are run on their own.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.doubles.oracle.double import OracleDouble

TITLE = "Release skew of Oracle sessions"
HOW = (
    "Sessions of python-oracledb, thin mode, on the test double of an Oracle server (one process each, real CPU) "
    "are released into one execution of cartesian tiny. Skew is the spread (last minus first) of the client's stamps "
    "just before the send: in dbcpu's gate; in as many threads that wait at a `threading.Barrier`; and in as many "
    "asyncio tasks that wait for one event. Client and server processes share the machine, so a server that has "
    "begun can displace a client that has not; the gate's threads send under real-time priority where permitted."
)
LEVELS = (16, 64, 256)
_TIMEOUT_S = 120.0


def run(setup: Setup) -> Result:
    work = workloads.load("oracle", "cartesian").work("tiny")
    found: dict[int, dict[str, list[float]]] = {}
    with OracleDouble(verifier="11g") as double:
        target = load_target("oracle").open_target(resolve(double.url, lambda _: None), setup.guard)
        with target:
            for level in LEVELS:
                contestants: dict[str, Callable[[], float]] = {
                    "dbcpu": partial(_by_gate, target, work, level),
                    "plain threads": partial(_by_threads, double, work, level),
                    "asyncio": partial(_by_asyncio, double, work, level),
                }
                found[level] = interleaved(contestants, setup.rounds, partial(_tell, setup, level))
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    for level, by_name in found.items():
        for name, skews in by_name.items():
            rows.append((str(level), name, shown(skews, 1000), f"{ratio(skews, by_name['dbcpu']):.1f}"))
            samples[f"N={level} {name} client_skew_s"] = skews
        bars.append(
            Bar(f"N = {level}: dbcpu / plain threads", ratio(by_name["dbcpu"], by_name["plain threads"]), 1.0, "times")
        )
    columns = ("N", "released by", "client skew, ms", "times dbcpu's")
    realtime = "" if os.geteuid() == 0 else "not "
    return Result(
        tuple(bars),
        (Table(columns, tuple(rows)),),
        samples,
        (f"python-oracledb {oracledb.__version__}; real-time priority was {realtime}permitted.",),
    )


def _tell(setup: Setup, level: int, text: str) -> None:
    setup.say(f"N = {level}, {text}")


def _by_gate(target: Target, work: Work, level: int) -> float:
    with SessionGate(target, target.host(), CLOCK_TICKS) as gate:
        gate.gather(level, work)
        settle_host()
        released = gate.release(1, None, _TIMEOUT_S)
        _all_done([outcome.error for outcome in gate.outcomes()], level)
    return released.skew_s


def _by_threads(double: OracleDouble, work: Work, level: int) -> float:
    opened = [oracledb.connect(user=double.user, password=double.password, dsn=double.dsn) for _ in range(level)]
    barrier = threading.Barrier(level)
    stamps: list[float] = []

    def execute(connection: oracledb.Connection) -> None:
        with connection.cursor() as cursor:
            cursor.parse(work.sql)
            barrier.wait()
            stamps.append(time.monotonic())
            cursor.execute(work.sql)

    threads = [threading.Thread(target=execute, args=(connection,)) for connection in opened]
    settle_host()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in opened:
        connection.close()
    _all_done([None] * len(stamps), level)
    return max(stamps) - min(stamps)


def _by_asyncio(double: OracleDouble, work: Work, level: int) -> float:
    stamps: list[float] = []

    async def execute(go: asyncio.Event) -> None:
        async with oracledb.connect_async(user=double.user, password=double.password, dsn=double.dsn) as connection:
            with connection.cursor() as cursor:
                await cursor.parse(work.sql)
                ready.release()
                await go.wait()
                stamps.append(time.monotonic())
                await cursor.execute(work.sql)

    async def release() -> None:
        go = asyncio.Event()
        tasks = [asyncio.create_task(execute(go)) for _ in range(level)]
        for _ in range(level):
            await ready.acquire()
        await asyncio.to_thread(settle_host)
        go.set()
        await asyncio.gather(*tasks)

    ready = asyncio.Semaphore(0)
    asyncio.run(release())
    _all_done([None] * len(stamps), level)
    return max(stamps) - min(stamps)


def _all_done(errors: list[str | None], level: int) -> None:
    failed = [error for error in errors if error]
    if failed or len(errors) != level:
        raise SystemExit(f"{len(errors) - len(failed)} of {level} sessions did the work: {failed[:1]}")
