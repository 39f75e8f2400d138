"""A thousand sessions from one driver, and 4,096: does it complete, in how much memory, and is anything lost?"""

import re
import statistics
from collections.abc import Mapping

from bench.pairs import Bar, Result, Setup, Table, shown
from bench.processes import DBCPU, Finished, finish
from dbcpu.record.rounds import Round
from dbcpu.store.database import load_run

TITLE = "1,000 and 4,096 sessions from one driver"
HOW = (
    "`dbcpu run --sessions 1000 --size tiny --executions 1 --repeats 1` on the embedded PostgreSQL, as a process of "
    "its own, from start to exit: server, connecting, two solo rounds, the round of 1,000, analysis and report; then "
    "once with 4,096, or with as many as dbcpu says that the memory available holds. "
    "Memory is the largest resident size of that process (or of a child of it, should one be larger)."
)
MAX_BYTES: Mapping[int, int] = {1000: 150_000_000, 4096: 350_000_000}
MAX_SKEW_S: Mapping[int, float] = {4096: 0.025}
ONCE = 4096
"""It takes minutes."""
_LARGEST = re.compile(r"the largest possible level is (\d+)")


def run(setup: Setup) -> Result:
    rows: list[tuple[str, ...]] = []
    bars: list[Bar] = []
    samples: dict[str, list[float]] = {}
    for wanted in MAX_BYTES:
        sessions, turns = wanted, 1 if wanted == ONCE else setup.rounds
        measured: list[tuple[Finished, Round]] = []
        while len(measured) < turns:
            setup.say(f"{sessions:,} sessions, round {len(measured) + 1} of {turns}")
            try:
                measured.append(_once(setup, sessions, len(measured)))
            except SystemExit as refused:
                fewer = _LARGEST.search(str(refused))
                if measured or not fewer or int(fewer[1]) >= sessions:
                    raise
                sessions = int(fewer[1])
        found = _figures(measured)
        samples |= {f"{sessions} {name}": values for name, values in found.items()}
        lost, unverified = (sessions - min(found[name]) for name in ("answers", "verified"))
        peak_mb, skew_s = (statistics.median(found[name]) for name in ("peak_mb", "skew_s"))
        bars += [
            Bar(f"{sessions:,}: answers lost", lost, 0, f"of {sessions:,}"),
            Bar(f"{sessions:,}: server processes not verified", unverified, 0, f"of {sessions:,}"),
            Bar(f"{sessions:,}: largest resident size", peak_mb, MAX_BYTES[wanted] / 1e6, "MB"),
        ]
        if wanted in MAX_SKEW_S:
            bars.append(Bar(f"{sessions:,}: release skew", 1000 * skew_s, 1000 * MAX_SKEW_S[wanted], "ms"))
        rows.append(
            (
                f"{sessions:,}",
                str(turns),
                shown(found["elapsed_s"]),
                shown(found["cpu_s"]),
                shown(found["window_s"]),
                shown(found["skew_s"], 1000),
                shown(found["peak_mb"]),
            )
        )
    columns = (
        "sessions",
        "runs",
        "whole command, s",
        "CPU with the server, s",
        "release to last answer, s",
        "release skew, ms",
        "largest resident size, MB",
    )
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples)


def _figures(measured: list[tuple[Finished, Round]]) -> dict[str, list[float]]:
    answered = [[one.answer_ok is True and not one.error for one in each.sessions] for _, each in measured]
    return {
        "elapsed_s": [ended.elapsed_s for ended, _ in measured],
        "cpu_s": [ended.cpu_s for ended, _ in measured],
        "peak_mb": [ended.peak_bytes / 1e6 for ended, _ in measured],
        "window_s": [each.cost.window_s if each.cost else 0.0 for _, each in measured],
        "skew_s": [each.gate.skew_s for _, each in measured],
        "answers": [float(sum(right)) for right in answered],
        "verified": [float(each.gate.verified) for _, each in measured],
    }


def _once(setup: Setup, sessions: int, turn: int) -> tuple[Finished, Round]:
    """One run, and its round of so many."""
    options = {
        "sessions": str(sessions), "size": "tiny", "executions": "1", "repeats": "1", "seed": "1",
        "store": str(setup.folder / "store.db"), "out": str(setup.folder / f"reports-{sessions}-{turn}"),
    }  # fmt: skip
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    ended = finish([*DBCPU, "run", "embedded", *given, "--yes", "--quiet"])
    record = load_run("last", str(setup.folder / "store.db"))
    return ended, next(one for one in record.rounds if one.level == sessions)
