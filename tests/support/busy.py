"""For tests that compare with what really ran: other work on the machine must not make them red."""

from typing import NoReturn

import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import settle

QUIET_WITHIN_S = 2.0
BUSY = "this machine is busy"
"""Reasons that begin so are of this moment: such a test is run again by itself (tests/plugins/deferred.py)."""


def fail_unless_busy(complaint: str) -> NoReturn:
    """Fail with ``complaint``, or skip where the machine does not get quiet now that the test itself does nothing."""
    quiet = settle(LocalHost(), QUIET_WITHIN_S)
    if quiet.settled:
        pytest.fail(complaint)
    pytest.skip(f"{BUSY} with other work ({quiet.busy_share:.0%} of its CPU time): {complaint}")
