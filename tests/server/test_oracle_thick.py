"""What thick mode lacks: the driver's own SERIAL#. Its libraries cannot be had here, so a thin connection plays it."""

from typing import Any

import oracledb
import pytest

from dbcpu.errors import ConnectError
from dbcpu.targets.oracle import driver
from dbcpu.targets.oracle.address import Address
from dbcpu.targets.oracle.driver import Connection, Dialer, Views
from dbcpu.targets.oracle.identity import SessionKey, claim, server_process
from dbcpu.targets.oracle.session import BREAKS, OracleSession
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.driving import until


class OldLibraries(Connection):
    """Client libraries of 12.2. Source: ODPI-C, dpiConn_setCallTimeout"""

    @property
    def call_timeout(self) -> int:
        return 0

    @call_timeout.setter
    def call_timeout(self, limit_ms: int) -> None:
        needed = "version 18.1 or higher is needed"
        raise oracledb.DatabaseError(f"DPI-1050: Oracle Client library is at version 12.2.0 but {needed}")


def test_client_libraries_without_a_limit_of_time_on_calls_are_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "Connection", OldLibraries)
    with OracleDouble() as double:
        options: dict[str, str | int | bool] = {"host": double.host, "port": double.port, "service_name": "doublepdb"}
        with pytest.raises(ConnectError, match=r"DPI-1050: .*; Oracle's client libraries are too old"):
            Dialer(Address(double.user, None, options), double.password, "test").connect(20.0)
        until(lambda: not double.pids(), "the connection is closed")


class ThickConnection:
    """A connection whose SERIAL# may not be asked for. Source: python-oracledb, Connection.serial_num"""

    thin = False

    def __init__(self, connection: oracledb.Connection) -> None:
        self._connection = connection
        self.breaks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @property
    def serial_num(self) -> int:
        raise oracledb.NotSupportedError("only available in thin mode")

    def cancel(self) -> None:
        self.breaks += 1


class Control:
    """Counts what it is asked to end."""

    def __init__(self) -> None:
        self.asked: list[SessionKey] = []

    def cancel(self, key: SessionKey) -> None:
        self.asked.append(key)

    def end(self, key: SessionKey) -> bool:
        self.asked.append(key)
        return True

    def leave(self, sid: int, serial: int) -> None:
        raise AssertionError("it was ended")


@pytest.mark.parametrize("lacking", [(), ("v$process.stid", "v$process.execution_type")], ids=["12.1 on", "before"])
def test_the_serial_number_comes_from_the_server(lacking: tuple[str, ...]) -> None:
    with OracleDouble(faults=Faults(missing_columns=lacking)) as double:
        connection = Connection(user=double.user, password=double.password, dsn=double.dsn)
        thick, views = ThickConnection(connection), Views()
        row = server_process(thick, views)  # type: ignore[arg-type]
        found, numbers = claim(thick, views, "here", row, 0.0)  # type: ignore[arg-type]
        assert found.pid in double.pids()
        assert (numbers["sid"], numbers["serial_num"]) == (connection.session_id, connection.serial_num)
        connection.close()


@pytest.mark.parametrize("granted", [True, False])
def test_a_session_is_cancelled_by_the_control_session_only_where_its_key_is_known(granted: bool) -> None:
    with OracleDouble(faults=Faults(ungranted=() if granted else ("v$session",))) as double:
        connection = Connection(user=double.user, password=double.password, dsn=double.dsn)
        thick, control = ThickConnection(connection), Control()
        session = OracleSession(0, thick, Views(), lambda: 0.0, "here", elsewhere=control)  # type: ignore[arg-type]
        session.identify()
        session._calling.set()
        for _ in range(BREAKS + 1):
            session.cancel()
        expected = [SessionKey(connection.session_id, connection.serial_num, 1)] if granted else []
        assert (control.asked, thick.breaks) == (expected, BREAKS + (not granted))
        connection.close()
