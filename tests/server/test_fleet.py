"""A campaign over real databases: each target ends in its right state, and is measured once whatever is killed."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from dbcpu.hosts import driver_process
from dbcpu.hosts.shell_routes import transport_of
from dbcpu.store.campaigns import DONE, PARTIAL, REFUSED, RUNNING, Item
from dbcpu.store.database import open_store, upgrade_store
from dbcpu.workflows.fleet.outcome import campaign_folder
from support.doubles.container_clients import client
from support.driving import Drive, Driver, children, until
from support.servers.far_host import FarHost
from support.servers.postgresql import connect, free_port
from support.servers.ssh import Sshd

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

HOSTS = int(os.environ.get("DBCPU_FLEET_HOSTS", "3"))
QUICK = (
    "--sessions",
    "1",
    "--size",
    "tiny",
    "--executions",
    "4",
    "--repeats",
    "1",
    "--sampler",
    "none",
    "--pace",
    "off",
)
LONG = ("--sessions", "1", "--for", "1h", "--repeats", "1", "--sampler", "none", "--pace", "off")
PASSWORD = "FLEET_PASSWORD"


class Fleet:
    """Databases of one server, a store on the same, and an inventory of all of them."""

    def __init__(self, folder: Path, drive: Drive, server: str, databases: Sequence[str], store: str) -> None:
        self.file, self._drive, self._server, self.databases, self.store = (
            folder / "fleet.toml", drive, make_url(server), databases, store,
        )  # fmt: skip
        self._file_text = ""
        for database in databases:
            self.add(database, self.url(database), group=database)  # of one host: else they would take turns

    def url(self, database: str, user: str | None = None) -> str:
        server = self._server
        return f"postgresql://{user or server.username}@{server.host}:{server.port}/{database}"

    def server_url(self, database: str) -> str:
        return self._server.set(database=database).render_as_string(hide_password=False)

    def empty(self) -> None:
        """An inventory without targets."""
        self._file_text = ""

    def add(self, name: str, url: str, **more: str) -> None:
        lines = (f'{key} = "{value}"' for key, value in ({"url": url, "password_env": PASSWORD} | more).items())
        self._file_text += f"[targets.{name}]\n" + "\n".join(lines) + "\n"
        self.file.write_text(self._file_text)

    def __call__(self, *arguments: str) -> Driver:
        secret = {PASSWORD: self._server.password or ""}
        return self._drive("fleet", *arguments, limit_bytes=None, DBCPU_STORE=self.store, DBCPU_SETTLE_S="0", **secret)

    def begin(self, *options: str) -> Driver:
        return self(
            "run", str(self.file), "--campaign", "q4", "--at-once", "2", "--failures", "100%", "--yes", *options
        )

    def items(self) -> dict[str, Item]:
        with open_store(self.store) as store:
            return {each.target: each for each in store.campaigns.items("q4")}

    def complete_runs(self) -> Counter[str]:
        with open_store(self.store) as store:
            return Counter(run.target for run in store.list() if run.status == "complete")

    def under_way(self) -> list[Item]:
        return [each for each in self.items().values() if each.state == RUNNING and each.pid is not None]

    def leftovers(self) -> int:
        with connect(self._server.render_as_string(hide_password=False)) as connection:
            found = connection.execute(
                "select count(*) from pg_stat_activity where datname = any(%s)", [list(self.databases)]
            ).fetchone()
        assert found is not None
        return int(found[0])


@pytest.fixture
def fleet(
    drive: Drive, tmp_path: Path, postgres_url: str, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = [f"fleet_{tmp_path.name[-12:].replace('-', '_')}_{at}".lower() for at in range(HOSTS)]
    with connect(postgres_url) as connection:
        for name in names:
            connection.execute(f'create database "{name}"')
    upgrade_store(postgres_database)
    try:
        yield Fleet(tmp_path, drive, postgres_url, names, postgres_database)
    finally:
        with connect(postgres_url) as connection:
            for name in names:
                connection.execute(f'drop database "{name}" with (force)')


@contextmanager
def other_dbcpu_measures(fleet: Fleet, database: str) -> Iterator[None]:
    """Its lock is taken, and given back: that of a closed connection can last a moment."""
    with connect(fleet.server_url(database)) as other:
        other.execute("select pg_advisory_lock(1684169584, 0)")
        yield
        other.execute("select pg_advisory_unlock(1684169584, 0)")


def test_every_target_ends_in_its_right_state_and_the_others_go_on(
    fleet: Fleet, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = f"nobody_{fleet.databases[0]}"
    monkeypatch.setenv("WHO_MAY_NOT", "x")
    with connect(fleet.server_url("postgres")) as connection:
        connection.execute(f"create role {nobody} login password 'x'")
        connection.execute(f"revoke connect on database {fleet.databases[1]} from public")
    (tmp_path / "nothing").write_text("")
    sshd.knows("stranger", UserKnownHostsFile=str(tmp_path / "nothing"))
    fleet.add("closed", f"postgresql://nobody@127.0.0.1:{free_port()}/x")
    fleet.add("no-login", fleet.url(fleet.databases[0], "nobody-of-that-name"))
    fleet.add("no-right", fleet.url(fleet.databases[1], nobody), password_env="WHO_MAY_NOT", group="nobody")
    fleet.add("no-secret", fleet.url(fleet.databases[0]), password_env="NOBODY_SET_THIS")
    fleet.add("stranger", fleet.url("postgres"), host="ssh:stranger")
    taken, *free = fleet.databases
    with other_dbcpu_measures(fleet, taken):
        code, out, err = fleet.begin(*QUICK[:-4]).finish()
    items = fleet.items()
    assert code == 3
    assert {name: items[name].state for name in free} == dict.fromkeys(free, DONE), err
    assert fleet.complete_runs() == Counter(free)
    said = {
        taken: "is taken by", "closed": "Connection refused", "no-login": "nobody-of-that-name",
        "no-secret": "the environment has no NOBODY_SET_THIS", "stranger": "host key",
        "no-right": "permission denied for database",
    }  # fmt: skip
    for name, words in said.items():
        assert (items[name].state, words in items[name].why) == (REFUSED, True), items[name]
    assert "2 done, 6 refused" in out
    assert fleet.leftovers() == 0
    assert not list(campaign_folder("q4").iterdir())
    assert fleet("resume", "q4", "--failed", "--yes").finish()[0] == 3
    assert fleet.complete_runs() == Counter(fleet.databases)
    with connect(fleet.server_url("postgres")) as connection:
        connection.execute(f"drop role {nobody}")


@pytest.fixture
def own_sshds(fleet: Fleet, sshd: Sshd, tmp_path: Path) -> Iterator[dict[str, Sshd]]:
    """A server for each target, which all are watched over; those that fail have no database of their own."""
    servers: dict[str, Sshd] = {}
    fleet.empty()
    try:
        for name in (*fleet.databases, "closed", "silent", "changed", "no-login"):
            (tmp_path / f"sshd-{name}").mkdir()
            servers[name] = own = Sshd(tmp_path / f"sshd-{name}")
            own.start()
            sshd.knows(
                name, Port=str(own.port), IdentityFile=f"{own.folder}/user_key",
                UserKnownHostsFile=f"{own.folder}/known_hosts",
            )  # fmt: skip
            database = name if name in fleet.databases else "postgres"
            fleet.add(name, fleet.url(database), host=f"ssh:{name}", group=database)
        yield servers
    finally:
        for own in servers.values():
            own.resume()
            own.stop()


def test_hosts_over_ssh_fail_each_in_its_own_way_and_the_others_are_measured_once(
    fleet: Fleet, own_sshds: dict[str, Sshd]
) -> None:
    """DBCPU_FLEET_HOSTS=50 has that many servers."""
    own_sshds["closed"].stop()
    own_sshds["silent"].suspend()
    foreign = (own_sshds["closed"].folder / "host_key.pub").read_text()
    changed = own_sshds["changed"]
    (changed.folder / "known_hosts").write_text(f"[127.0.0.1]:{changed.port} {foreign}")
    own_sshds["no-login"].refuse()
    taken, *free = fleet.databases
    killed: list[str] = []
    options = ("--sessions", "1", "--for", "1s", "--repeats", "1", "--at-once", "4")

    def one_is_killed() -> bool:
        killed.extend(filter(None, [killed_amid_its_run(fleet)]))
        return bool(killed)

    with other_dbcpu_measures(fleet, taken):
        running = fleet.begin(*options)
        until(one_is_killed, "one is killed amid its run")
        code, _, err = running.finish()
    items = fleet.items()
    assert code == 3
    said = {
        taken: "is taken by", "closed": "nothing takes ssh connections", "silent": "did not answer",
        "changed": "its host key is not the one", "no-login": "it refused the login",
    }  # fmt: skip
    assert {name: items[name].state for name in said} == dict.fromkeys(said, REFUSED), err
    for name, words in said.items():
        assert words in items[name].why, items[name]
    assert items[killed[0]].state == PARTIAL
    assert fleet.complete_runs() == Counter(set(free) - set(killed))
    until(lambda: fleet.leftovers() == 0, "no session is left")
    own_sshds["silent"].resume()
    assert fleet("resume", "q4", "--failed", "--yes", "--failures", "100%").finish()[0] == 3
    assert fleet.complete_runs() == Counter([*fleet.databases, "silent"])


def killed_amid_its_run(fleet: Fleet) -> str:
    """A measurement is stopped, and killed if its run is kept and not complete; else it goes on. '' for none."""
    with open_store(fleet.store) as store:
        for item in fleet.under_way():
            try:
                process = os.pidfd_open(item.process.pid)
            except ProcessLookupError:
                continue
            try:
                signal.pidfd_send_signal(process, signal.SIGSTOP)
                run = store.campaigns.run_of("q4", item)
                amid = item.target in fleet.databases and run is not None and run[1] == "running"
                signal.pidfd_send_signal(process, signal.SIGKILL if amid else signal.SIGCONT)
            except ProcessLookupError:
                continue
            finally:
                os.close(process)
            if amid:
                return item.target
    return ""


def test_hosts_are_reached_through_containers_and_commands_only_where_that_is_allowed(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign comes from a store: whoever writes there must not be able to start programs."""
    program, *expected = transport_of("docker:db").argv
    folder = client(tmp_path / "clients", program, expected)
    client(folder, "kubectl", transport_of("k8s:prod/gone").argv[1:], told='pods "gone" not found (NotFound)')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    fleet.file.write_text("")
    first = fleet.databases[0]
    fleet.add("in-docker", fleet.url(first), host="docker:db", group="one")
    fleet.add("gone", fleet.url(first), host="k8s:prod/gone", group="one")
    fleet.add("option", fleet.url(first), host="k8s:prod/--kubeconfig", group="one")
    fleet.add("by-command", fleet.url(first), host="exec:sh -s", group="one")
    code, _, err = fleet.begin(*QUICK[:-4], "--select", "group=one").finish()
    items = fleet.items()
    assert code == 3
    assert {name: each.state for name, each in items.items()} == {
        "in-docker": DONE, "gone": REFUSED, "option": REFUSED, "by-command": REFUSED,
    }, err  # fmt: skip
    assert "no such pod in its namespace" in items["gone"].why
    assert "is no pod; write k8s:" in items["option"].why
    assert "DBCPU_FLEET_EXEC=yes" in items["by-command"].why
    code, said, _ = fleet("check", str(fleet.file), "--select", "name=by-command").finish()
    assert (code, "DBCPU_FLEET_EXEC=yes" in said) == (3, True)
    monkeypatch.setenv("DBCPU_FLEET_EXEC", "yes")
    fleet("resume", "q4", "--failed", "--yes").finish()
    if fleet.items()["by-command"].state != DONE:  # the others failed first, and one failure is accepted
        fleet("resume", "q4", "--yes").finish()
    assert fleet.items()["by-command"].state == DONE


def test_what_is_not_reached_from_here_is_measured_from_there_or_by_the_kit_each_once(
    fleet: Fleet, sshd: Sshd, tmp_path: Path
) -> None:
    """Chosen by fleet check, written down, and the driver is killed meanwhile."""
    secret = make_url(fleet.server_url("x")).password or ""
    far = FarHost(sshd, f"far-{tmp_path.name}", tmp_path / "far", {"FAR": secret})
    fleet.empty()
    first, second, third, *_ = fleet.databases
    fleet.add("here", fleet.url(first), group="a")
    keys = {"password_env": "FAR", "host": f"ssh:{far.name}"}
    fleet.add("there", fleet.url(second), group="b", program=str(far.program), **keys)
    fleet.add("kit", fleet.url(third), group="c", program="/nowhere/dbcpu", **keys)
    written = tmp_path / "checked.toml"
    code, out, err = fleet("check", str(fleet.file), "--write", str(written)).finish()
    assert code in (0, 1), err
    assert "there: can be measured from there; from here: " in out
    assert "measured from: here 1, there 1, shell-kit 1" in out
    fleet.file = written
    options = ("--sessions", "1", "--size", "tiny", "--executions", "4", "--repeats", "1")
    assert "1 by the dbcpu there and 1 by the shell kit there" in fleet.begin("--dry-run", *options).finish()[1]
    killed = fleet.begin(*options)
    killed.until(lambda: started(fleet) and any(each.target != "here" for each in fleet.under_way()), "one from there")
    killed.send(signal.SIGKILL).process.wait()
    code, _, err = fleet("resume", "q4", "--yes").finish()
    assert (code, {each.state for each in fleet.items().values()}) == (0, {DONE}), err
    assert fleet.complete_runs() == Counter(["here", "there", "kit"])
    until(far.is_clean, "nothing is left there")
    assert fleet.leftovers() == 0


def test_ctrl_c_twice_cancels_all_and_nothing_was_open_to_others_meanwhile(fleet: Fleet) -> None:
    secret = make_url(fleet.store).password or ""
    running = fleet.begin(*LONG)
    until(fleet.under_way, "a target is measured")
    for pid in (running.process.pid, fleet.under_way()[0].process.pid):
        assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    with open_store(fleet.store) as store:
        assert secret not in str(store.campaigns.load("q4"))
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
    with open_store(fleet.store) as store:
        assert len(store.list()) == HOSTS
        assert {each.run_id for each in items} == {run.run_id for run in store.list()}
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
    """Its measurement goes on, is taken up, and is stored once; Dask gives its task to the other worker."""
    monkeypatch.setenv("DBCPU_STORE", fleet.store)
    monkeypatch.setenv(PASSWORD, make_url(fleet.server_url("x")).password or "")
    monkeypatch.setenv("DBCPU_SETTLE_S", "0")
    with site_cluster(tmp_path) as (address, workers):
        running = fleet.begin(*LONG[:2], "--for", "3s", *LONG[4:], "--scheduler", address)
        until(lambda: started(fleet) and fleet.under_way(), "a target is measured")
        first = fleet.under_way()[0]
        with open_store(fleet.store) as store:
            until(lambda: store.campaigns.run_of("q4", first), "its run is kept")
        next(each for each in workers if first.process.pid in children(each.pid)).kill()
        running.said(f"{first.target}: unknown: it was begun already")
        running.send(signal.SIGINT).finish()
    code, _, err = fleet("resume", "q4", "--yes").finish()
    assert (code, {each.state for each in fleet.items().values()}) == (0, {DONE}), err
    assert fleet.complete_runs() == Counter(fleet.databases)
    assert fleet.items()[first.target].pid == first.pid
    assert fleet.leftovers() == 0


SIMULATED = int(os.environ.get("DBCPU_FLEET_SIMULATED", "4"))
"""1,000 take a quarter of an hour."""


def test_simulated_hosts_go_the_same_way_and_are_resumed_after_half(fleet: Fleet) -> None:
    fleet.empty()
    names = [f"sim-{at}" for at in range(SIMULATED)]
    for at, name in enumerate(names):
        fleet.add(name, f"simulated://this-vm?seed={at}")
    options = ("--sessions", "1,2", "--size", "tiny", "--repeats", "2")
    killed = fleet.begin(*options)
    until(lambda: started(fleet), "the campaign is there")
    killed.until(lambda: sum(fleet.complete_runs().values()) >= SIMULATED // 2, "half of them are done")
    killed.send(signal.SIGKILL).process.wait()
    code, _, err = fleet("resume", "q4", "--yes").finish()
    assert (code, {each.state for each in fleet.items().values()}) == (0, {DONE}), err
    with open_store(fleet.store) as store:
        assert Counter(run.label for run in store.list()) == Counter(f"q4/{name}" for name in names)


def started(fleet: Fleet) -> bool:
    with open_store(fleet.store) as store:
        return "q4" in store.campaigns.names()


def test_a_killed_measurement_is_partial_and_is_not_repeated(fleet: Fleet) -> None:
    running = fleet.begin(*LONG[:2], "--for", "2s", *LONG[4:])
    until(fleet.under_way, "a target is measured")
    item = fleet.under_way()[0]
    with open_store(fleet.store) as store:
        until(lambda: store.campaigns.run_of("q4", item), "its run is kept")
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
