"""``drive`` starts the program as its users do; ``drive("run", "--sessions", "2")`` is ``dbcpu run --sessions 2``.

When the test ends, no driver is left running, and none may have shown a traceback or a password.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.driving import Drive


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Drive]:
    # Everybody may enter it: an embedded server of root's runs as somebody else. With a space, as some have.
    place = Path(tempfile.mkdtemp(prefix="dbcpu test "))
    place.chmod(0o755)
    started = Drive(tmp_path, place)
    try:
        yield started
    finally:
        try:
            started.close()
        finally:
            shutil.rmtree(place, ignore_errors=True)
