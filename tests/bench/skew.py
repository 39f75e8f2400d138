"""Release skew at N = 64 over TCP: dbcpu's gate, pgbench, and psql processes started in a shell loop."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import CLOCK_TICKS
from bench.server import TcpServer
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import settle
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import Target, Work, load_target

TITLE = "Release skew at N = 64"
HOW = (
    "64 sessions on a PostgreSQL server over TCP on 127.0.0.1 are released into one execution of cartesian. "
    "Skew is the spread (last minus first) of the client's stamps just before the send: in dbcpu's gate; in "
    "`pgbench -c 64 -j 64 -t 1 -l`, where the start is the logged end minus the latency; and in 64 psql processes "
    "that a shell loop puts into the background, each stamped by `date` within psql just before its statement. "
    "Beside it the spread of the statements' own starts on the server (clock_timestamp); pgbench's session writes "
    "it down one second after the measured statement, so as not to disturb the others."
)
SESSIONS = 64
SIZES = ("tiny", "short")
_SETTLE_S = 10.0
_CLOCK = "extract(epoch from clock_timestamp())"
_OPTIONS = "-c jit=off -c enable_memoize=off -c max_parallel_workers_per_gather=0"
_LOOP = "i=0; while [ $i -lt $1 ]; do psql -XqAt -f work.sql >out.$i & i=$((i + 1)); done; wait"


class Release(Struct, frozen=True):
    """Spread of 64 starts, seconds."""

    client_s: float
    server_s: float


def run(setup: Setup) -> Result:
    with TcpServer(setup.guard, max_connections=SESSIONS + 20) as server:
        version = str(server.query("show server_version")[0][0]).split()[0]
        server.query("create unlogged table start (at numeric)")
        target = load_target("postgresql").open_target(server.request, setup.guard)
        with target:
            found = {size: _compare(setup, server, target, size) for size in SIZES}
    rows, bars = [], []
    samples: dict[str, list[float]] = {}
    for size, by_name in found.items():
        clients = {name: [one.client_s for one in releases] for name, releases in by_name.items()}
        for name, releases in by_name.items():
            servers = [one.server_s for one in releases]
            times = ratio(clients[name], clients["dbcpu"])
            rows.append((size, name, shown(clients[name], 1000), f"{times:.1f}", shown(servers, 1000)))
            samples[f"{size} {name} client_skew_s"] = clients[name]
            samples[f"{size} {name} server_start_spread_s"] = servers
        bars.append(Bar(f"{size}: dbcpu / pgbench", ratio(clients["dbcpu"], clients["pgbench"]), 1.0, "times"))
        bars.append(Bar(f"{size}: dbcpu / shell loop", ratio(clients["dbcpu"], clients["shell loop"]), 0.01, "times"))
    columns = ("size", "released by", "client skew, ms", "times dbcpu's", "spread of server starts, ms")
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples, (f"The server was PostgreSQL {version}.",))


def _compare(setup: Setup, server: TcpServer, target: Target, size: str) -> dict[str, list[Release]]:
    work = workloads.load("postgresql", "cartesian").work(size)
    contestants: dict[str, Callable[[], Release]] = {
        "dbcpu": partial(_by_gate, target, work),
        "pgbench": partial(_by_pgbench, server, work, setup.folder),
        "shell loop": partial(_by_shell, server, work, setup.folder),
    }
    return interleaved(contestants, setup.rounds, lambda text: setup.say(f"{size}, {text}"))


def _by_gate(target: Target, work: Work) -> Release:
    settle(target.host(), _SETTLE_S)
    with SessionGate(target, target.host(), CLOCK_TICKS) as gate:
        gate.gather(SESSIONS, work)
        settle(target.host(), _SETTLE_S)
        released = gate.release(1, None, 120.0)
        outcomes = gate.outcomes()
    starts = [one.executions[0].server_start_s or 0.0 for one in outcomes if one.answer_ok and not one.error]
    return Release(released.skew_s, _spread(starts))


def _by_pgbench(server: TcpServer, work: Work, scratch: Path) -> Release:
    folder = _fresh(scratch / "pgbench")
    (folder / "work.sql").write_text(
        f"{_stamped(work.sql)} \\gset\n\\sleep 1 s\ninsert into start values (:began);\n", "utf-8"
    )
    settle_host()
    server.query("truncate start")
    command = ["pgbench", "-n", "-c", str(SESSIONS), "-j", str(SESSIONS), "-t", "1", "-l", "-f", "work.sql"]
    _start(server, folder, command)
    logged = [line.split() for log in folder.glob("pgbench_log.*") for line in log.read_text().splitlines()]
    # client transaction latency(us) script epoch(s) epoch(us). Source: pgbench, "Per-Transaction Logging"
    clients = [int(fields[4]) + int(fields[5]) / 1e6 - float(fields[2]) / 1e6 for fields in logged]
    return Release(_spread(clients), _spread([float(str(row[0])) for row in server.query("select at from start")]))


def _by_shell(server: TcpServer, work: Work, scratch: Path) -> Release:
    folder = _fresh(scratch / "shell")
    (folder / "work.sql").write_text(f"\\set sent `date +%s.%N`\n{_stamped(work.sql)};\n\\echo :sent\n", "utf-8")
    settle_host()
    _start(server, folder, ["sh", "-c", _LOOP, "loop", str(SESSIONS)])
    answers = [out.read_text().splitlines() for out in folder.glob("out.*")]
    rows = [(row.split("|"), float(sent)) for row, sent in answers]
    if any(row[1] != work.answer for row, _ in rows):
        raise SystemExit("psql gave a wrong answer")
    return Release(_spread([sent for _, sent in rows]), _spread([float(row[0]) for row, _ in rows]))


def settle_host() -> None:
    """Wait until this machine is quiet, for ten seconds at most."""
    settle(LocalHost(), _SETTLE_S)


def _stamped(sql: str) -> str:
    return f"select {_CLOCK} as began, ({sql})::text as answer, {_CLOCK} as ended"


def _start(server: TcpServer, folder: Path, command: list[str]) -> None:
    environment = server.environment | {"PGOPTIONS": _OPTIONS}
    program = shutil.which(command[0], path=environment["PATH"]) or command[0]
    done = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr.strip()[-300:]}")


def _spread(stamps: list[float]) -> float:
    if len(stamps) != SESSIONS:
        raise SystemExit(f"{len(stamps)} of {SESSIONS} sessions told when they started")
    return max(stamps) - min(stamps)


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
