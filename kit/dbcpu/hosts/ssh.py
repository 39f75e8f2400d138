"""A host reached by the system's own ssh, which does as the user's configuration says: agent, bastion, port, host key.

It is never given a password (BatchMode) and never asked to forward anything.
"""

import re

from dbcpu.config.ports import PORT_WORDS, is_port
from dbcpu.errors import UsageError
from dbcpu.hosts.shell_connection import CONNECT_TIMEOUT_S
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.transport import BOOTSTRAP, Transport

_SPECIAL = frozenset("'`\"$\\;&<>|(){},")
"""Of a shell: OpenSSH before 9.6 passes a host's name to the user's ProxyCommand as it is (CVE-2023-51385)."""
_OPTIONS = (
    "BatchMode=yes",
    f"ConnectTimeout={CONNECT_TIMEOUT_S}",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlMaster=no",
)
_REASONS = (
    ("identification has changed", "its host key is not the one that ssh knows; find out why before all else"),
    ("host key verification failed", "ssh does not know its host key; log in by hand once (ssh {where}) and check it"),
    ("permission denied", "it refused the login; dbcpu gives no password: use a key, until `ssh {where}` asks nothing"),
    ("too many authentication", "it refused the login; name the right key in ~/.ssh/config (IdentityFile)"),
    ("could not resolve hostname", "its name is not known; is it spelled as in ~/.ssh/config?"),
    ("connection refused", "nothing takes ssh connections there; is the port right (ssh:HOST:PORT)?"),
    ("timed out", "it did not answer; is it reachable from here?"),
    ("no route to host", "there is no way to it from here"),
    ("network is unreachable", "there is no way to it from here"),
)  # fmt: skip
_DESTINATION = re.compile(r"(?P<login>[^\s\0:-][^\s\0:]*|[^\s\0:-]*\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")


def transport(where: str) -> Transport:
    """``where``: [USER@]HOST[:PORT], or a name of ~/.ssh/config. Raises UsageError."""
    parts = _DESTINATION.fullmatch(where)
    user, _, host = ("" if parts is None else parts["login"]).rpartition("@")
    if parts is None or _SPECIAL & set(host) or (_SPECIAL - {"\\"}) & set(user):
        shown = re.sub(r":.*@", ":***@", where)  # a password has no place here, and is not repeated
        raise UsageError(f"{shown!r} is no host for ssh; write ssh:HOST, ssh:USER@HOST or ssh:USER@HOST:PORT")
    if parts["port"] and not is_port(int(parts["port"])):
        raise UsageError(f"the port of ssh:{where} is {parts['port']}; give one from {PORT_WORDS}")
    port = ["-p", parts["port"]] if parts["port"] else []
    options = [part for option in _OPTIONS for part in ("-o", option)]
    login = parts["login"].replace("[", "").replace("]", "")
    return Transport(
        name=f"ssh:{where}",
        over="ssh",
        argv=("ssh", "-T", "-a", "-x", *options, *port, "--", login, BOOTSTRAP),
        reasons=tuple((mark, reason.replace("{where}", where)) for mark, reason in _REASONS),
        missing="install OpenSSH's client (openssh-client), or leave --host away",
        takes_input=False,
    )


def open_host(where: str) -> ShellHost:
    """``where``: as ``transport`` takes it. Connects. Raises HostError, UsageError."""
    return ShellHost(transport(where))
