"""Where a target is measured from: this machine, a dbcpu on another host, or the scripts of the shell kit there.

    [targets.db-17]
    url = "postgresql:///postgres"         # as it is seen from there
    host = "ssh:db-17"                     # the way there
    from = "there"                         # or "shell-kit"
    program = "/opt/dbcpu/bin/dbcpu"       # where its dbcpu is, if not in PATH or ~/.local/bin

Passwords are looked up where it is measured from, and so is a ``password_file``.
"""

import re
from collections.abc import Mapping

from dbcpu.errors import UsageError

HERE, THERE, SHELL_KIT = "here", "there", "shell-kit"
ORIGINS = (HERE, THERE, SHELL_KIT)
NOTES = {THERE: "driven-there: ", SHELL_KIT: "shell-kit: "}
"""So begins the note of a run that was driven from elsewhere than where it was kept."""
_PROGRAM = re.compile(r"(?:~?(?:/[\w.@+-]+)*/)?dbcpu")
"""Whoever can write into the store of a campaign must not name any program of another host."""


def check_origin(table: Mapping[str, str], where: str) -> str:
    """The origin that the table of a target names, ``HERE`` by default.

    Raises:
        UsageError: it is none, or the table lacks what it needs; ``where`` names the target.
    """
    origin = table.get("from", HERE)
    if origin not in ORIGINS:
        raise UsageError(f"{where}: from is {origin[:40]!r}; it is one of {', '.join(ORIGINS)}")
    if origin != HERE and "host" not in table:
        raise UsageError(f'{where}: from = "{origin}" needs the way there; add host = "ssh:NAME"')
    if origin != HERE and "password" in table:
        raise UsageError(f"{where}: the far host cannot ask for a password; use password_env or password_file")
    secret = table.get("password_file", "/")
    if origin != HERE and not secret.startswith(("/", "~")):
        raise UsageError(f"{where}: password_file {secret!r} is looked up on the far host; give its whole path there")
    if not _PROGRAM.fullmatch(table.get("program", "dbcpu")):
        raise UsageError(f'{where}: program is no path of a dbcpu; write program = "/opt/dbcpu/bin/dbcpu"')
    return origin
