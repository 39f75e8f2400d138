"""What the procfs sampler makes of what its process saw, and that process under real sampling."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers import _counters as counters
from dbcpu.measure.samplers import _local, procfs
from dbcpu.measure.samplers.base import Watched
from dbcpu.record.rounds import NodeMemory

STAT = "42 (post (gres)) S " + " ".join(str(number) for number in range(4, 53))


def told(**changed: Any) -> dict[str, Any]:
    """A session as the poller tells it: 2 s of CPU and 1 s of waiting, one move seen."""
    status = (
        "Cpus_allowed_list:\t0,2-3\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t5\n"
        "nonvoluntary_ctxt_switches:\t7\n"
    )
    before = {"stat": STAT, "schedstat": "1000000000 5000000000 7\n", "cgroup": "0::/db.slice/pg\n", "sched": None,
              "status": status}  # fmt: skip
    after = before | {"schedstat": "3000000000 6000000000 9\n",
                      "status": status.replace("\t5", "\t6").replace("\t7", "\t70")}  # fmt: skip
    intervals = [[0, "R", 10.0, 11.5, 1_500_000_000, 0], [2, "R", 11.5, 13.0, 500_000_000, 1_000_000_000]]
    given = {"ordinal": 4, "before": before, "after": after, "intervals": intervals, "seen": 1, "gone": False,
             "last": [2_500_000_000, 5_500_000_000]}  # fmt: skip
    return given | changed


def test_counters_and_settings_of_a_session() -> None:
    seen = counters.seen(told(), 100)
    assert (seen.ordinal, seen.cpu_s, seen.cpu_source, seen.run_delay_s) == (4, 2.0, "schedstat", 1.0)
    assert (seen.voluntary_switches, seen.involuntary_switches) == (1, 63)
    assert (seen.allowed_cpus, seen.memory_nodes, seen.cgroup) == ((0, 2, 3), (0,), "/db.slice/pg")
    assert (seen.nice, seen.policy) == (19, "41"), "fields 19 and 41; a policy without a name keeps its number"
    assert [(one.cpu, one.cpu_s, one.run_delay_s) for one in seen.residency] == [(0, 1.5, 0.0), (2, 0.5, 1.0)]
    assert (seen.migrations, seen.migrations_seen) == (None, 1)


MAPS = (
    "55d0a0000000 {policy} file=/usr/lib/postgresql/18/bin/postgres mapped=700 mapmax=9 N0=700 kernelpagesize_kB=4\n"
    "55d0aa000000 {policy} heap anon=300 dirty=300 active=0 N1=300 kernelpagesize_kB=4\n"
    "7f0000000000 {policy} file=/dev/zero\\040(deleted) dirty=20 mapmax=9 N0=4 N1=16 kernelpagesize_kB=4\n"
    "7f0010000000 {policy} file=/anon_hugepage\\040(deleted) huge dirty=2 N1=2 kernelpagesize_kB=2048\n"
    "7f0020000000 {policy}\n"
    "7ffe00000000 {policy} stack anon=10 dirty=10 N0=3 N1=7 kernelpagesize_kB=4\n"
)


@pytest.mark.parametrize(
    ("policy", "nodes"),
    [
        ("bind:1", (1,)),
        ("bind=static:1-2", (1,)),
        ("interleave:0-1", (0, 1)),
        ("prefer:1", (0, 1)),
        ("default", (0, 1)),
    ],
)
def test_nodes_of_memory_are_those_of_its_policy_among_those_of_its_group(policy: str, nodes: tuple[int, ...]) -> None:
    """The kernel's list of allowed nodes knows of the control group alone: numactl --membind does not change it."""
    row = told()
    status = row["after"]["status"].replace("Mems_allowed_list:\t0", "Mems_allowed_list:\t0-1")
    row["after"] = row["after"] | {"status": status, "numa_maps": MAPS.format(policy=policy)}
    seen = counters.seen(row, 100)
    assert (seen.memory_policy, seen.memory_nodes) == (policy, nodes)
    counted = (NodeMemory(0, 7 * 4096), NodeMemory(1, 323 * 4096 + 4 * 2**20))
    assert seen.node_memory == counted, "mapped files lie where they were read first"


def test_memory_that_was_not_counted_is_unknown() -> None:
    row = told()
    row["after"] = row["after"] | {"numa_maps": "55d0a0000000 bind:0"}
    assert (counters.seen(row, 100).memory_policy, counters.seen(row, 100).node_memory) == ("bind:0", ())
    assert (counters.seen(told(), 100).memory_policy, counters.seen(told(), 100).node_memory) == (None, ())


def test_policy_has_its_name() -> None:
    fields = STAT.split(") ")[1].split()
    fields[38] = "3"
    assert counters._policy(f"42 (x) {' '.join(fields)}") == ("batch", 19)
    assert counters._policy(None) == (None, None)


@pytest.mark.parametrize("name", ["se.nr_migrations", "nr_migrations"])
def test_migrations_are_the_kernels_count_under_both_of_its_names(name: str) -> None:
    row = told()
    row["before"] = row["before"] | {"sched": f"postgres (42, #threads: 1)\n-----\n{name}   :   10\n"}
    row["after"] = row["after"] | {"sched": f"{name} : 13\n"}
    assert counters.seen(row, 100).migrations == 3


def test_session_that_ended_is_counted_to_its_last_poll() -> None:
    nothing = dict.fromkeys(("stat", "schedstat", "status", "sched", "cgroup"))
    seen = counters.seen(told(after=nothing, gone=True), 100)
    assert seen.vanished
    assert (seen.cpu_s, seen.run_delay_s) == (1.5, 0.5)
    assert (seen.voluntary_switches, seen.allowed_cpus) == (None, (0, 2, 3))


def test_session_that_was_never_there_is_unknown_not_zero() -> None:
    nothing = dict.fromkeys(("stat", "schedstat", "status", "sched", "cgroup"))
    seen = counters.seen(told(before=nothing, after=nothing, intervals=[], seen=0, gone=True, last=[0, 0]), 100)
    assert (seen.cpu_s, seen.run_delay_s, seen.migrations, seen.cgroup, seen.residency) == (None, None, None, None, ())


@pytest.mark.parametrize("schedstat", [None, "", "0 0 0\n"])
def test_without_schedstat_cpu_time_comes_from_ticks_and_waiting_is_unknown(schedstat: str | None) -> None:
    row = told()
    fields = STAT.split(") ")[1].split()
    fields[11], fields[12] = str(14 + 30), str(15 + 20)
    row["before"] = row["before"] | {"schedstat": schedstat}
    row["after"] = row["after"] | {"schedstat": schedstat, "stat": f"42 (post (gres)) {' '.join(fields)}"}
    seen = counters.seen(row, 100)
    assert (seen.cpu_s, seen.cpu_source, seen.run_delay_s) == (0.5, "stat", None)
    assert {one.cpu_s for one in seen.residency} == {None}


def test_timeline_leaves_out_cpus_that_came_or_went() -> None:
    slices = [
        [1.0, {"0": [0] * 8, "1": [0] * 8, "10": [0] * 8}],
        [1.5, {"0": [10, 5, 20, 100, 3, 1, 2, 4], "10": [0, 0, 0, 50, 0, 0, 0, 0]}],
    ]
    times, series = counters.timeline(slices, 100)
    assert times == (1.0, 1.5)
    assert [one.cpu for one in series] == [0, 10]
    assert (series[0].busy_s, series[0].steal_s) == ((0.38,), (0.04,))
    assert (series[0].irq_s, series[0].softirq_s) == ((0.01,), (0.02,))
    assert counters.timeline([], 100) == ((), ())


def test_foreign_processes_are_the_busy_ones_most_first() -> None:
    before = {"1": ["init", 100, 0, 5], "2": ["cron", 10, 1, 6], "3": ["old", 900, 0, 7]}
    after = {"1": ["init", 101, 0, 5], "2": ["cron", 40, 0, 6], "3": ["new", 50, 1, 99], "4": ["born", 2, 1, 100]}
    found = counters.foreign(before, after, 100)
    assert [(one.pid, one.command, one.cpu_s, one.cpus) for one in found] == [
        (3, "new", 0.5, (1,)),
        (2, "cron", 0.3, (0, 1)),
        (4, "born", 0.02, (1,)),
    ]


def test_sampler_follows_a_real_process() -> None:
    code = "import sys\nprint('up', flush=True)\nwhile sys.stdin.read(1): sum(range(300000)); print('done', flush=True)"
    worker = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=0
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdout.readline()
    with procfs.open_sampler(LocalHost(), 200.0) as sampler:
        sampler.start([Watched(0, worker.pid, None)], [os.getpid()])
        for _ in range(5):
            worker.stdin.write("x")
            worker.stdout.readline()
        sampled = sampler.stop()
        assert sampled.hz == 200.0
    worker.communicate()
    (seen,) = sampled.sessions
    assert not seen.vanished
    assert seen.cpu_s is not None
    assert seen.cpu_s > 0
    assert seen.residency
    allowed = os.sched_getaffinity(0)
    assert {one.cpu for one in seen.residency} <= allowed
    assert set(seen.allowed_cpus) == allowed
    if seen.migrations is not None:
        assert 0 <= seen.migrations_seen <= seen.migrations + len(seen.residency)
    assert sampled.cpu_used_s > 0
    assert worker.pid not in {one.pid for one in sampled.foreign}


def test_rate_is_lowered_where_many_are_watched() -> None:
    with procfs.open_sampler(LocalHost(), 100.0) as sampler:
        sampler.start([Watched(ordinal, os.getpid(), None) for ordinal in range(500)], [])
        assert sampler.stop().hz == pytest.approx(_local.MAX_READS_PER_S / 500)


def test_sampler_that_died_is_told() -> None:
    with procfs.open_sampler(LocalHost(), 20.0) as sampler:
        sampler.start([], [])
        assert sampler.pid is not None
        os.kill(sampler.pid, signal.SIGKILL)
        with pytest.raises(MeasureError, match="the sampling process ended unexpectedly"):
            sampler.stop()
    assert sampler.pid is None


def test_sampler_says_why_it_cannot_be_used(tmp_path: Path) -> None:
    assert procfs.unavailable(LocalHost()) is None
    assert "another machine" in (procfs.unavailable(None) or "")
    assert "recorded host" in (procfs.unavailable(LocalHost(tmp_path)) or "")
    with pytest.raises(MeasureError, match="sampling is not possible: the database runs on another machine"):
        procfs.open_sampler(None, 20.0)
