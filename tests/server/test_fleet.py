"""A campaign over real databases: each target ends in its right state, and the others are measured once."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from dbcpu.hosts.shell_routes import transport_of
from dbcpu.store.campaigns import DONE, PARTIAL, REFUSED
from dbcpu.workflows.fleet.outcome import campaign_folder
from support.campaigning import QUICK, Fleet, started
from support.doubles.container_clients import client
from support.driving import until
from support.servers.far_host import FarHost
from support.servers.postgresql import connect, free_port
from support.servers.ssh import Sshd

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@contextmanager
def other_dbcpu_measures(fleet: Fleet, database: str) -> Iterator[None]:
    """Its lock is taken, and given back: that of a closed connection can last a moment."""
    with connect(fleet.server_url(database)) as other:
        other.execute("select pg_advisory_lock(1684169584, 0)")
        yield
        other.execute("select pg_advisory_unlock(1684169584, 0)")


@pytest.fixture
def nobody(fleet: Fleet) -> Iterator[str]:
    """A role that may not connect to the second database, which other tests have afterwards."""
    with connect(fleet.server_url("postgres")) as connection:
        connection.execute("create role fleet_nobody login password 'x'")
        connection.execute(f"revoke connect on database {fleet.databases[1]} from public")
    yield "fleet_nobody"
    with connect(fleet.server_url("postgres")) as connection:
        connection.execute(f"grant connect on database {fleet.databases[1]} to public")
        connection.execute("drop role fleet_nobody")


def test_every_target_ends_in_its_right_state_and_the_others_go_on(
    fleet: Fleet, nobody: str, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO_MAY_NOT", "x")
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
    options = ("--sessions", "1", "--for", "1s", "--repeats", "1", "--size", "tiny", "--at-once", "4")

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
    for item in fleet.under_way():
        try:
            process = os.pidfd_open(item.process.pid)
        except ProcessLookupError:
            continue
        try:
            signal.pidfd_send_signal(process, signal.SIGSTOP)
            run = fleet.opened.campaigns.run_of("q4", item)
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
    assert Counter(run.label for run in fleet.opened.list()) == Counter(f"q4/{name}" for name in names)
