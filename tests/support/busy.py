"""For tests that compare with what really ran: other work on the machine must not make them red."""

from typing import NoReturn

import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import settle

QUIET_WITHIN_S = 2.0


def fail_unless_busy(complaint: str) -> NoReturn:
    """Fail with ``complaint``, or skip where the machine does not get quiet now that the test itself does nothing."""
    quiet = settle(LocalHost(), QUIET_WITHIN_S)
    if quiet.settled:
        pytest.fail(complaint)
    pytest.skip(f"this machine is busy with other work ({quiet.busy_share:.0%} of its CPU time): {complaint}")
