"""A start that the server keeps (sleep, then spin until an agreed moment) against the gate: spread of starts."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from msgspec import Struct
from psycopg import pq

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import CLOCK_TICKS
from bench.server import TcpServer
from bench.skew import settle_host
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import Target, Work, load_target

TITLE = "A start kept by the server, against the gate"
HOW = (
    "Sessions on a PostgreSQL server over TCP on 127.0.0.1 begin one execution of cartesian tiny together: released "
    "by dbcpu's gate, or told half a second ahead at which moment of the server's clock to begin. These sleep "
    "(`pg_sleep`) until that moment, or until 10 ms before it (the step of DBMS_SESSION.SLEEP in Oracle) and then "
    "spin in PL/pgSQL on `clock_timestamp()`. The spread is that of the statements' own starts on the server, last "
    "minus first. What sessions spun is elapsed time, all sessions together: with a CPU for each of them it is CPU "
    "time that the database counts as work."
)
LEVELS = (2, 16, 64)
AHEAD_S = 0.5
STEP_S = 0.01
_TIMEOUT_S = 120.0
_START_AT = """create function start_at(moment double precision, spin double precision) returns double precision
language plpgsql as $$
declare
  spun double precision;
begin
  perform pg_sleep(moment - spin - extract(epoch from clock_timestamp()));
  spun := extract(epoch from clock_timestamp());
  if spin > 0 then
    while extract(epoch from clock_timestamp()) < moment loop
      null;
    end loop;
  end if;
  return extract(epoch from clock_timestamp()) - spun;
end $$"""
_STATEMENT = b"work"


class Begun(Struct, frozen=True):
    """Spread of the starts of one round, and what its sessions spun before, in all: seconds."""

    spread_s: float
    spun_s: float


def run(setup: Setup) -> Result:
    work = workloads.load("postgresql", "cartesian").work("tiny")
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    with TcpServer(setup.guard, max_connections=max(LEVELS) + 20) as server:
        version = str(server.query("show server_version")[0][0]).split()[0]
        server.query(_START_AT)
        target = load_target("postgresql").open_target(server.request, setup.guard)
        with target:
            for level in LEVELS:
                contestants: dict[str, Callable[[], Begun]] = {
                    "dbcpu's gate": partial(_by_gate, target, work, level),
                    "server: sleep": partial(_by_server, server, work, level, 0.0),
                    "server: sleep, spin": partial(_by_server, server, work, level, STEP_S),
                }
                found = interleaved(contestants, setup.rounds, partial(_tell, setup, level))
                spreads = {name: [one.spread_s for one in begun] for name, begun in found.items()}
                for name, begun in found.items():
                    spun = [one.spun_s for one in begun]
                    times = ratio(spreads[name], spreads["dbcpu's gate"])
                    rows.append((str(level), name, shown(spreads[name], 1000), f"{times:.2f}", shown(spun, 1000)))
                    samples[f"N={level} {name} server_start_spread_s"] = spreads[name]
                    samples[f"N={level} {name} spun_s"] = spun
                bars.append(_bar(level, spreads))
    columns = ("N", "begun by", "spread of server starts, ms", "times the gate's", "spun, all sessions, ms")
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples, (f"The server was PostgreSQL {version}.",))


def _bar(level: int, spreads: Mapping[str, Sequence[float]]) -> Bar:
    worst = max(ratio(spreads["dbcpu's gate"], theirs) for name, theirs in spreads.items() if name != "dbcpu's gate")
    return Bar(f"N = {level}: gate / the better start by the server", worst, 1.0, "times")


def _tell(setup: Setup, level: int, text: str) -> None:
    setup.say(f"N = {level}, {text}")


def _by_gate(target: Target, work: Work, level: int) -> Begun:
    with SessionGate(target, target.host(), CLOCK_TICKS) as gate:
        gate.gather(level, work)
        settle_host()
        gate.release(1, None, _TIMEOUT_S)
        outcomes = gate.outcomes()
    starts = [one.executions[0].server_start_s or 0.0 for one in outcomes if one.answer_ok and not one.error]
    return Begun(_spread(starts, level), 0.0)


def _by_server(server: TcpServer, work: Work, level: int, spin_s: float) -> Begun:
    text = (
        f"select start_at($1, {spin_s}) as spun, extract(epoch from clock_timestamp()) as began, "
        f"({work.sql})::text as answer"
    )
    with ExitStack() as stack:
        sessions = [stack.enter_context(server.connect()).pgconn for _ in range(level)]
        for session in sessions:
            for setting in ("jit = off", "enable_memoize = off", "max_parallel_workers_per_gather = 0"):
                session.exec_(f"set {setting}".encode())
            session.prepare(_STATEMENT, text.encode())
            session.exec_(b"select start_at(0, 0.01)")
        settle_host()
        moment = repr(time.time() + AHEAD_S).encode()
        for session in sessions:
            session.send_query_prepared(_STATEMENT, [moment])
        rows = [_row(session) for session in sessions]
    if any(answer != work.answer for _, _, answer in rows):
        raise SystemExit("a session gave a wrong answer")
    return Begun(_spread([began_s for _, began_s, _ in rows], level), sum(spun_s for spun_s, _, _ in rows))


def _row(session: pq.abc.PGconn) -> tuple[float, float, str]:
    """Spun, began, answer; waits for the session to end, which the others do not need."""
    result = session.get_result()
    while session.get_result() is not None:
        pass
    if result is None or result.status != pq.ExecStatus.TUPLES_OK:
        raise SystemExit(f"a session failed: {session.get_error_message()}")
    spun, began, answer = ((result.get_value(0, column) or b"").decode() for column in range(3))
    return float(spun), float(began), answer


def _spread(stamps: list[float], level: int) -> float:
    if len(stamps) != level:
        raise SystemExit(f"{len(stamps)} of {level} sessions did the work")
    return max(stamps) - min(stamps)
