"""Keeps the traceback of an unexpected failure in a file, for a report to the developers."""

import os
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dbcpu.config.folders import state_folder
from dbcpu.errors import without_password


def keep_traceback(error: BaseException) -> Path | None:
    """Write the traceback to a new file that only its owner can read; None when no folder takes it.

    The folder is $XDG_STATE_HOME/dbcpu (~/.local/state/dbcpu), else that of temporary files.
    """
    text = without_password("".join(traceback.format_exception(error)))
    name = f"crash-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
        except OSError:
            continue
        return folder / name
    return None


def _folders() -> Iterator[Path]:
    if (state := state_folder()) is not None:
        yield state
    with suppress(FileNotFoundError):  # no folder of temporary files takes one: each disk is full
        yield Path(tempfile.gettempdir())
