"""Which host is looked at: the order of the ways, and the reasons that are given."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec import Struct

from dbcpu.errors import HostError, MeasureError, UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.measure import host_access
from dbcpu.measure.host_access import AccessChoice, AccessRequest, access_request, choose_access, kit_pids_on
from dbcpu.measure.rounds import own_pids
from dbcpu.measure.samplers.base import load_sampler
from support.doubles.remote_host import FakeRemote
from support.doubles.target import WORK, FakeTarget

HERE = LocalHost()


class SqlTarget(FakeTarget):
    """One that reads files of its host for us, or says why not."""

    def __init__(self, here: Host | None, sql: FakeRemote | str) -> None:
        super().__init__(private=False)
        self._here, self._sql = here, sql

    def host(self) -> Host | None:
        return self._here

    def files_host(self) -> tuple[FakeRemote | None, str]:
        return (None, self._sql) if isinstance(self._sql, str) else (self._sql, "pg_read_binary_file")


class World(Struct, dict=True):
    """On which hosts the server process is found, what ssh does, and which hosts were dialled."""

    found: list[str]
    dialled: list[str]
    choose: Callable[[FakeTarget, AccessRequest], AccessChoice]
    ssh_error: str = ""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        guard = Guard()

        def dial(route: str) -> FakeRemote:
            made.dialled.append(route)
            if made.ssh_error:
                raise HostError(made.ssh_error)
            host = FakeRemote(tmp_path)
            host.name = route
            return host

        def refusal(target: object, host: Host, work: object, clock_ticks: int) -> str:
            return "" if host.name in made.found else f"no such process on {host.name}"

        made = World([], [], lambda target, requested: choose_access(target, requested, WORK, 100, stack, guard))
        monkeypatch.setattr("dbcpu.hosts.shell_routes.open_route", dial)
        monkeypatch.setattr(host_access, "refusal", refusal)
        yield made


def remote(tmp_path: Path) -> FakeRemote:
    return FakeRemote(tmp_path, "sql")


def test_wish_is_the_command_lines_before_the_files() -> None:
    assert access_request(None, None) == AccessRequest("auto", required=False)
    assert access_request(None, "ssh:db1") == AccessRequest("ssh:db1", required=False)
    assert access_request("none", "ssh:db1") == AccessRequest("none", required=True)
    assert access_request("auto", "ssh:db1") == AccessRequest("auto", required=False)
    for wrong in ("db1", "ssh", "SQL", ""):
        if wrong:
            with pytest.raises(UsageError, match=r"is unknown; use one of auto, local, sql, none, ssh:"):
                access_request(wrong, None)


@pytest.mark.parametrize("sampler", ["procfs", "ssh", "container", "sql", "trace"])
def test_a_sampler_without_a_host_to_watch_is_refused(sampler: str) -> None:
    """By its true reason: nobody said that the database runs on another machine."""
    for given, configured in (("none", None), (None, "none")):
        if given or load_sampler(sampler).host_route(configured) in (None, "none"):
            with pytest.raises(UsageError, match=f"^--sampler {sampler} watches a host, and host none is requested; "):
                access_request(given, configured, sampler)


def test_a_named_sampler_brings_its_route() -> None:
    assert access_request(None, "ssh:db1", "ssh") == AccessRequest("ssh:db1", required=True)
    assert access_request(None, "ssh:db1", "sql") == AccessRequest("sql", required=True)
    assert access_request(None, "none", "sql") == AccessRequest("sql", required=True)
    assert access_request("none", None, "none") == AccessRequest("none", required=True)


def test_this_machine_comes_first_when_the_process_is_found_here(world: World, tmp_path: Path) -> None:
    world.found = ["local", "sql:fake", "ssh:db1"]
    for requested in (AccessRequest(), AccessRequest("ssh:db1")):
        choice = world.choose(SqlTarget(HERE, remote(tmp_path)), requested)
        assert choice.host is HERE
        assert "this machine" in choice.why
    assert world.dialled == []


def test_ssh_is_never_dialled_unasked(world: World) -> None:
    choice = world.choose(SqlTarget(None, "user bench may not"), AccessRequest())
    assert choice == AccessChoice(
        None, "the database runs on another machine; user bench may not; no --host ssh:NAME is given"
    )
    assert world.dialled == []


def test_container_on_this_machine_is_read_through_the_database(world: World, tmp_path: Path) -> None:
    world.found = ["sql:fake"]
    choice = world.choose(SqlTarget(HERE, remote(tmp_path)), AccessRequest())
    assert choice.host is not None
    assert choice.why == "through the database by pg_read_binary_file (no such process on local)"


def test_configured_ssh_comes_before_sql_and_sql_before_nothing(world: World, tmp_path: Path) -> None:
    world.found = ["ssh:db1", "sql:fake"]
    target = SqlTarget(None, remote(tmp_path))
    assert world.choose(target, AccessRequest("ssh:db1")).why.startswith("over ssh from db1")
    world.ssh_error = "ssh:db1 cannot be reached: it refused the login"
    choice = world.choose(target, AccessRequest("ssh:db1"))
    assert choice.host is not None
    assert "through the database" in choice.why
    assert "it refused the login" in choice.why
    choice = world.choose(SqlTarget(None, "may not"), AccessRequest("ssh:db1"))
    assert choice.host is None
    assert "it refused the login; may not" in choice.why
    assert "no --host" not in choice.why


def test_wrong_host_is_refused_however_well_it_answers(world: World) -> None:
    choice = world.choose(FakeTarget(), AccessRequest("ssh:db2"))
    assert choice.host is None
    assert "no such process on ssh:db2" in choice.why


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("ssh:db1", "it refused the login"),
        ("sql", "user bench may not"),
        ("local", "no such process on local"),
    ],
)
def test_what_is_insisted_on_works_or_ends_the_run(world: World, way: str, why: str) -> None:
    world.ssh_error = "ssh:db1 cannot be reached: it refused the login"
    with pytest.raises(MeasureError, match=rf"^--host {way} does not work: .*{why}"):
        world.choose(SqlTarget(HERE, "user bench may not"), AccessRequest(way, required=True))


def test_insisting_passes_over_this_machine(world: World, tmp_path: Path) -> None:
    world.found = ["local", "ssh:db1", "sql:fake"]
    target = SqlTarget(HERE, remote(tmp_path))
    for way, name in (("ssh:db1", "ssh:db1"), ("sql", "sql:fake")):
        choice = world.choose(target, AccessRequest(way, required=True))
        assert choice.host is not None
        assert choice.host.name == name


def test_sql_is_refused_where_the_database_reads_no_files(world: World) -> None:
    with pytest.raises(UsageError, match="--host sql does not work with"):
        world.choose(FakeTarget(), AccessRequest("sql", required=True))


def test_nothing_is_looked_at_when_asked_for(world: World, tmp_path: Path) -> None:
    choice = world.choose(SqlTarget(HERE, remote(tmp_path)), AccessRequest("none", required=True))
    assert choice == AccessChoice(None, "requested by --host none")


def test_kits_processes_are_known_on_the_host_where_they_are(tmp_path: Path) -> None:
    own = own_pids(7)
    assert kit_pids_on(None, own) == own
    assert kit_pids_on(HERE, own) == own
    elsewhere = FakeRemote(tmp_path)
    assert kit_pids_on(elsewhere, own) == (60,)
    after_all_here = FakeRemote(Path("/"))
    assert kit_pids_on(after_all_here, own) == (60, *own)
