"""The short form of the live lab, half a minute: causes made on real server processes of this machine, and named.

It skips itself on a machine that is busy. The long form is tests/lab/test_live_long.py; ``shell/lab live`` keeps
records.
"""

import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import settle
from lab.causes import Hog, PinnedTogether, Sleep, Stopped, ThreePinned
from lab.generator import Generator
from lab.naming import named, skip_where_nothing_can_be_made
from support.busy import BUSY

NEED_NO_PRIVILEGE: list[type[Generator]] = [Generator, PinnedTogether, ThreePinned, Hog, Stopped, Sleep]
SHORT_S = (0.7, 0.8)
"""At 25 pieces a second these are what a session needs, and no more."""
QUIET_WITHIN_S = 5.0


@pytest.mark.alone
@pytest.mark.slow
def test_causes_that_anybody_can_make_are_named() -> None:
    skip_where_nothing_can_be_made()
    quiet = settle(LocalHost(), QUIET_WITHIN_S)
    if not quiet.settled:
        pytest.skip(f"{BUSY}: {quiet.busy_share:.0%} of its CPU time, and not quiet for a moment")
    named(NEED_NO_PRIVILEGE, seed=1, alone_s=SHORT_S)
