"""What the driver of a fleet takes while measurements run, and for each target."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

from bench.pairs import Bar, Result, Setup, Table, interleaved, shown
from dbcpu import __version__
from dbcpu.measure.workloads import sql_hash
from dbcpu.store.campaigns import DONE, Campaign, Item
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.fleet import station
from dbcpu.workflows.fleet.cluster import workers
from dbcpu.workflows.fleet.drive import Bounds, drive
from dbcpu.workflows.fleet.outcome import ItemOutcome

TITLE = "The driver of a fleet"
HOW = (
    "`drive` of a campaign in a process of its own, with Dask's cluster in it and a SQLite store, as `dbcpu fleet "
    "run` starts it. A measurement is replaced by a process that does nothing, or one that waits; all that driver "
    "and station do for a target is done: processes, states and leases in the store, lookups of the run. CPU is "
    "that of the driver's own process. Per target: over so many targets that take no time of their own that the "
    "campaign is as wide as it gets. Waiting: over five seconds in which so many measurements wait."
)
WIDTHS = {20: 32, 100: 128}
"""At once, and the targets that are done before: the campaign is as wide as that only then."""
WINDOW_S = 5.0
LIMIT_SHARE, LIMIT_MB, LIMIT_TARGET_S = 0.02, 250, 0.1


def run(setup: Setup) -> Result:
    found = interleaved({str(at): partial(_once, setup, at) for at in WIDTHS}, setup.rounds, setup.say)
    figures = {at: {key: [one[key] for one in ones] for key in ones[0]} for at, ones in found.items()}
    table = Table(
        ("at once", "CPU while they wait, % of one", "resident, MB", "CPU per target, ms", "elapsed per target, ms"),
        tuple(
            (at, shown(of["share"], 100), shown(of["mb"]), shown(of["target_cpu_s"], 1000),
             shown(of["target_s"], 1000))
            for at, of in figures.items()
        ),
    )  # fmt: skip
    bars = [
        bar
        for at, of in figures.items()
        for bar in (
            Bar(f"driver, {at} waiting", 100 * statistics.median(of["share"]), 100 * LIMIT_SHARE, "% of one CPU"),
            Bar(f"driver, {at} waiting", statistics.median(of["mb"]), LIMIT_MB, "MB"),
            Bar(f"per target, {at} at once", 1000 * statistics.median(of["target_cpu_s"]), 1000 * LIMIT_TARGET_S, "ms"),
        )
    ]
    samples = {f"{at} at once: {key}": values for at, of in figures.items() for key, values in of.items()}
    return Result(tuple(bars), (table,), samples)


def _once(setup: Setup, at_once: int) -> dict[str, float]:
    folder = setup.folder / f"{at_once}-{time.monotonic_ns()}"
    folder.mkdir()
    code = "import sys; from bench.fleet_driving import driven; driven(int(sys.argv[1]), sys.argv[2])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(at_once), str(folder / "store.db")], stdout=subprocess.PIPE, check=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder), "DBCPU_STORE": str(folder / "store.db")},
    )  # fmt: skip
    return {key: float(value) for key, value in json.loads(done.stdout).items()}


def driven(at_once: int, place: str) -> None:
    """One campaign in this process; prints its figures."""
    quick = WIDTHS[at_once]
    names = [f"quick-{at}" for at in range(quick)] + [f"waits-{at}" for at in range(at_once)]
    plan = {"targets": {name: {"url": "sqlite"} for name in names}, "options": []}
    campaign = Campaign("bench", "2026-11-24T00:00:00+00:00", __version__, sql_hash(), plan)
    watch = _Watch(quick, at_once)
    station._start = _start
    vars(station)["settle"] = watch.settle
    with open_store(place) as store:
        store.campaigns.create(campaign, [Item(name) for name in names])
        watch.begin()
        with workers(None, at_once) as found:
            drive(store, "bench", Bounds(at_once, 1.0), found, lambda _: None)
    print(json.dumps(watch.found))


def _start(work: station.Assignment, folder: Path, url: str | None) -> "subprocess.Popen[bytes]":
    """In place of ``dbcpu run``: what does nothing, or waits until it is interrupted."""
    command = "exec true" if work.target.startswith("quick") else "exec sleep 600"
    return subprocess.Popen(
        ["/bin/sh", "-c", f"read -r go && {command}"], stdin=subprocess.PIPE, start_new_session=True
    )


class _Watch:
    """Looks at this process when the quick ones are done, and while the others wait; then it ends them."""

    def __init__(self, quick: int, at_once: int) -> None:
        self.found: dict[str, float] = {}
        self._quick, self._at_once, self._done = quick, at_once, 0
        self._began = (0.0, 0.0)

    def begin(self) -> None:
        self._began = (time.process_time(), time.monotonic())
        threading.Thread(target=self._look, daemon=True).start()

    def settle(self, store: Store, campaign: str, item: Item, code: int | None = None) -> ItemOutcome:
        """As ``outcome.settle``, for a process that kept no run."""
        store.campaigns.run_of(campaign, item)
        store.campaigns.change(campaign, item.target, was_pid=item.pid, state=DONE)
        self._done += 1
        if self._done == self._quick:
            cpu_s, now_s = self._began
            self.found["target_cpu_s"] = (time.process_time() - cpu_s) / self._quick
            self.found["target_s"] = (time.monotonic() - now_s) / self._quick
        return ItemOutcome(DONE)

    def _look(self) -> None:
        while len(station._running) < self._at_once or self._done < self._quick:
            time.sleep(0.1)
        time.sleep(1.0)  # the start of the last one is over
        cpu_s, now_s = time.process_time(), time.monotonic()
        time.sleep(WINDOW_S)
        self.found["share"] = (time.process_time() - cpu_s) / (time.monotonic() - now_s)
        status = Path("/proc/self/status").read_text().splitlines()
        self.found["mb"] = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024 / 1e6
        for process in list(station._running.values()):
            process.terminate()  # what a shell put into the background ignores Ctrl-C
