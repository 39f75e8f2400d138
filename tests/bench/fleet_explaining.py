"""A thousand stored runs explained anew: on all CPUs of this machine, and by the workers of a Dask cluster."""

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.processes import DBCPU, Finished, finish
from dbcpu.simulator import preset, simulate
from dbcpu.store.database import open_store

TITLE = "1,000 stored runs explained anew"
HOW = (
    "`dbcpu store figures` over a SQLite store whose figures were deleted: by processes of its own on all CPUs, "
    "and by as many workers of a Dask cluster on this machine (`--scheduler`), which was started before. 50 "
    "simulated runs of 2 vCPUs, levels 1, 2 and 4, three rounds each, 20 times over. CPU is that of the command "
    "and of processes that it started, so that of the cluster's workers is not in it."
)
RUNS, DIFFERENT = 1000, 50


def run(setup: Setup) -> Result:
    store = setup.folder / "store.db"
    setup.say(f"filling a store with {RUNS:,} runs")
    _fill(store)
    workers = len(os.sched_getaffinity(0))
    with _cluster(store, workers) as address:
        contestants = {
            "processes of its own": partial(_figures, store),
            "a Dask cluster": partial(_figures, store, "--scheduler", address),
        }
        ended = interleaved(contestants, setup.rounds, setup.say)
    elapsed = {name: [one.elapsed_s for one in ones] for name, ones in ended.items()}
    own, cluster = elapsed["processes of its own"], elapsed["a Dask cluster"]
    table = Table(
        ("explained by", "elapsed, s", "runs a second", "CPU of the command, s"),
        tuple(
            (name, shown(times), f"{RUNS / statistics.median(times):.0f}", shown([one.cpu_s for one in ended[name]]))
            for name, times in elapsed.items()
        ),
    )
    bars = (Bar("cluster / processes of its own", ratio(cluster, own), 1.25, "times"),)
    samples = {f"{name}, s": times for name, times in elapsed.items()}
    return Result(bars, (table,), samples, (f"There were {workers} workers.",))


def _fill(place: Path) -> None:
    made = [
        simulate(preset("this-vm"), (1, 2, 4), repeats=3, seed=seed, size="tiny", hz=1.0) for seed in range(DIFFERENT)
    ]
    with open_store(str(place)) as store:
        for at in range(RUNS):
            record = made[at % DIFFERENT]
            store.save(replace(record, header=replace(record.header, run_id=f"run-{at}")))


def _figures(store: Path, *more: str) -> Finished:
    finish([*DBCPU, "store", "figures", "--drop", "--store", str(store)])
    return finish([*DBCPU, "store", "figures", "--store", str(store), *more])


@contextmanager
def _cluster(store: Path, workers: int) -> Iterator[str]:
    """The address of a scheduler on loopback, whose workers find the store in their environment."""
    from distributed import LocalCluster

    os.environ["DBCPU_STORE"] = str(store)
    try:
        with LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as cluster:  # fmt: skip
            yield cluster.scheduler_address
    finally:
        del os.environ["DBCPU_STORE"]
