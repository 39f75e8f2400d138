"""Every way to reach an Oracle database that can be played here: TLS, wallets, aliases, failover, SIDs, instances."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import oracledb
import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import ConnectError, DbcpuError, UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import load_target
from dbcpu.targets.oracle.target import OracleTarget
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.profiles import Instance
from support.doubles.oracle.tls import Authority, TlsFront
from support.driving import SECRETS, Drive

TICKS = os.sysconf("SC_CLK_TCK")
TINY = workloads.load("oracle", "cartesian").work("tiny")
PASSWORD = SECRETS[0]


@pytest.fixture(scope="module")
def double() -> Iterator[OracleDouble]:
    with OracleDouble(password=PASSWORD, users={"app": "another"}) as running:
        yield running


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def target(url: str) -> OracleTarget:
    opened = load_target("oracle").open_target(resolve(url, lambda _: None), Guard())
    assert isinstance(opened, OracleTarget)
    return opened


def url(double: OracleDouble, where: str, user: str = "dbcpu") -> str:
    return f"oracle+oracledb://{user}:{double.password}@{where}"


def served(front: TlsFront, double: OracleDouble, options: str) -> str:
    return url(double, f"localhost:{front.port}/?service_name=doublepdb&protocol=tcps&{options}")


# --- TLS and wallets


@pytest.mark.parametrize("profile", ["12c", "19c", "23ai"])
def test_sessions_over_tls_are_measured_like_any(profile: str, authority: Authority) -> None:
    wallet = authority.wallet(with_key=False)
    with (
        OracleDouble(profile) as double,
        TlsFront(double, authority) as front,
        target(served(front, double, f"wallet_location={wallet}&ssl_server_cert_dn=CN%3Ddouble")) as opened,
        SessionGate(opened, opened.host(), TICKS) as gate,
    ):
        gate.gather(3, TINY)
        assert {member.server.pid for member in gate.members} <= set(double.pids())
        gate.release(3, None, 60.0)
        outcomes = gate.outcomes()
    assert [(outcome.error, outcome.answer_ok, len(outcome.executions)) for outcome in outcomes] == [
        (None, True, 3)
    ] * 3


def test_a_wallet_with_a_password_shows_its_certificate(
    double: OracleDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet = authority.wallet("of the wallet")
    monkeypatch.setenv("WALLET_PASSWORD", "of the wallet")
    with TlsFront(double, authority, clients=True) as front:
        options = f"wallet_location={wallet}&wallet_password_env=WALLET_PASSWORD"
        with target(served(front, double, options)) as opened:
            assert opened.describe().version.startswith("19.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("", "is not signed by a trusted authority: give wallet_location=FOLDER"),
        ("wallet_location=/nowhere", r"/nowhere/ewallet.pem was not found; wallet_location= names the folder"),
        ("wallet_location={wallet}&ssl_server_cert_dn=CN%3Dother", "check ssl_server_cert_dn"),
        ("wallet_location={protected}", "is protected by a password; give it by wallet_password_env=VARIABLE"),
        ("wallet_location={wallet}&wallet_password_env=NOT_SET_HERE", "the environment has no NOT_SET_HERE"),
        (
            "wallet_location={protected}&wallet_password_env=WRONG_ONE",
            r"the password in WRONG_ONE does not open .*/protected/wallet/ewallet\.pem; give the one that was set",
        ),
    ],
)
def test_what_is_wrong_with_tls_is_told(
    options: str, sentence: str, double: OracleDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG_ONE", "not of the wallet")
    (tmp_path / "protected").mkdir()
    plain, protected = Authority(tmp_path), Authority(tmp_path / "protected")
    options = options.format(wallet=plain.wallet(with_key=False), protected=protected.wallet("secret"))
    with TlsFront(double, plain) as front, pytest.raises(DbcpuError, match=sentence) as caught:
        target(served(front, double, options)).__enter__()
    assert "\n" not in str(caught.value)
    assert "not of the wallet" not in str(caught.value)


@pytest.mark.parametrize("clients", [False, True])
def test_a_wrong_password_of_a_wallet_is_told_whether_or_not_the_server_wants_a_certificate(
    clients: bool, double: OracleDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver passes over it: one server then closes the connection, the other does not mind."""
    folder = authority.wallet("of the wallet")
    monkeypatch.setenv("WALLET_PASSWORD", "another")
    options = f"wallet_location={folder}&wallet_password_env=WALLET_PASSWORD"
    with TlsFront(double, authority, clients=clients) as front, pytest.raises(UsageError, match="in WALLET_PASSWORD"):
        target(served(front, double, options))


def test_the_wallet_of_an_entry_in_tnsnames_is_tried_too(
    double: OracleDouble, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = authority.wallet("of the wallet")
    monkeypatch.setenv("WALLET_PASSWORD", "another")
    entry = (
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=localhost)(PORT=1))(CONNECT_DATA=(SERVICE_NAME=doublepdb))"
        f"(SECURITY=(MY_WALLET_DIRECTORY={folder})))"
    )
    (tmp_path / "tnsnames.ora").write_text(f"mydb_tp = {entry}\n")
    with pytest.raises(UsageError, match="the password in WALLET_PASSWORD does not open"):
        target(url(double, f"mydb_tp?config_dir={tmp_path}&wallet_password_env=WALLET_PASSWORD"))


def test_another_host_in_the_certificate_is_told(double: OracleDouble, authority: Authority) -> None:
    wallet = authority.wallet(with_key=False)
    with TlsFront(double, authority) as front, pytest.raises(ConnectError, match="names another host"):
        target(served(front, double, f"wallet_location={wallet}").replace("localhost", "127.0.0.1")).__enter__()


def test_a_server_that_wants_a_certificate_is_told_from_one_that_is_down(
    double: OracleDouble, authority: Authority
) -> None:
    wallet = authority.wallet(with_key=False)
    with TlsFront(double, authority, clients=True) as front:
        with pytest.raises(ConnectError) as caught:
            target(served(front, double, f"wallet_location={wallet}")).__enter__()
        # By timing the driver reads the alert or only the closed connection behind it.
        assert "requires a client certificate" in str(caught.value) or "DPY-4011" in str(caught.value)
        with pytest.raises(ConnectError, match=r"a TCPS port needs protocol=tcps|DPY-4011"):
            target(url(double, f"localhost:{front.port}/?service_name=doublepdb")).__enter__()


# --- names


def descriptor(*ports: int) -> str:
    addresses = "".join(f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))" for port in ports)
    return (
        f"(DESCRIPTION=(FAILOVER=on)(LOAD_BALANCE=off)(ADDRESS_LIST={addresses})"
        "(CONNECT_DATA=(SERVICE_NAME=doublepdb)))"
    )


@pytest.fixture
def closed_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        return int(listening.getsockname()[1])


def test_an_alias_is_found_in_the_named_folder(double: OracleDouble, tmp_path: Path) -> None:
    (tmp_path / "tnsnames.ora").write_text(f"bench = {descriptor(double.port)}\n")
    with target(url(double, f"BENCH?config_dir={tmp_path}")) as opened:
        assert opened.describe().parameters["service_name"] == "doublepdb"
    with pytest.raises(UsageError, match=r"no such name in tnsnames\.ora"):
        target(url(double, f"other?config_dir={tmp_path}"))


def test_an_alias_is_found_in_tns_admin(drive: Drive, double: OracleDouble, tmp_path: Path) -> None:
    (tmp_path / "tnsnames.ora").write_text(f"BENCH = {descriptor(double.port)}\n")
    code, out, err = drive("doctor", url(double, "bench"), TNS_ADMIN=str(tmp_path)).finish()
    assert code == 0, err
    assert "service doublepdb" in out


def test_the_next_address_is_taken_when_one_does_not_answer(
    double: OracleDouble, tmp_path: Path, closed_port: int
) -> None:
    failover = descriptor(closed_port, double.port)
    several = f"(DESCRIPTION_LIST=(FAILOVER=on)(LOAD_BALANCE=off){descriptor(closed_port)}{descriptor(double.port)})"
    (tmp_path / "tnsnames.ora").write_text(f"addresses = {failover}\ndescriptions =\n  {several}\n")
    for alias in ("addresses", "descriptions"):
        with target(url(double, f"{alias}?config_dir={tmp_path}")) as opened:
            session = opened.connect(0, 20.0)
            session.close()


def test_a_service_and_a_sid_lead_to_the_same(double: OracleDouble) -> None:
    where = f"{double.host}:{double.port}"
    for name in ("/?service_name=doublepdb", "/DOUBLE", "/?sid=DOUBLE"):
        with target(url(double, f"{where}{name}")) as opened:
            assert opened.describe().parameters["instance_name"] == "DOUBLE"
    with pytest.raises(ConnectError, match="the listener does not know this SID"):
        target(url(double, f"{where}/doublepdb")).__enter__()


# --- who logs on


@pytest.mark.parametrize("user", ["dbcpu%5Bapp%5D", "dbcpu"])
def test_a_proxy_user_acts_for_another(user: str, double: OracleDouble) -> None:
    option = "" if "app" in user else "&proxy_user=app"
    with target(url(double, f"{double.host}:{double.port}/?service_name=doublepdb{option}", user)) as opened:
        assert opened._facts.user == "APP"
    with pytest.raises(ConnectError, match="grant connect through"):
        target(url(double, f"{double.host}:{double.port}/?service_name=doublepdb&proxy_user=nobody")).__enter__()


@pytest.mark.parametrize("where", ["oracle+oracledb://@bench", "oracle", "oracle+oracledb://u:p@h/s?thick=1"])
def test_without_client_libraries_thick_mode_says_what_to_do(drive: Drive, where: str, tmp_path: Path) -> None:
    """In a process of its own: the mode holds for the whole process."""
    code, _, err = drive("doctor", where, TWO_TASK="bench", LD_LIBRARY_PATH=str(tmp_path), ORACLE_HOME="").finish()
    assert code == 2
    (told,) = [line for line in err.splitlines() if "DPI-1047" in line]
    assert "install Instant Client, and on Linux name its folder to the system before dbcpu starts" in told
    assert "Traceback" not in err


def test_options_of_thick_mode_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(oracledb, "init_oracle_client", lambda **given: asked.append(given))
    monkeypatch.setattr(oracledb, "enable_thin_mode", lambda: asked.append({"thin": True}))
    for where in ("h/s?thick=1&lib_dir=/opt/ic&config_dir=/etc/tns", "h/s?thick=1", "h/s"):
        load_target("oracle").open_target(resolve(f"oracle://u:p@{where}", lambda _: None), Guard())
    assert asked == [
        {"lib_dir": "/opt/ic", "config_dir": "/etc/tns"},
        {"lib_dir": None, "config_dir": None},
        {"thin": True},
    ]


# --- clusters


@pytest.mark.parametrize(("asked", "numbers"), [("", {1}), ("&instance_name=DOUBLE2", {2})])
def test_sessions_of_a_cluster_stay_on_one_instance(asked: str, numbers: set[int]) -> None:
    with OracleDouble(instance=Instance(instances=2)) as double:
        with target(double.url + asked) as opened, SessionGate(opened, opened.host(), TICKS) as gate:
            gate.gather(4, TINY)
            gate.release(1, None, 60.0)
            assert {outcome.db["instance_number"] for outcome in gate.outcomes()} == numbers
            assert {entry["instance"] for entry in double.sessions()} == numbers
        with pytest.raises(ConnectError, match="the service has no such instance"):
            target(double.url + "&instance_name=DOUBLE3").__enter__()
