"""Thick mode: Oracle's client libraries resolve the name, and get it as it was given."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import ConnectError, DbcpuError, ServerError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import load_target
from dbcpu.targets.oracle.target import OracleTarget
from plugins.call import Call
from support.doubles.oracle.client_library import ClientLibrary
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import SECRETS

TICKS = os.sysconf("SC_CLK_TCK")
PASSWORD = SECRETS[0]
Install = Callable[..., ClientLibrary]


@pytest.fixture(scope="module")
def double() -> Iterator[OracleDouble]:
    with OracleDouble(password=PASSWORD) as running:
        yield running


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Client libraries whose home is ``tmp_path``."""
    monkeypatch.delenv("TNS_ADMIN", raising=False)

    def made(**given: object) -> ClientLibrary:
        library = ClientLibrary(tmp_path, **given)  # type: ignore[arg-type]
        library.install(monkeypatch)
        return library

    return made


@pytest.fixture
def admin(tmp_path: Path) -> Path:
    """Where the libraries look for their files when nothing is said."""
    folder = tmp_path / "network" / "admin"
    folder.mkdir(parents=True)
    return folder


def descriptor(double: OracleDouble, more: str = "") -> str:
    return (
        f"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={double.port}))"
        f"(CONNECT_DATA=(SERVICE_NAME=doublepdb){more}))"
    )


def target(url: str) -> OracleTarget:
    opened = load_target("oracle").open_target(resolve(url, lambda _: None), Guard())
    assert isinstance(opened, OracleTarget)
    return opened


def test_a_password_store_finds_its_key(double: OracleDouble, admin: Path, install: Install, call: Call) -> None:
    (admin / "tnsnames.ora").write_text(f"SEPS = {descriptor(double)}\n")
    library = install(store={"SEPS": (double.user, PASSWORD)})
    code, out, err = call("doctor", "oracle+oracledb://@SEPS")
    assert code == 0, err
    assert "service doublepdb" in out
    code, out, err = call("run", "oracle+oracledb://@SEPS", "--sessions", "1,2", "--size", "tiny", "--yes",
                          "--executions", "2", "--repeats", "1")  # fmt: skip
    assert code in (0, 1), err
    assert set(library.received) == {"SEPS"}
    assert "thick" in call.last().header.database.driver


def test_another_spelling_than_that_of_the_store_is_a_logon_that_fails(double: OracleDouble, install: Install) -> None:
    install(store={"SEPS": (double.user, PASSWORD)})
    with pytest.raises(ConnectError, match="in a password store the key is the connect string to the letter"):
        target("oracle+oracledb://@seps").__enter__()


def test_an_easy_connect_string_is_a_key_too(double: OracleDouble, install: Install) -> None:
    library = install(store={double.dsn: (double.user, PASSWORD)})
    with target(f"oracle+oracledb://@?dsn={double.dsn}") as opened:
        assert opened.describe().parameters["service_name"] == "doublepdb"
    assert library.received == [double.dsn]


@pytest.mark.parametrize("where", ["ORCL", "orcl.world"])
def test_a_default_domain_is_that_of_the_libraries(
    where: str, double: OracleDouble, admin: Path, install: Install
) -> None:
    (admin / "tnsnames.ora").write_text(f"ORCL.WORLD = {descriptor(double)}\n")
    (admin / "sqlnet.ora").write_text("NAMES.DEFAULT_DOMAIN = world\n")
    install()
    with target(f"oracle+oracledb://{double.user}:{PASSWORD}@{where}?thick=1") as opened:
        assert opened.describe().parameters["service_name"] == "doublepdb"


def test_a_name_of_a_directory_is_found_by_url_and_by_two_task(
    double: OracleDouble, tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sqlnet.ora").write_text("NAMES.DIRECTORY_PATH = (LDAP, TNSNAMES)\n")
    library = install(directory={"LDAPNAME": descriptor(double)}, store={"LDAPNAME": (double.user, PASSWORD)})
    monkeypatch.setenv("TWO_TASK", "LDAPNAME")
    for url in (f"oracle+oracledb://{double.user}:{PASSWORD}@LDAPNAME?thick=1&config_dir={tmp_path}", "oracle"):
        monkeypatch.setenv("TNS_ADMIN", str(tmp_path))
        with target(url) as opened:
            assert opened.describe().parameters["service_name"] == "doublepdb"
    assert library.received == ["LDAPNAME"] * 2


def test_a_name_that_nothing_resolves_is_named_with_what_to_look_at(double: OracleDouble, install: Install) -> None:
    install()
    with pytest.raises(ConnectError, match=r"^NOWHERE: ORA-12154.*NAMES\.DIRECTORY_PATH") as caught:
        target(f"oracle+oracledb://{double.user}:{PASSWORD}@NOWHERE?thick=1").__enter__()
    assert PASSWORD not in str(caught.value)


def test_host_and_service_become_a_descriptor_with_a_dedicated_server(double: OracleDouble, install: Install) -> None:
    library = install()
    with target(f"{double.url}&thick=1") as opened:
        opened.connect(0, 20.0).close()
    assert len(library.received) == 2
    assert all("(SERVER=dedicated)" in str(each) for each in library.received)


# --- what cannot be added to a name is looked at afterwards


def test_a_shared_server_behind_a_name_is_refused(admin: Path, install: Install) -> None:
    with OracleDouble(password=PASSWORD, faults=Faults(server="SHARED")) as double:
        (admin / "tnsnames.ora").write_text(f"BENCH = {descriptor(double)}\n")
        install()
        with target(f"oracle+oracledb://{double.user}:{PASSWORD}@BENCH?thick=1") as opened:
            session = opened.connect(0, 20.0)
            with pytest.raises(ServerError, match=r"write \(SERVER=DEDICATED\) into its CONNECT_DATA"):
                session.identify()
            session.close()


@pytest.mark.parametrize("named", [False, True])
def test_sessions_on_another_instance_are_refused_where_the_name_has_none(
    named: bool, admin: Path, install: Install
) -> None:
    tiny = workloads.load("oracle", "cartesian").work("tiny")
    with OracleDouble(password=PASSWORD, instance=Instance(instances=2)) as double:
        more = "(INSTANCE_NAME=DOUBLE2)" if named else ""
        (admin / "tnsnames.ora").write_text(f"RAC = {descriptor(double, more)}\n")
        install()
        with target(f"oracle+oracledb://{double.user}:{PASSWORD}@RAC?thick=1") as opened, \
                SessionGate(opened, opened.host(), TICKS) as gate:  # fmt: skip
            if not named:
                with pytest.raises(DbcpuError, match=r"came to instance DOUBLE2, .*\(INSTANCE_NAME=DOUBLE1\) in the"):
                    gate.gather(4, tiny)
                return
            gate.gather(4, tiny)
            assert {entry["instance"] for entry in double.sessions()} == {2}


# --- signals


def test_ctrl_c_still_comes_to_dbcpu_once_the_libraries_have_connected(double: OracleDouble, install: Install) -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    install(catches=True)
    try:
        with target(f"{double.url}&thick=1") as opened:
            os.kill(os.getpid(), signal.SIGINT)
            assert caught == [signal.SIGINT], "after the control connection"
            with SessionGate(opened, opened.host(), TICKS) as gate:
                gate.gather(2, workloads.load("oracle", "cartesian").work("tiny"))
                gate.release(1, None, 60.0)
                os.kill(os.getpid(), signal.SIGINT)
                assert caught == [signal.SIGINT] * 2, "after sessions that threads have connected"
    finally:
        signal.signal(signal.SIGINT, before)
