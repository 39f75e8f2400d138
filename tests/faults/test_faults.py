"""Nearly each fault once, at moments of a fixed seed; ``shell/faults`` does the same for as long as wanted."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.faults import FAULTS, Ground
from support.driving import Drive

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
SEED = 15
USUAL_S = 4.0
SHORT = [fault for fault in FAULTS if not fault.startswith(("SIGTERM", "SIGHUP"))]
"""tests/server/test_stops.py has the others."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One store for all of them: what a fault left would harm those after it."""
    # Everybody may enter it: an embedded server of root's runs as another user.
    place = Path(tempfile.mkdtemp(prefix="dbcpu faults "))
    place.chmod(0o755)
    drive = Drive(tmp_path_factory.mktemp("kept"), place)
    try:
        yield Ground(drive, random.Random(SEED), USUAL_S)
    finally:
        drive.close()
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize("fault", SHORT)
def test_nothing_is_left_and_the_store_can_be_read(fault: str, ground: Ground) -> None:
    outcome = FAULTS[fault](ground)
    if not outcome.codes:
        pytest.skip("this machine lets no mount namespace be made")
    assert outcome.complaint == ""
    assert {kind: number for kind, number in outcome.left.items() if number} == {}
