"""Workers in threads of this process: what a loop gives up is told by outcomes, not by a library's log."""

import asyncio
import gc
from pathlib import Path

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


def test_dask_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with workers(None, 1):
        assert [each.name[:12] for each in tmp_path.iterdir()] == ["dbcpu-fleet-"]
    assert list(tmp_path.iterdir()) == []
