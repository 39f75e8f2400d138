"""A trace in the JSON form of Chrome, which needs no package and which ui.perfetto.dev opens.

The lanes of CPUs are slices here: this form has no scheduling states. Source: Trace Event Format (Google), phases X (a
slice), i (an instant), C (a counter) and M (names); times are microseconds.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dbcpu.formatting import plain
from dbcpu.record.header import Header
from dbcpu.reports.trace.events import UNITS, Mark, Slice, TracedRound

SESSIONS, CPUS = 1, 2
"""Processes of the trace: its sessions, one thread each, and the CPUs."""
ROUNDS_THREAD = 0


def pieces(header: Header, rounds: Iterable[TracedRound]) -> Iterator[bytes]:
    """The file in pieces, round by round."""
    about = {"run_id": header.run_id, "label": plain(header.label), "tool": f"dbcpu {plain(header.tool_version)}"}
    yield _bytes({"displayTimeUnit": "ms", "otherData": about})[:-1] + b',"traceEvents":[\n'
    yield _bytes(_name("process_name", SESSIONS, 0, f"sessions of run {header.run_id}"))
    yield b",\n" + _bytes(_name("process_name", CPUS, 0, "CPUs"))
    yield b",\n" + _bytes(_name("thread_name", SESSIONS, ROUNDS_THREAD, "rounds"))
    named = set[tuple[int, int]]()
    for each in rounds:
        for event in (*_names(each, named), *_events(each)):
            yield b",\n" + _bytes(event)
    yield b"\n]}\n"


def _names(each: TracedRound, named: set[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Of the sessions and CPUs that no round before had."""
    tracks = {(SESSIONS, 1 + session): f"session {session}" for session in each.sessions}
    tracks |= {(CPUS, lane.cpu): f"CPU {lane.cpu}" for lane in each.lanes}
    for place in sorted(tracks.keys() - named):
        named.add(place)
        yield _name("thread_name", *place, tracks[place])
        yield {**_name("thread_sort_index", *place, ""), "args": {"sort_index": place[1]}}


def _events(each: TracedRound) -> Iterator[dict[str, Any]]:
    yield _slice(each.whole, SESSIONS, ROUNDS_THREAD)
    yield _mark(each.release, SESSIONS, ROUNDS_THREAD)
    for stay in each.stays:
        yield _slice(each.slice_of(stay), SESSIONS, 1 + stay.session)
    for session, marks in each.ends.items():
        yield from (_mark(mark, SESSIONS, 1 + session) for mark in marks)
    for lane in each.lanes:
        yield _slice(each.slice_of(lane), CPUS, lane.cpu)
    for value in each.counters:
        name = f"CPU {value.cpu} {value.counter} ({UNITS[value.counter]})"
        yield {"ph": "C", "pid": CPUS, "name": name, "ts": _us(value.at_ns), "args": {"value": round(value.value, 3)}}


def _slice(each: Slice, pid: int, tid: int) -> dict[str, Any]:
    event = {"ph": "X", "pid": pid, "tid": tid, "name": each.name, "ts": _us(each.from_ns),
             "dur": _us(each.to_ns - each.from_ns)}  # fmt: skip
    return event | ({"args": dict(each.details)} if each.details else {})


def _mark(each: Mark, pid: int, tid: int) -> dict[str, Any]:
    return {"ph": "i", "s": "t", "pid": pid, "tid": tid, "name": each.name, "ts": _us(each.at_ns)}


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _us(time_ns: int) -> float:
    return time_ns / 1000


def _bytes(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
