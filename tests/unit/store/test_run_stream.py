"""A run that is written to a stream is the run that is read from it; what is damaged, or in no order, is refused."""

import io
from collections.abc import Callable

import pytest

from dbcpu.errors import RecordFormatError
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round
from dbcpu.store.run_stream import Begun, Ended, RunStream, read_stream
from support.builders.comparison import noisy_run

RECORD = noisy_run(1, levels=(1, 2), repeats=1)


def written(status: str = "complete", *notes: str) -> list[str]:
    out = io.StringIO()
    stream = RunStream("1.0", "abc", out)
    stream.begin(RECORD.header)
    for each in RECORD.rounds:
        stream.append(RECORD.header.run_id, each)
    stream.finish(RECORD.header.run_id, status, notes)
    return out.getvalue().splitlines()


def test_what_was_written_is_read() -> None:
    lines = ["Welcome to db1", *written("failed", "the server went away"), "what comes after is not read"]
    begun, header, *rounds, ended = read_stream(lines, "x")
    assert (begun, header, ended) == (Begun("1.0", "abc"), RECORD.header, Ended("failed", "the server went away"))
    assert tuple(rounds) == RECORD.rounds
    assert isinstance(header, Header)
    assert all(isinstance(each, Round) for each in rounds)


def test_a_stream_that_is_cut_short_has_no_end() -> None:
    found = list(read_stream(written()[:3], "x"))
    assert not any(isinstance(each, Ended) for each in found)


DAMAGE: dict[str, Callable[[list[str]], list[str]]] = {
    "no header": lambda lines: [lines[0], *lines[2:]],
    "no greeting": lambda lines: lines[1:],
    "two headers": lambda lines: [*lines[:2], *lines[1:]],
    "another form": lambda lines: [lines[0].replace('"stream":1', '"stream":2'), *lines[1:]],
    "a round of level -1": lambda lines: [*lines[:2], lines[2].replace('"level":', '"level":-')],
    "no JSON": lambda lines: [*lines[:2], lines[2][:-9]],
    "a run_id that leads away": lambda lines: [lines[0], lines[1].replace(RECORD.header.run_id, "../../etc")],
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_damaged_is_refused(what: str) -> None:
    with pytest.raises(RecordFormatError):
        list(read_stream(DAMAGE[what](written()), "the run from db1"))
