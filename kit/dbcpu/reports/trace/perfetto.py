"""A trace in the form of Perfetto, written by its Python package (extra ``dbcpu[trace]``).

Sessions are threads of one process, so that the page shows slices and scheduling state of each together; their numbers
are those of the trace, not the kernel's. A CPU on which several sessions take turns runs a task named after them, and
they are shown as runnable: in which order they ran is not known. Sources: perfetto.dev/docs, "Writing TrackEvent
Protos Synthetically"; generic_task.proto of Perfetto (RUNNING twice in a row is an error of a thread).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from dbcpu.analysis.placement.residency import RUNNABLE, STOPPED
from dbcpu.record.header import Header
from dbcpu.reports.extra_packages import not_installed
from dbcpu.reports.trace.events import UNITS, Mark, Slice, TracedRound
from dbcpu.reports.trace.placement import Occupied, Stay

PID, FIRST_TID, FIRST_TURNS_TID = 1000, 1001, 1_000_001
"""Numbers of the process, of session 0, and of the first task of sessions that take turns."""
SEQUENCE = 1
ROUNDS_TRACK, SESSIONS_TRACK, CPUS_TRACK = 1, 2, 3
_SESSION_TRACKS, _COUNTER_TRACKS = 1_000, 1_000_000
_END, _LEAVES, _RUNS, _BEGIN, _OTHER = range(5)
"""At the same moment what ends comes before what begins, and a CPU is left before it is taken."""
_RUNNING, _RUNNABLE = "TASK_STATE_RUNNING", "TASK_STATE_RUNNABLE"
_SLEEPS, _STOPPED = "TASK_STATE_INTERRUPTIBLE_SLEEP", "TASK_STATE_STOPPED"


def pieces(header: Header, rounds: Iterable[TracedRound]) -> Iterator[bytes]:
    """The file in pieces, round by round. Raises UsageError where the package is not installed."""
    return _Writer(header).pieces(rounds)


class _Writer:
    def __init__(self, header: Header) -> None:
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        except ImportError:
            raise not_installed("a .pftrace", "perfetto", "trace", "a file named .trace.json") from None
        self._protos: Any = perfetto_trace_pb2
        self._header = header
        self._counters: dict[tuple[str, int], int] = {}
        self._sessions = set[int]()
        self._turns: dict[tuple[int, tuple[int, ...], bool], int] = {}

    def pieces(self, rounds: Iterable[TracedRound]) -> Iterator[bytes]:
        yield self._file([*self._first_tracks()])
        for each in rounds:
            tracks = [*self._new_sessions(each), *self._new_counters(each)]
            timed = sorted(self._events(each), key=lambda found: (found[1].timestamp, found[0]))
            yield self._file([*tracks, *(packet for _, packet in timed)])

    def _file(self, packets: Sequence[Any]) -> bytes:
        """Traces one after the other are one trace."""
        content: bytes = self._protos.Trace(packet=packets).SerializeToString()
        return content

    # --- tracks

    def _track(self, uuid: int, **more: Any) -> Any:
        return self._protos.TracePacket(track_descriptor={"uuid": uuid, **more})

    def _first_tracks(self) -> Iterator[Any]:
        name = f"sessions of run {self._header.run_id}"
        yield self._track(ROUNDS_TRACK, name="rounds")
        yield self._track(SESSIONS_TRACK, process={"pid": PID, "process_name": name})
        yield self._track(CPUS_TRACK, name="counters of the CPUs")

    def _new_sessions(self, each: TracedRound) -> Iterator[Any]:
        for session in sorted({*each.sessions} - self._sessions):
            self._sessions.add(session)
            thread = {"pid": PID, "tid": FIRST_TID + session, "thread_name": f"session {session}"}
            yield self._track(_SESSION_TRACKS + session, parent_uuid=SESSIONS_TRACK, thread=thread)

    def _new_counters(self, each: TracedRound) -> Iterator[Any]:
        for counter, cpu in sorted({(value.counter, value.cpu) for value in each.counters} - self._counters.keys()):
            uuid = self._counters[counter, cpu] = _COUNTER_TRACKS + len(self._counters)
            unit = {"unit_name": UNITS[counter]}
            yield self._track(uuid, name=f"CPU {cpu} {counter}", parent_uuid=CPUS_TRACK, counter=unit)

    # --- events

    def _events(self, each: TracedRound) -> Iterator[tuple[int, Any]]:
        yield from self._slice(each.whole, ROUNDS_TRACK)
        yield self._mark(each.release, ROUNDS_TRACK)
        for stay in each.stays:
            yield from self._slice(each.slice_of(stay), _SESSION_TRACKS + stay.session)
        for session, marks in each.ends.items():
            yield from (self._mark(mark, _SESSION_TRACKS + session) for mark in marks)
        for session, own in groupby(sorted(each.stays, key=lambda stay: stay.session), lambda stay: stay.session):
            yield from self._states(session, list(own))
        yield from self._taking_turns(each.lanes)
        for value in each.counters:
            packet = self._event(value.at_ns, self._counters[value.counter, value.cpu], "TYPE_COUNTER")
            packet.track_event.double_counter_value = value.value
            yield _OTHER, packet

    def _event(self, at_ns: int, track: int, kind: str) -> Any:
        packet = self._protos.TracePacket(timestamp=at_ns, trusted_packet_sequence_id=SEQUENCE)
        packet.track_event.type = self._protos.TrackEvent.Type.Value(kind)
        packet.track_event.track_uuid = track
        return packet

    def _slice(self, each: Slice, track: int) -> Iterator[tuple[int, Any]]:
        begin = self._event(each.from_ns, track, "TYPE_SLICE_BEGIN")
        begin.track_event.name = each.name
        for name, value in each.details.items():
            note = begin.track_event.debug_annotations.add(name=name)
            match value:
                case str():
                    note.string_value = value
                case int():
                    note.int_value = value
                case float():
                    note.double_value = value
        yield _BEGIN, begin
        yield _END, self._event(each.to_ns, track, "TYPE_SLICE_END")

    def _mark(self, each: Mark, track: int) -> tuple[int, Any]:
        packet = self._event(each.at_ns, track, "TYPE_INSTANT")
        packet.track_event.name = each.name
        return _OTHER, packet

    # --- scheduling states

    def _states(self, session: int, stays: Sequence[Stay]) -> Iterator[tuple[int, Any]]:
        """Of one session; ``stays`` are in order of time. It runs where it has its CPU to itself."""
        tid, name = FIRST_TID + session, f"session {session}"
        running_on: int | None = None
        for stay, after in zip(stays, (*stays[1:], None), strict=True):
            state = _state(stay)
            goes_on = state == _RUNNING and running_on == stay.cpu
            if state == _RUNNING and running_on is not None and not goes_on:
                yield _LEAVES, self._state(stay.from_ns, running_on, tid, name, _RUNNABLE)
            if not goes_on:
                order = _RUNS if state == _RUNNING else _LEAVES
                yield order, self._state(stay.from_ns, stay.cpu, tid, name, state)
            running_on = stay.cpu if state == _RUNNING else None
            if after is None or after.from_ns != stay.to_ns:
                yield _LEAVES, self._state(stay.to_ns, stay.cpu, tid, name, _SLEEPS)
                running_on = None

    def _taking_turns(self, lanes: Sequence[Occupied]) -> Iterator[tuple[int, Any]]:
        for lane in lanes:
            if lane.in_turns:
                tid = self._turns.setdefault((lane.cpu, lane.sessions, lane.others), FIRST_TURNS_TID + len(self._turns))
                yield _RUNS, self._state(lane.from_ns, lane.cpu, tid, lane.name, _RUNNING)
                yield _LEAVES, self._state(lane.to_ns, lane.cpu, tid, lane.name, _SLEEPS)

    def _state(self, at_ns: int, cpu: int, tid: int, name: str, state: str) -> Any:
        packet = self._protos.TracePacket(timestamp=at_ns, trusted_packet_sequence_id=SEQUENCE)
        event = packet.generic_kernel_task_state_event
        event.cpu, event.tid, event.comm = cpu, tid, name
        event.state = self._protos.GenericKernelTaskStateEvent.TaskStateEnum.Value(state)
        return packet


def _state(stay: Stay) -> str:
    if stay.kind == RUNNABLE:
        return _RUNNABLE if stay.in_turns or stay.others else _RUNNING
    return _STOPPED if stay.kind == STOPPED else _SLEEPS
