"""Where an Oracle database is, from a SQLAlchemy URL or the environment: pure, no driver.

oracle+oracledb://user@host:1521/?service_name=orclpdb1     host, port and service
oracle+oracledb://user@host:1521/ORCL                       a SID, as SQLAlchemy has it
oracle+oracledb://user@ALIAS?config_dir=/etc/tns            a name from tnsnames.ora (else TNS_ADMIN)
oracle+oracledb://user@?dsn=host:1521/orclpdb1              an Easy Connect string or a descriptor
oracle+oracledb://@ALIAS                                    external authentication: always in thick mode
oracle                                                      TWO_TASK, as sqlplus has it
"""

import os
from collections.abc import Mapping

from msgspec import Struct, field

from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number

DEFAULT_PORT = 1521
# What the driver is asked as it stands in the URL; everything else that it could be asked would change
# what is measured (pools, DRCP, retries) or is none of a measurement's business.
_TEXTS = ("service_name", "instance_name", "config_dir", "wallet_location", "ssl_server_cert_dn", "protocol", "edition")
_NUMBERS = ("https_proxy_port", "expire_time", "sdu")
_SWITCHES = ("ssl_server_dn_match", "externalauth", "disable_oob", "use_sni")
_OWN = ("dsn", "sid", "thick", "lib_dir", "mode", "https_proxy", "proxy_user", "wallet_password_env")
OPTIONS = tuple(sorted((*_TEXTS, *_NUMBERS, *_SWITCHES, *_OWN)))
_NOT_PASSED_ON = (
    *(
        "instance_name",
        "wallet_location",
        "wallet_password_env",
        "ssl_server_cert_dn",
        "ssl_server_dn_match",
        "protocol",
    ),
    *("https_proxy", "https_proxy_port", "expire_time", "sdu", "use_sni", "disable_oob"),
)
"""What would have to be added to a connect string that Oracle's client libraries get as it is."""
_MODES = ("default", "sysdba", "sysoper", "sysbackup", "sysdg", "syskm", "sysrac")


class Address(Struct, frozen=True):
    """How to connect. ``dsn`` is a connect string or alias, which thick mode passes on as it is; ``options`` are
    arguments of the driver's ConnectParams.

    ``wallet_password_env`` names the environment variable with the password of ewallet.pem.
    """

    user: str | None = None
    dsn: str | None = None
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    mode: str = "default"
    thick: bool = False
    lib_dir: str | None = None
    wallet_password_env: str | None = None

    @property
    def where(self) -> str:
        """For messages: the database's address without any secret."""
        if self.dsn:
            return self.dsn
        names = (self.options.get(key) for key in ("service_name", "sid"))
        name = next((str(each) for each in names if each), "")
        return f"{self.options.get('host', '')}:{self.options.get('port', DEFAULT_PORT)}/{name}"


def from_environment(environment: Mapping[str, str] = os.environ) -> Address:
    """The bare target ``oracle``: TWO_TASK names the database, and the user is authenticated externally."""
    name = environment.get("TWO_TASK")
    if not name:
        raise UsageError(
            "no Oracle database is named and the environment has no TWO_TASK; "
            "give a URL: oracle+oracledb://USER@HOST:1521/?service_name=SERVICE"
        )
    return Address(dsn=name, options={"externalauth": True}, thick=True)


def from_url(
    username: str | None,
    host: str | None,
    port: int | None,
    database: str | None,
    query: Mapping[str, str | tuple[str, ...]],
    has_password: bool,
) -> Address:
    """The parts of a SQLAlchemy URL as an address.

    Raises:
        UsageError: an option is unknown or contradicts another; the message lists what there is.
    """
    given = {key: value if isinstance(value, str) else value[-1] for key, value in query.items()}
    if unknown := sorted(set(given) - set(OPTIONS)):
        raise UsageError(
            f"the Oracle URL has {', '.join(unknown)}, which is not known; there are: {', '.join(OPTIONS)}"
        )
    options: dict[str, str | int | bool] = {
        key: given[key] for key in (*_TEXTS, "https_proxy", "proxy_user") if key in given
    }
    options |= {key: _number(key, given[key]) for key in _NUMBERS if key in given}
    options |= {key: _switch(key, given[key]) for key in _SWITCHES if key in given}
    mode = given.get("mode", "default").lower().removeprefix("auth_mode_")
    if mode not in _MODES:
        raise UsageError(f"mode={given['mode']} is not known; there are: {', '.join(_MODES)}")
    sid = given.get("sid") or database
    if sid and "service_name" in options:
        raise UsageError("the Oracle URL names both a service and a SID (the part after the last / is a SID); keep one")
    dsn = given.get("dsn")
    if dsn and (host or sid or "service_name" in options):
        raise UsageError("the Oracle URL has dsn= and a host, service or SID beside it; keep one of them")
    if not dsn and (sid or "service_name" in options):
        options |= {"host": host or "localhost", "port": port or DEFAULT_PORT}
        options |= {"sid": sid} if sid else {}
    elif not dsn and port is not None:
        raise UsageError(f"the Oracle URL names no service; add ?service_name=SERVICE after {host}:{port}/")
    elif not dsn:
        dsn = host
    if not username and not has_password:
        options["externalauth"] = True
    external = bool(options.get("externalauth"))
    thick = _switch("thick", given.get("thick", str(int(external))))
    if external and not thick:
        raise UsageError(
            "external authentication (no user and password, or externalauth=1) needs Oracle's client libraries; leave "
            "out thick=0, or give a user with a password"
        )
    if thick and dsn and (lost := [key for key in _NOT_PASSED_ON if key in given]):
        raise UsageError(
            f"in thick mode Oracle's client libraries resolve {dsn} and nothing is added to it, so that "
            f"{', '.join(lost)} would have no effect; write it into the entry in tnsnames.ora or into sqlnet.ora, or "
            "give host and service: USER@HOST:PORT/?service_name=SERVICE"
        )
    if not dsn and "host" not in options and not thick:
        raise UsageError(
            "the Oracle URL names no database, and only thick mode (?thick=1) connects without one (bequeath); "
            "write oracle+oracledb://USER@HOST:1521/?service_name=SERVICE"
        )
    return Address(username, dsn, options, mode, thick, given.get("lib_dir"), given.get("wallet_password_env"))


def _number(key: str, value: str) -> int:
    if (found := as_whole_number(value)) is None:
        raise UsageError(f"{key}={value[:40]} in the Oracle URL is not a whole number of 0 or more")
    return found


def _switch(key: str, value: str) -> bool:
    word = value.lower()
    if word not in ("1", "0", "true", "false", "yes", "no", "on", "off"):
        raise UsageError(f"{key}={value} in the Oracle URL is not understood; write {key}=1 or {key}=0")
    return word in ("1", "true", "yes", "on")


def same_host(one: str, other: str) -> bool:
    """Whether two host names are one machine's, domains left aside."""
    return one.split(".")[0].casefold() == other.split(".")[0].casefold()
