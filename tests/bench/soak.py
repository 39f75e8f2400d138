"""A soak's memory: does it grow with the time that it takes?"""

import statistics
import subprocess
import time
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from bench.pairs import Bar, Result, Setup, Table, interleaved, shown
from bench.processes import DBCPU, Finished, finish
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import load_run, open_store

TITLE = "Memory of a long soak"
HOW = (
    "The driver: `dbcpu soak embedded --sessions 4 --size tiny --for 40s`, its resident size read from /proc as each "
    "of ten segments begins; growth is that of the last three over the second to fourth. The report: "
    "its segments, again and again, as a soak of an hour and of a day (60 and 1,440 segments), `dbcpu report` of "
    "both, as processes of their own."
)
SEGMENTS = 10
SEGMENT_S = 4.0
HOUR, DAY = 60, 1440


def run(setup: Setup) -> Result:
    store = setup.folder / "store.db"
    growth, sizes = [], []
    for turn in range(setup.rounds):
        setup.say(f"round {turn + 1} of {setup.rounds}: the driver")
        resident = _driver(setup, store)
        sizes.append(statistics.median(resident[-3:]))
        growth.append(sizes[-1] - statistics.median(resident[:3]))
    base = load_run("last", str(store))
    with open_store(str(store)) as opened:
        for name, segments in (("hour", HOUR), ("day", DAY)):
            opened.save(_longer(base, name, segments))
    contestants = {name: partial(_report, setup, store, name) for name in ("hour", "day")}
    peaks = {
        name: [each.peak_bytes / 1e6 for each in ended]
        for name, ended in interleaved(contestants, setup.rounds, setup.say).items()
    }
    ended = sum(len(session.executions) for each in base.rounds for session in each.sessions) / len(base.rounds)
    rows = (
        ("driver at the end, MB", shown(sizes)),
        ("driver, growth in six segments, MB", shown(growth)),
        (f"report of {HOUR} segments, MB", shown(peaks["hour"])),
        (f"report of {DAY:,} segments, MB", shown(peaks["day"])),
    )
    more = statistics.median(peaks["day"]) - statistics.median(peaks["hour"])
    bars = (
        Bar("driver, growth in six segments", statistics.median(growth), 2.0, "MB"),
        Bar("report of a day rather than an hour", more, 50.0, "MB"),
    )
    samples = {"driver_mb": sizes, "growth_mb": growth, "hour_mb": peaks["hour"], "day_mb": peaks["day"]}
    return Result(bars, (Table(("what", "figure"), rows),), samples, (f"A segment holds {ended:,.0f} executions.",))


def _driver(setup: Setup, store: Path) -> list[float]:
    """Resident MB of one soak's driver, once in each segment."""
    command = [*DBCPU, "soak", "embedded", "--sessions", "4", "--size", "tiny", "--for", f"{SEGMENTS * SEGMENT_S:g}s"]
    command += ["--store", str(store), "--out", str(setup.folder / "report"), "--yes"]
    said = setup.folder / "said"
    begun, resident = 0, []
    with said.open("w") as stderr, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as process:
        while process.poll() is None:
            now = said.read_text().count("round ")
            # The first and the last are sessions alone.
            if 2 < now <= SEGMENTS + 1 and now > begun:
                resident.append(_resident_mb(process.pid))
            begun = now
            time.sleep(0.05)
    if process.returncode or len(resident) < SEGMENTS - 1:
        told = said.read_text()[-300:]
        raise SystemExit(f"the soak ended with {process.returncode} after {len(resident)} segments: {told}")
    return resident


def _resident_mb(pid: int) -> float:
    """VmRSS of /proc/PID/status. proc_pid_status(5)"""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024 / 1e6


def _longer(base: RunRecord, name: str, segments: int) -> RunRecord:
    """The same soak with so many segments, back to back."""
    alone, last = (each for each in base.rounds if each.anchor)
    loaded = [each for each in base.rounds if not each.anchor]
    first_s = loaded[0].released_monotonic_s
    many = [
        replace(loaded[at % len(loaded)], order=at + 1, repeat=at, released_monotonic_s=first_s + at * SEGMENT_S)
        for at in range(segments)
    ]
    plan = replace(base.header.plan, for_s=segments * SEGMENT_S)
    ended = replace(last, order=segments + 1, released_monotonic_s=first_s + segments * SEGMENT_S)
    return RunRecord(replace(base.header, run_id=name, plan=plan), (alone, *many, ended))


def _report(setup: Setup, store: Path, name: str) -> Finished:
    return finish([*DBCPU, "report", name, "--store", str(store), "--out", str(setup.folder / name)])
