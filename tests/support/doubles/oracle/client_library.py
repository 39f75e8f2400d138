"""Oracle's client libraries as thick mode has them, on top of thin connections: they cannot be had here.

What is played, by python-oracledb's source and documentation (src/oracledb/impl/thick/connection.pyx; Initializing
python-oracledb; Using an Oracle Wallet for External Authentication) and by reports of users:

- a ``dsn`` reaches the libraries as it was given; of the other arguments none is added to it, and where none is given
  a descriptor is made of them;
- the libraries find ``sqlnet.ora`` and ``tnsnames.ora`` in the folder that init_oracle_client() got, in TNS_ADMIN, or
  in their own ``network/admin``; they append NAMES.DEFAULT_DOMAIN, and look into a directory (LDAP);
- without a user the password store is searched for the very text of the connect string;
- each connect puts a handler of their own on SIGINT (python-cx_Oracle, issue 557);
- SID and SERIAL# cannot be asked of a connection.
"""

import ctypes
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import oracledb
import pytest

from dbcpu.targets.oracle import driver

_NOT_FOUND = "ORA-12154: TNS:could not resolve the connect identifier specified\nHelp: https://docs.example/ora-12154/"
_DENIED = "ORA-01017: invalid username/password; logon denied"


class ClientLibrary:
    """``home``: its folder. ``directory``: descriptors by name. ``store``: (user, password) by connect string.

    ``received``: the connect string of each connect, as it came. ``catches``: SIGINT does not come through any more.
    """

    def __init__(
        self,
        home: Path,
        *,
        directory: Mapping[str, str] | None = None,
        store: Mapping[str, tuple[str, str]] | None = None,
        catches: bool = False,
    ) -> None:
        self.received: list[str | None] = []
        self._home, self._directory, self._store = home, dict(directory or {}), dict(store or {})
        self._catches = catches
        self._config_dir: str | None = None
        self._password: str | None = None
        self._make = oracledb.ConnectParams

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The driver is in thick mode until the test ends."""
        library = self

        class ThickConnection(driver.Connection):
            """Only what a connection of thick mode has."""

            def __init__(self, *, dsn: str | None, params: oracledb.ConnectParams) -> None:
                super().__init__(params=library.logged_on(dsn, params))
                library.connected()

            @property
            def thin(self) -> bool:
                return False

            @property
            def session_id(self) -> int:
                raise oracledb.NotSupportedError("DPY-3001: getting the session id is only supported in thin mode")

            @property
            def serial_num(self) -> int:
                raise oracledb.NotSupportedError("DPY-3001: getting the session serial number is only supported in ...")

        monkeypatch.setattr(driver, "Connection", ThickConnection)
        monkeypatch.setattr(oracledb, "ConnectParams", self._params)
        monkeypatch.setattr(oracledb, "init_oracle_client", self._init)
        monkeypatch.setattr(oracledb, "is_thin_mode", lambda: False)

    # --- what thick mode calls

    def _init(self, lib_dir: str | None = None, config_dir: str | None = None) -> None:
        self._config_dir = config_dir

    def _params(self, **given: Any) -> oracledb.ConnectParams:
        """A password cannot be read from them afterwards."""
        self._password = given.get("password")
        made: oracledb.ConnectParams = self._make(**given)
        return made

    def logged_on(self, dsn: str | None, params: oracledb.ConnectParams) -> oracledb.ConnectParams:
        """What a thin connection needs to come to where the libraries would. Raises oracledb.DatabaseError."""
        text = dsn if dsn is not None else params.get_connect_string()
        self.received.append(text)
        if text is None:
            raise oracledb.DatabaseError("ORA-12162: TNS:net service name is incorrectly specified")
        user, password = params.user, self._password
        if not user:
            if text not in self._store:
                raise oracledb.DatabaseError(_DENIED)
            user, password = self._store[text]
        found: oracledb.ConnectParams = self._make(user=user, password=password, proxy_user=params.proxy_user)
        found.parse_connect_string(self._resolved(text))
        return found

    def connected(self) -> None:
        if self._catches:
            libc = ctypes.CDLL(None)
            libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
            libc.signal(int(signal.SIGINT), int(signal.SIG_IGN))

    # --- names

    def _resolved(self, text: str) -> str:
        """A descriptor, or what stands for one."""
        if text.startswith("(") or re.search(r"[/:]", text):
            return text
        folder = self._config_dir or os.environ.get("TNS_ADMIN") or str(self._home / "network" / "admin")
        told = _settings(Path(folder, "sqlnet.ora"))
        domain = told.get("NAMES.DEFAULT_DOMAIN", "")
        name = f"{text}.{domain}" if domain and "." not in text else text
        for method in re.findall(r"\w+", told.get("NAMES.DIRECTORY_PATH", "TNSNAMES, EZCONNECT").upper()):
            if method == "LDAP" and name in self._directory:
                return self._directory[name]
            if method == "TNSNAMES" and Path(folder, "tnsnames.ora").exists():
                entry = self._make(config_dir=folder)
                try:
                    entry.parse_connect_string(name)
                except oracledb.Error:
                    continue
                return str(entry.get_connect_string())
        raise oracledb.DatabaseError(_NOT_FOUND)


def _settings(file: Path) -> dict[str, str]:
    lines = file.read_text().splitlines() if file.exists() else []
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().upper(): value.strip() for key, _, value in pairs}
