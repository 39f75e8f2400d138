"""A thousand sessions from one driver: does it complete, in how much memory, and is anything lost?"""

import statistics

from bench.pairs import Bar, Result, Setup, Table, shown
from bench.processes import DBCPU, Finished, finish
from dbcpu.record import Round
from dbcpu.store.database import load_run

TITLE = "1,000 sessions from one driver"
HOW = (
    "`dbcpu run --sessions 1000 --size tiny --executions 1 --repeats 1` on the embedded PostgreSQL, as a process of "
    "its own, from start to exit: server, connecting, two solo rounds, the round of 1,000, analysis and report. "
    "Memory is the largest resident size of that process (or of a child of it, should one be larger)."
)
SESSIONS = 1000
LIMIT_BYTES = 200_000_000


def run(setup: Setup) -> Result:
    ended, rounds = [], []
    for turn in range(setup.rounds):
        setup.say(f"round {turn + 1} of {setup.rounds}")
        one, measured = _once(setup, turn)
        ended.append(one)
        rounds.append(measured)
    answers = [sum(session.answer_ok is True and not session.error for session in one.sessions) for one in rounds]
    peaks = [one.peak_bytes / 1e6 for one in ended]
    elapsed = [one.elapsed_s for one in ended]
    window = [one.cost.window_s if one.cost else 0.0 for one in rounds]
    skew = [one.gate.skew_s for one in rounds]
    verified = min(one.gate.verified for one in rounds)
    table = Table(
        ("what", "figure"),
        (
            ("whole command, s", shown(elapsed)),
            ("round of 1,000, release to last answer, s", shown(window)),
            ("release skew, ms", shown(skew, 1000)),
            ("answers, all right", f"{min(answers):,} of {SESSIONS:,} in every one of {len(answers)} rounds")
            if min(answers) == SESSIONS
            else ("answers, fewest", f"{min(answers):,} of {SESSIONS:,}"),
            ("server processes verified, fewest", f"{verified:,}"),
            ("largest resident size, MB", shown(peaks)),
        ),
    )
    bars = (
        Bar("answers lost", SESSIONS - min(answers), 0, "of 1,000"),
        Bar("largest resident size", statistics.median(peaks), LIMIT_BYTES / 1e6, "MB"),
    )
    samples = {"elapsed_s": elapsed, "peak_mb": peaks, "answers": [float(one) for one in answers],
               "window_s": window, "skew_s": skew}  # fmt: skip
    return Result(bars, (table,), samples)


def _once(setup: Setup, turn: int) -> tuple[Finished, Round]:
    """One run, and its round of a thousand."""
    options = {
        "sessions": str(SESSIONS), "size": "tiny", "executions": "1", "repeats": "1", "seed": "1",
        "store": str(setup.folder / "store.db"), "out": str(setup.folder / f"reports-{turn}"),
    }  # fmt: skip
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    ended = finish([*DBCPU, "run", "embedded", *given, "--yes", "--quiet"])
    record = load_run("last", str(setup.folder / "store.db"))
    return ended, next(one for one in record.rounds if one.level == SESSIONS)
