"""Workers in threads of this process: what a loop gives up is told by outcomes, not by a library's log."""

import asyncio
import gc

import pytest

from dbcpu.workflows.fleet.cluster import workers


def test_what_a_loop_gave_up_is_not_logged_between_the_lines_of_a_campaign(caplog: pytest.LogCaptureFixture) -> None:
    with workers(None, 1):
        loop = asyncio.new_event_loop()
        given_up = loop.create_future()
        given_up.set_exception(TimeoutError("Timeout"))
        del given_up
        gc.collect()
        loop.close()
    assert not caplog.records
