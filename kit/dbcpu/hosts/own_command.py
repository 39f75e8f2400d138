"""A host reached by a command of the user's, which gets a script of sh on its standard input: ``exec:COMMAND``."""

import shlex
from pathlib import PurePath

from dbcpu.errors import UsageError
from dbcpu.hosts.transport import Transport

_FORM = "write exec: and a command that runs sh there, such as exec:'lxc-attach -n db1 -- sh -s'"


def transport(where: str) -> Transport:
    """``where``: a command line, in words as sh would have them; it is started without a shell. Raises UsageError.

    Messages and records have its program alone: an argument may hold a secret.
    """
    try:
        words = shlex.split(where)
    except ValueError:
        raise UsageError(f"the command of exec: has a quote that is not closed; {_FORM}") from None
    if not words or not words[0] or not where.isprintable():
        raise UsageError(f"the command of exec: is empty or has characters that cannot be printed; {_FORM}")
    return Transport(
        name=f"exec:{PurePath(words[0]).name or words[0]}",
        over="exec",
        argv=tuple(words),
        reasons=(),
        missing="name one that is, or leave --host away",
    )
