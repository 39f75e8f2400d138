"""What ends a call or a session of the double other than success."""

_TEXTS = {
    27: "cannot kill current session",
    28: "your session has been killed",
    54: "resource busy and acquire with NOWAIT specified or timeout expired",
    600: "internal error code, arguments: [double], [], [], []",
    900: "invalid SQL statement",
    904: "invalid identifier",
    942: "table or view does not exist",
    955: "name is already used by an existing object",
    1000: "maximum open cursors exceeded",
    1001: "invalid cursor",
    1013: "user requested cancel of current operation",
    1017: "invalid username/password; logon denied",
    1031: "insufficient privileges",
    1403: "no data found",
    1555: "snapshot too old",
    1652: "unable to extend temp segment by 128 in tablespace TEMP",
    2065: "illegal option for ALTER SYSTEM",
    2248: "invalid option for ALTER SESSION",
    3113: "end-of-file on communication channel",
    3115: "unsupported network datatype or representation",
    12801: "error signaled in parallel query server P000, instance 2",
    12805: "parallel query server died unexpectedly",
    12850: "could not allocate slaves on all specified instances: 2 needed, 1 allocated",
    16000: "database or pluggable database open for read-only access",
    28002: "the password will expire within 7 days",
    28150: "proxy not authorized to connect as client",
    4036: "PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT",
}


class OracleError(Exception):
    """An error the client is told, as ``ORA-nnnnn: text``."""

    def __init__(self, code: int, text: str = "") -> None:
        self.code = code
        super().__init__(f"ORA-{code:05d}: {text or _TEXTS.get(code, 'an error of the test double')}")


class Break(Exception):
    """The client sent a break: the running call is to end with ORA-01013."""


class ClientGone(Exception):
    """The connection was closed, with or without a logoff."""


class Refused(Exception):
    """The listener refuses the connection with this ORA number."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"refused with ORA-{code:05d}")
