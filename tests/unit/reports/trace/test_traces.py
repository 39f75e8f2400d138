"""Both forms of a trace, read back: they hold the residency of the record, its ends and its counters, and no more."""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from dbcpu.errors import UsageError
from dbcpu.record.rounds import UNLISTED, CpuPace, CpuSeries, RanInstead, RunRecord, Witness
from dbcpu.reports.trace import chrome, perfetto
from dbcpu.reports.trace.events import PAUSE_S, chosen_rounds, traced_rounds
from dbcpu.reports.trace.perfetto import FIRST_TID, FIRST_TURNS_TID
from dbcpu.simulator import preset, simulate
from dbcpu.store.record_file import read
from support.builders.example import nine_on_eight, three_on_two, two_settings
from support.builders.experiments import together
from support.builders.record import record, round_of, session, unsampled
from support.paths import EXAMPLES

PROTOS: Any = perfetto_trace_pb2
Span = tuple[int, int]
RUNS: dict[str, Callable[[], RunRecord]] = {
    "three on two": three_on_two,
    "nine on eight": nine_on_eight,
    "measured": lambda: read(EXAMPLES / "embedded-2-vcpus" / "record.json.gz"),
    "emulated SMT": lambda: read(EXAMPLES / "emulated-smt" / "record.json.gz"),
    "simulated": lambda: simulate(preset("c4.4xlarge"), (1, 9, 16), repeats=2, seed=1),
    "crowded": lambda: simulate(preset("this-vm"), (40,), repeats=1, seed=1, size="tiny"),
}
every_run = pytest.mark.parametrize("name", RUNS)


def pb(run: RunRecord, wanted: str | None = None) -> Any:
    """The trace in Perfetto's form, parsed by its own package."""
    trace = PROTOS.Trace()
    trace.ParseFromString(
        b"".join(perfetto.pieces(run.header, traced_rounds(run.header, chosen_rounds(run.rounds, wanted))))
    )
    return trace


def events(run: RunRecord, wanted: str | None = None) -> list[dict[str, Any]]:
    """Those of the JSON form."""
    pieces = chrome.pieces(run.header, traced_rounds(run.header, chosen_rounds(run.rounds, wanted)))
    found: list[dict[str, Any]] = json.loads(b"".join(pieces))["traceEvents"]
    return found


def recorded(run: RunRecord) -> dict[tuple[int, int], list[Span]]:
    """(session, CPU) -> its runnable stretches in the record, on the axis of the trace, joined where they touch."""
    spans: dict[tuple[int, int], list[Span]] = defaultdict(list)
    start_s = 0.0
    for each in run.rounds:
        edges = [0.0, *each.timeline_s]
        edges += [edge for one in each.sessions for stay in one.residency for edge in (stay.from_s, stay.to_s)]
        edges += [done.start_s + done.elapsed_s for one in each.sessions for done in one.executions]
        edges += [at_us / 1e6 for pace in (each.witness.cpus if each.witness else ()) for at_us in pace.at_us]
        begin_s, end_s = min(edges), max(edges)
        for one in each.sessions:
            for stay in one.residency:
                if stay.state == "R" and stay.to_s > stay.from_s:
                    at = start_s - begin_s
                    spans[one.ordinal, stay.cpu].append(
                        (round((at + stay.from_s) * 1e9), round((at + stay.to_s) * 1e9))
                    )
        start_s += end_s - begin_s + PAUSE_S
    return {place: joined(found) for place, found in spans.items()}


def joined(spans: list[Span]) -> list[Span]:
    made: list[Span] = []
    for begin, end in sorted(spans):
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((begin, end))
    return made


def tracks(trace: Any) -> list[Any]:
    return [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]


def slices(trace: Any) -> Iterator[tuple[str, str, int, int]]:
    """(track, name, from, to), in the order of the file: a slice is open on its track until the next end."""
    names = {each.uuid: each.name or each.thread.thread_name for each in tracks(trace)}
    is_open: dict[int, tuple[str, int]] = {}
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        kind, track = PROTOS.TrackEvent.Type.Name(packet.track_event.type), packet.track_event.track_uuid
        if kind == "TYPE_SLICE_BEGIN":
            assert track not in is_open, "slices of one track do not overlap"
            is_open[track] = (packet.track_event.name, packet.timestamp)
        elif kind == "TYPE_SLICE_END":
            name, begin = is_open.pop(track)
            yield names[track], name, begin, packet.timestamp
    assert not is_open


def on_cpus(found: Iterator[tuple[str, str, int, int]]) -> dict[tuple[int, int], list[Span]]:
    spans: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for track, name, begin, end in found:
        if track.startswith("session ") and name.startswith("CPU "):
            cpu = int(name.removeprefix("CPU ").partition(",")[0])
            spans[int(track.removeprefix("session ")), cpu].append((begin, end))
    return {place: joined(each) for place, each in spans.items()}


def near(found: dict[tuple[int, int], list[Span]], wanted: dict[tuple[int, int], list[Span]]) -> bool:
    """The same to a nanosecond, which is as exact as a sum of floats."""
    return found.keys() == wanted.keys() and all(
        len(found[place]) == len(wanted[place])
        and all(abs(a - b) <= 2 for one, other in zip(found[place], wanted[place], strict=True)
                for a, b in zip(one, other, strict=True))
        for place in wanted
    )  # fmt: skip


@every_run
def test_the_slices_of_sessions_are_the_residency_of_the_record(name: str) -> None:
    run = RUNS[name]()
    assert near(on_cpus(slices(pb(run))), recorded(run))


@every_run
def test_the_json_form_holds_the_same(name: str) -> None:
    run = RUNS[name]()
    found = events(run)
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["ph"] == "M" and e["name"] == "thread_name"}
    of_sessions = (
        (named[e["pid"], e["tid"]], e["name"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
        for e in found if e["ph"] == "X"
    )  # fmt: skip
    assert near(on_cpus(of_sessions), recorded(run))


def states(trace: Any) -> list[tuple[int, int, int, str]]:
    """(time, thread, CPU, state) in the order of the file."""
    return [
        (p.timestamp, p.generic_kernel_task_state_event.tid, p.generic_kernel_task_state_event.cpu,
         p.generic_kernel_task_state_event.TaskStateEnum.Name(p.generic_kernel_task_state_event.state))
        for p in trace.packet if p.HasField("generic_kernel_task_state_event")
    ]  # fmt: skip


@every_run
def test_the_lanes_follow_the_rules_of_their_source(name: str) -> None:
    """Never RUNNING twice in a row for a thread, and a CPU is left before another takes it: generic_task.proto."""
    run = RUNS[name]()
    on: dict[int, int] = {}
    last_ns = -1
    running: dict[tuple[int, int], list[Span]] = defaultdict(list)
    since: dict[int, int] = {}
    for at_ns, thread, cpu, state in states(pb(run)):
        assert at_ns >= last_ns
        last_ns = at_ns
        if state == "TASK_STATE_RUNNING":
            assert thread not in on
            assert cpu not in on.values()
            on[thread], since[thread] = cpu, at_ns
        elif thread in on:
            running[thread, on.pop(thread)].append((since[thread], at_ns))
    assert not on, "after the last round nothing runs"
    assert near(by_cpu(running), by_cpu(recorded(run)))


def by_cpu(found: dict[tuple[int, int], list[Span]]) -> dict[tuple[int, int], list[Span]]:
    """Whoever it was: (0, CPU) -> when somebody was there."""
    spans: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for (_, cpu), own in found.items():
        spans[0, cpu] += own
    return {place: joined(each) for place, each in spans.items()}


def test_sessions_that_take_turns_are_runnable_and_a_task_of_their_name_runs() -> None:
    run = record([round_of([session(0, 1.0, cpu=0), session(1, 1.0, cpu=0), session(2, 1.0, cpu=1)])])
    found = pb(run)
    names = {p.generic_kernel_task_state_event.tid: p.generic_kernel_task_state_event.comm
             for p in found.packet if p.HasField("generic_kernel_task_state_event")}  # fmt: skip
    first = {thread: state for _, thread, _, state in reversed(states(found))}
    assert names[FIRST_TURNS_TID] == "sessions 0 and 1 in turns"
    assert first == {
        FIRST_TID: "TASK_STATE_RUNNABLE",
        FIRST_TID + 1: "TASK_STATE_RUNNABLE",
        FIRST_TID + 2: "TASK_STATE_RUNNING",
        FIRST_TURNS_TID: "TASK_STATE_RUNNING",
    }


def test_a_session_beside_strangers_does_not_run_all_the_time_on_its_lane() -> None:
    run = record([round_of([session(0, 0.7, queue_s=2.2, cpu=0)])])
    states = [
        p.generic_kernel_task_state_event for p in pb(run).packet if p.HasField("generic_kernel_task_state_event")
    ]
    running = PROTOS.GenericKernelTaskStateEvent.TaskStateEnum.Value("TASK_STATE_RUNNING")
    ran = {(event.tid, event.comm) for event in states if event.state == running}
    assert ran == {(FIRST_TURNS_TID, "session 0 in turns with other processes")}


def test_who_ran_instead_is_said_where_a_session_was_in_turns() -> None:
    """By the kernel's trace: its name, number and control group, and its time of the whole round."""
    backup = RanInstead(77, "back\x1bup", 1.2, None, "/system.slice/backup.service")
    few = RanInstead(UNLISTED, "other processes", 0.3)
    waited = replace(session(0, 0.7, queue_s=2.2, cpu=0), ran_instead=(backup, few))
    run = record([round_of([waited, session(1, 1.0, cpu=1)])])
    said = "back up (pid 77, /system.slice/backup.service) ran 1.20 s in this round, by the kernel's trace"
    found = [(e["name"], e["args"]["ran_instead"]) for e in events(run) if "ran_instead" in e.get("args", {})]
    assert found == [
        ("CPU 0, core 0, in turns with other processes", said),
        ("session 0 in turns with other processes", said),
    ]
    notes = [(p.track_event.name, note.name, note.string_value)
             for p in pb(run).packet for note in p.track_event.debug_annotations]  # fmt: skip
    assert [each for each in notes if each[1] == "ran_instead"] == [(found[0][0], "ran_instead", said)]


def test_a_round_has_a_name_a_release_and_the_ends_of_its_executions() -> None:
    run = record([round_of([session(0, 1.8, executions=2), session(1, 1.8)], repeat=1)])
    found = events(run)
    marks = {(e["tid"], e["name"], e["ts"]) for e in found if e["ph"] == "i"}
    assert marks == {
        (0, "release of 2 sessions", 0.0),
        (1, "execution 1 ended after 900 ms", 900_000.0),
        (1, "execution 2 ended after 900 ms", 1_800_000.0),
        (2, "execution 1 ended after 1.80 s", 1_800_000.0),
    }
    (whole,) = [e for e in found if e["ph"] == "X" and e["tid"] == 0 and e["pid"] == 1]
    assert (whole["name"], whole["args"]["order"]) == ("N = 2, round 2, baseline", 0)
    texts = {p.track_event.name for p in pb(run).packet if p.HasField("track_event")}
    assert {name for _, name, _ in marks} < texts


def test_counters_are_shares_and_frequencies_per_cpu_and_pieces_of_the_witness() -> None:
    series = (CpuSeries(0, (0.4, 0.25), (0.1, 0.0), (0.0, 0.0), (0.0, 0.0), (2600.0, 3100.5)),
              CpuSeries(1, (0.0, 0.5), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)))  # fmt: skip
    witness = Witness(20.0, True, (CpuPace(0, (250_000, 750_000), (310_000, 305_000)),))
    made = replace(round_of([session(0, 1.0)]), timeline_s=(0.0, 0.5, 1.0), cpu_timeline=series, witness=witness)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each in events(record([made])):
        if each["ph"] == "C":
            found[each["name"]].append((each["ts"] / 1e6, each["args"]["value"]))
    assert found == {
        "CPU 0 busy (%)": [(0.0, 80.0), (0.5, 50.0), (1.0, 0.0)],
        "CPU 0 steal (%)": [(0.0, 20.0), (0.5, 0.0), (1.0, 0.0)],
        "CPU 0 frequency (MHz)": [(0.0, 2600.0), (0.5, 3100.5), (1.0, 0.0)],
        "CPU 1 busy (%)": [(0.0, 0.0), (0.5, 100.0), (1.0, 0.0)],
        "CPU 1 steal (%)": [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)],
        "CPU 0 witness piece (us)": [(0.25, 310.0), (0.75, 305.0), (1.0, 0.0)],
    }
    trace = pb(record([made]))
    by_uuid = {each.uuid: each for each in tracks(trace)}
    values = [(by_uuid[p.track_event.track_uuid].name, p.timestamp / 1e9, p.track_event.double_counter_value)
              for p in trace.packet if p.track_event.HasField("double_counter_value")]  # fmt: skip
    assert sorted(values) == sorted((name.rpartition(" (")[0], at, v) for name, each in found.items() for at, v in each)
    assert {each.counter.unit_name for each in tracks(trace) if each.HasField("counter")} == {"%", "MHz", "us"}


def test_rounds_follow_each_other_and_sessions_keep_their_tracks() -> None:
    run = three_on_two()
    rounds = [(name, begin, end) for track, name, begin, end in slices(pb(run)) if track == "rounds"]
    assert len(rounds) == len(run.rounds)
    for (_, _, end), (_, begin, _) in pairwise(rounds):
        assert begin - end == pytest.approx(PAUSE_S * 1e9, abs=2)
    threads = [each.thread for each in tracks(pb(run)) if each.HasField("thread")]
    assert [each.thread_name for each in threads] == ["session 0", "session 1", "session 2"]
    assert [each.tid for each in threads] == [FIRST_TID, FIRST_TID + 1, FIRST_TID + 2]


@pytest.mark.parametrize(("wanted", "levels"), [("3", [3, 3, 3]), ("3:2", [3]), ("2", [2] * 5)])
def test_some_rounds_can_be_chosen(wanted: str, levels: list[int]) -> None:
    found = [e["name"] for e in events(three_on_two(), wanted) if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 0)]
    assert [int(name.split()[2].rstrip(",")) for name in found] == levels


def test_of_several_variants_the_round_of_each_is_chosen() -> None:
    found = [e["name"] for e in events(two_settings(), "9:2") if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 0)]
    assert found == ["N = 9, round 2, baseline", "N = 9, round 2, smt_off"]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("4", "--round 4: N=4 was not measured; there are: 1-3"),
        ("3:9", "--round 3:9: N=3 has no round 9; there are: 1-3"),
        ("many", "--round many is not understood; give sessions, or sessions:round"),
        ("3:", "is not understood"),
        ("9" * 5000, "is not understood"),
    ],
)
def test_a_round_that_there_is_not_is_a_sentence(wanted: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        pb(three_on_two(), wanted)


@pytest.mark.parametrize(
    "run",
    [
        RunRecord(three_on_two().header, ()),
        record([round_of([unsampled(session(0))])]),
        RunRecord(replace(three_on_two().header, host=None), three_on_two().rounds),
        together((2.0, 2.0), (2.0, 4.0)),
    ],
    ids=["no round", "not sampled", "no host", "together"],
)
def test_what_was_not_seen_is_not_shown(run: RunRecord) -> None:
    trace, found = pb(run), events(run)
    assert [each for each in on_cpus(slices(trace)) if run.header.plan.experiment == "together"] == []
    assert len([e for e in found if e["ph"] == "i" and e["name"].startswith("release")]) == len(run.rounds)


def test_a_time_that_does_not_fit_is_a_sentence() -> None:
    late = replace(round_of([session(0, 1.0)]), timeline_s=(0.0, 5e11))
    with pytest.raises(UsageError, match=r"round 0 of run .* lasts for decades"):
        pb(record([late]))


def test_a_share_that_is_no_number_is_left_out() -> None:
    series = (CpuSeries(0, (1e300, 0.5), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),)
    odd = replace(round_of([session(0, 1.0)]), timeline_s=(0.0, 1e-300, 1.0), cpu_timeline=series)
    values = [e["args"]["value"] for e in events(record([odd])) if e["ph"] == "C" and "busy" in e["name"]]
    assert values == [50.0, 0.0]


def test_text_from_outside_stays_text() -> None:
    run = three_on_two()
    first = replace(run.rounds[0], variant='x"\udcff\n<b>', error="\x1b[31m lost")
    run = RunRecord(replace(run.header, label="a\udcff\"'"), (first,))
    (whole,) = [e for e in events(run) if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 0)]
    assert whole["name"].endswith('x" <b>')
    assert whole["args"]["why"] == "[31m lost"
    assert any(name.endswith('x" <b>') for _, name, *_ in slices(pb(run)))


def test_without_the_package_one_sentence_names_the_other_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(UsageError, match=r"needs the package perfetto, .*pip install .*perfetto`.*named \.trace\.json"):
        perfetto.pieces(three_on_two().header, ())


def test_no_cpu_is_busy_for_longer_than_there_is() -> None:
    """The kernel counts in ticks: the last slice of a round is short, and may get one more than fits."""
    series = (CpuSeries(0, (0.5, 0.04), (0.0, 0.04), (0.0, 0.0), (0.0, 0.0), (3000.0, 3000.0)),)
    ticks = replace(round_of([session(0, 1.0)]), timeline_s=(0.0, 0.5, 0.532), cpu_timeline=series)
    shown: dict[str, list[float]] = defaultdict(list)
    for each in events(record([ticks])):
        if each["ph"] == "C":
            shown[each["name"]].append(each["args"]["value"])
    assert shown["CPU 0 busy (%)"] == [100.0, 100.0, 0.0]
    assert shown["CPU 0 steal (%)"] == [0.0, 100.0, 0.0]
    assert shown["CPU 0 frequency (MHz)"] == [3000.0, 3000.0, 0.0]
