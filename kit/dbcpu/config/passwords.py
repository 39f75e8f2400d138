"""Passwords of targets: read from a file of the user's, or typed on a terminal. None is ever shown."""

import getpass
import os
import stat
import sys
from pathlib import Path

from dbcpu.config.trusted_file import UntrustedFile, open_trusted
from dbcpu.errors import UsageError

MAX_BYTES = 64 * 1024


def password_from(folder: Path, name: str, where: str) -> str:
    """The first line of a file that no other user can read, or can have written. Raises UsageError.

    ``name`` is relative to ``folder``; ``where`` names the target in messages.
    """
    try:
        file = folder / Path(name).expanduser()
        with open(open_trusted(file), "rb") as stream:  # noqa: PTH123 - a Path opens no descriptor
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            lines = stream.read(MAX_BYTES).decode("utf-8").splitlines()
    except UntrustedFile as error:
        raise UsageError(f"{where}: password_file {error}") from None
    except OSError as error:
        raise UsageError(f"{where}: password_file {file} could not be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{where}: password_file {file} is not UTF-8 text") from None
    except (RuntimeError, ValueError) as error:  # no such user's home, or a NUL
        raise UsageError(f"{where}: password_file {name!r} is no path: {error}") from None
    if mode & 0o077:
        raise UsageError(f"{where}: {file} can be read by others (mode {mode:04o}); chmod 600 {file}")
    if not lines or not lines[0]:
        raise UsageError(f"{where}: password_file {file} has an empty first line; the password goes there")
    return lines[0]


def asked_for(name: str, where: str) -> str:
    """What the user enters. Raises UsageError where there is no terminal."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"{where}: the password has to be typed, and standard input is no terminal; "
            "use password_env or password_file for runs without one"
        )
    return getpass.getpass(f"password for {name}: ")
