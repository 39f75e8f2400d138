"""A campaign of which something is killed, stopped or out of reach: each target is measured once, and none is lost."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from dbcpu.hosts import driver_process
from dbcpu.store.campaigns import DONE, PARTIAL, PLANNED, RUNNING
from dbcpu.workflows.fleet.outcome import campaign_folder
from support.campaigning import HOSTS, LONG, PASSWORD, QUICK, Fleet, started
from support.driving import Drive, children, until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_ctrl_c_twice_cancels_all_and_nothing_was_open_to_others_meanwhile(fleet: Fleet) -> None:
    secret = make_url(fleet.store).password or ""
    running = fleet.begin(*LONG)
    until(fleet.under_way, "a target is measured")
    for pid in (running.process.pid, fleet.under_way()[0].process.pid):
        assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert secret not in str(fleet.opened.campaigns.load("q4"))
    for address, port in listening(running.process.pid):
        assert address == "127.0.0.1"
        with socket.create_connection((address, port)) as asked:
            asked.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
            assert b" 404 " in asked.recv(100)
    running.send(signal.SIGINT).said("no more targets are started")
    until(lambda: running.send(signal.SIGINT) and "cancelled" in running.err, "the second one counts after a second")
    code, out, _ = running.finish()
    assert (code, "interrupted" in out, secret in running.err) == (130, True, False)
    assert Counter(each.state for each in fleet.items().values())["planned"] == HOSTS - 1
    until(lambda: fleet.leftovers() == 0, "no session is left")


def test_two_drivers_exclude_each_other_and_stop_now_ends_one(fleet: Fleet) -> None:
    first = fleet.begin(*LONG)
    until(fleet.under_way, "a target is measured")
    code, _, err = fleet("resume", "q4", "--yes").finish()
    assert code == 3
    assert re.search(rf"campaign q4 is driven by process {first.process.pid} on \S+; wait for it", err)
    assert "cancels those under way" in fleet("stop", "q4", "--now").finish()[1]
    assert first.finish()[0] == 3
    until(lambda: fleet.leftovers() == 0, "no session is left")


MOMENTS: tuple[Callable[[Fleet], object], ...] = (
    lambda fleet: any(each.state == RUNNING for each in fleet.items().values()),
    lambda fleet: fleet.under_way(),
    lambda fleet: fleet.leftovers(),
    lambda fleet: sum(fleet.complete_runs().values()) >= 1,
    lambda fleet: sum(fleet.complete_runs().values()) >= 2,
)


@pytest.mark.parametrize("seed", range(int(os.environ.get("DBCPU_FLEET_KILLS", "1"))))
def test_a_killed_driver_costs_no_measurement_and_repeats_none(fleet: Fleet, seed: int) -> None:
    moment = random.Random(seed).choice(MOMENTS)
    killed = fleet.begin(*QUICK)
    until(lambda: fleet.items() if started(fleet) else (), "the campaign is there")
    killed.until(lambda: moment(fleet), "the moment")
    killed.send(signal.SIGKILL).process.wait()
    code, _, err = fleet("resume", "q4", "--yes").finish()
    items = fleet.items().values()
    assert (code, {each.state for each in items}) == (0, {DONE}), err
    assert fleet.complete_runs() == Counter(fleet.databases)
    kept = fleet.opened.list()
    assert len(kept) == HOSTS
    assert {each.run_id for each in items} == {run.run_id for run in kept}
    assert fleet.leftovers() == 0


@contextmanager
def site_cluster(folder: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler as a site has it, with two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    nowhere = "127.0.0.1:0"
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=nowhere
    ) as cluster:
        program = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        program += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(folder)]
        workers = [
            subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)
        ]  # fmt: skip
        try:
            yield cluster.scheduler_address, workers
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


def test_a_killed_worker_of_a_cluster_costs_no_measurement_and_repeats_none(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its measurement goes on, is waited for, and is stored once; Dask gives its task to the other worker."""
    monkeypatch.setenv("DBCPU_STORE", fleet.store)
    monkeypatch.setenv(PASSWORD, make_url(fleet.server_url("x")).password or "")
    monkeypatch.setenv("DBCPU_SETTLE_S", "0")
    with site_cluster(tmp_path) as (address, workers):
        running = fleet.begin(*LONG[:2], "--for", "3s", *LONG[4:], "--scheduler", address)
        until(lambda: started(fleet) and fleet.under_way(), "a target is measured")
        first = fleet.under_way()[0]
        until(lambda: fleet.opened.campaigns.run_of("q4", first), "its run is kept")
        # Held until its worker's end has come through: by itself it might be over before.
        os.kill(first.process.pid, signal.SIGSTOP)
        next(each for each in workers if first.process.pid in children(each.pid)).kill()
        running.said(f"{first.target}: its station was lost; process {first.pid} goes on, and is waited for")
        os.kill(first.process.pid, signal.SIGCONT)
        code, _, err = running.finish()
    assert (code, {each.state for each in fleet.items().values()}) == (0, {DONE}), err
    assert fleet.complete_runs() == Counter(fleet.databases)
    assert fleet.items()[first.target].pid == first.pid
    assert fleet.leftovers() == 0


def test_a_cluster_without_a_worker_is_said_and_one_signal_ends_the_wait(fleet: Fleet, tmp_path: Path) -> None:
    with site_cluster(tmp_path) as (address, workers):
        for each in workers:
            each.kill()
            each.wait()
        running = fleet.begin(*QUICK, "--scheduler", address).said("the scheduler has no worker; waiting for one")
        code, _, err = running.send(signal.SIGTERM).finish()
    assert (code, {each.state for each in fleet.items().values()}) == (130, {PLANNED}), err


@pytest.mark.parametrize("scheduler", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1", "foo"])
def test_a_scheduler_that_cannot_be_reached_leaves_no_campaign(fleet: Fleet, scheduler: str) -> None:
    code, _, err = fleet.begin(*QUICK, "--scheduler", scheduler).finish()
    assert code in (2, 3), err
    assert fleet.opened.campaigns.names() == ()


def test_a_killed_measurement_is_partial_and_is_not_repeated(fleet: Fleet) -> None:
    running = fleet.begin(*LONG[:2], "--for", "2s", *LONG[4:])
    until(fleet.under_way, "a target is measured")
    item = fleet.under_way()[0]
    until(lambda: fleet.opened.campaigns.run_of("q4", item), "its run is kept")
    assert not driver_process.is_gone(item.process)
    signal.pidfd_send_signal(os.pidfd_open(item.process.pid), signal.SIGKILL)
    running.finish()
    found = fleet.items()
    assert (found[item.target].state, found[item.target].why) == (PARTIAL, "its process was ended by signal 9")
    assert fleet("resume", "q4", "--yes").finish()[0] == 3
    assert fleet.complete_runs()[item.target] == 0
    until(lambda: fleet.leftovers() == 0, "the guard ended its sessions")


def test_where_the_store_is_gone_runs_are_spooled_and_delivered_once(
    fleet: Fleet, drive: Drive, tmp_path: Path
) -> None:
    fleet.store = str(tmp_path / "central.db")
    running = fleet.begin(*LONG[:2], "--for", "3s", *LONG[4:])
    until(lambda: Path(fleet.store).exists() and started(fleet) and fleet.under_way(), "a target is measured")
    away = tmp_path / "away"
    away.mkdir()
    # A folder cannot be opened as a store; what was open stays so only for a statement.
    for name in ("central.db", "central.db-wal", "central.db-shm"):
        if (tmp_path / name).exists():
            (tmp_path / name).rename(away / name)
    Path(fleet.store).mkdir()
    running.finish()
    assert list(campaign_folder("q4").glob("*.db")), running.err
    Path(fleet.store).rmdir()
    for file in away.iterdir():
        file.rename(tmp_path / file.name)
    assert fleet("sync", "q4").finish()[0] == 0
    delivered = fleet.complete_runs()
    assert delivered
    assert max(delivered.values()) == 1
    assert not list(campaign_folder("q4").glob("*.db"))
    assert "nothing to deliver" in fleet("sync", "q4").finish()[1]
    fleet("resume", "q4", "--failed", "--yes").finish()
    assert fleet.complete_runs() == Counter(fleet.databases)


def listening(pid: int) -> list[tuple[str, int]]:
    """Addresses and ports that a process accepts connections on. Source: proc_pid_net(5), state 0A is LISTEN"""
    own = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                address, port = fields[1].split(":")
                raw = bytes.fromhex(address)[::-1]
                found.append((socket.inet_ntoa(raw) if len(raw) == 4 else address, int(port, 16)))
    return found
