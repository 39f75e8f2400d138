"""Samples of the database's host join the run of another one; what they did not see of a session is nobody else's."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.errors import RecordFormatError
from dbcpu.record.rounds import RunRecord
from dbcpu.store.shell_kit import line_file

HEAD = """dbcpu-lines 2
workload name=cartesian size=tiny n=20 rows=160000 answer=160000 executions=1
sql select 1
run started=2026-01-02T03:04:00 host=app release=6.1 cpus=0 version=15.3 kind=postgresql workers=psql
"""
BASE_S = 1767323050.0
APART_S, LASTS_S = 0.9, 0.65
"""Rounds begin so long after each other and last so long: each second of the counters has two of them in it."""
ROUNDS = 6


def begins_s(order: int) -> float:
    return BASE_S + 0.3 + APART_S * order


def run_of(number: str = "reported") -> str:
    """Rounds of one session each, alone on CPU 0, whose process has number 100 and so on."""
    lines = []
    for order in range(ROUNDS):
        start_s = begins_s(order)
        lines.append(f"round order={order} level=1 repeat={order} released={start_s}")
        lines.append(f"session order={order} ordinal=0 {number}={100 + order}")
        lines.append(f"execution order={order} ordinal=0 start={start_s} end={start_s + LASTS_S} answer=160000")
    return HEAD + "\n".join(lines) + "\nend status=complete\n"


def used_s(from_s: float, to_s: float) -> float:
    """What the sessions used of CPU 0 between two moments."""
    spans = [(begins_s(order), begins_s(order) + LASTS_S) for order in range(ROUNDS)]
    return sum(max(0.0, min(to_s, end_s) - max(from_s, start_s)) for start_s, end_s in spans)


def samples_of(other_load: float = 0.0, unseen: tuple[int, ...] = (), command: str = "postgres") -> str:
    """Looks every 0.25 s, the first 0.2 s late; counters each second. ``other_load``: of CPU 1, all along."""
    lines = ["dbcpu-lines 2", "samples host=db1 system=Linux interval_s=0.25 ticks_per_s=100"]
    lines += [f"cpu id={cpu} core={cpu} socket=0 siblings={cpu}" for cpu in (0, 1)]
    for second in range(8):
        at_s = BASE_S + second
        for cpu in (0, 1):
            busy = round(100 * (used_s(0, at_s) if cpu == 0 else other_load * second))
            lines.append(f"ticks at={at_s} cpu={cpu} of={busy},0,0,{100 * second - busy + 1000},0,0,0,0")
    for order in range(ROUNDS):
        lines.append(f"process pid={100 + order} command={command}")
        for late_s in () if order in unseen else (0.2, 0.45):
            at_s = begins_s(order) + late_s
            lines.append(f"seen pid={100 + order} at={at_s} cpu=0 state=R run_ns={round(late_s * 1e9)} delay_ns=0")
    return "\n".join(lines) + "\nend status=complete\n"


def joined(run: str, samples: str) -> RunRecord:
    return line_file.from_text(run, "run", [(samples, "samples")])


@pytest.mark.parametrize("number", ["reported", "pid"])
def test_sessions_alone_are_no_other_processes_of_their_neighbours(number: str) -> None:
    record = joined(run_of(number), samples_of())
    for each in record.rounds:
        assert each.sessions[0].server.pid == 100 + each.order
        assert sum(process.cpu_s for process in each.foreign) == pytest.approx(0.0, abs=0.02)
        assert each.timeline_s[0] == pytest.approx(0.0, abs=1e-6)
        assert each.timeline_s[-1] == pytest.approx(LASTS_S, abs=1e-6)
        assert sum(each.cpu_timeline[0].busy_s) == pytest.approx(LASTS_S, abs=0.02)
    assert not any(finding.code == "foreign-load" for finding in explain(record).findings)


def test_what_others_used_all_along_is_found() -> None:
    for each in joined(run_of(), samples_of(other_load=0.5)).rounds:
        assert sum(process.cpu_s for process in each.foreign) == pytest.approx(0.5 * LASTS_S, abs=0.02)


def test_of_a_session_that_was_not_seen_nothing_is_somebody_elses() -> None:
    record = joined(run_of(), samples_of(unseen=(2, 3, 4)))
    assert [bool(each.cpu_timeline) for each in record.rounds][2:5] == [False] * 3
    assert all(sum(process.cpu_s for process in each.foreign) < 0.02 for each in record.rounds)
    assert not any(finding.code == "foreign-load" for finding in explain(record).findings)
    (lack,) = [note for note in record.header.notes if "sample-psr" in note]
    assert lack.startswith("sample-psr did not see 3 of 6 sessions, or only in part, in 3 of 6 rounds: ")


def test_where_all_were_seen_nothing_is_lacking() -> None:
    assert not any("sample-psr" in note for note in joined(run_of(), samples_of()).header.notes)


def test_looks_of_the_script_itself_that_are_more_are_kept() -> None:
    """Where the server is on the script's host, it begins at the release and reads the counters at both ends."""
    own = "".join(
        f"seen order=0 ordinal=0 at={begins_s(0) + late_s} cpu=1 state=R run_ns={round(late_s * 1e9)} delay_ns=0\n"
        for late_s in (0.0, 0.1, 0.3, 0.5, 0.65)
    )
    record = joined(run_of("pid").replace("session order=0 ", f"{own}session order=0 "), samples_of())
    assert [[stay.cpu for stay in each.sessions[0].residency] for each in record.rounds[:2]] == [[1], [0]]


def test_a_number_that_the_server_told_means_a_process_of_its_kind() -> None:
    """On another host than the server's it is some other process."""
    with pytest.raises(RecordFormatError, match="at no session while that ran: was sample-psr on the database's host"):
        joined(run_of(), samples_of(command="bash"))


@pytest.mark.parametrize(
    ("run", "samples", "sentence"),
    [
        (run_of("x"), samples_of(), "the run does not say which processes its sessions were"),
        (run_of(), samples_of(unseen=tuple(range(ROUNDS))), "it looked at no process at all: correct its process numb"),
        (
            run_of(),
            samples_of().replace("at=17673230", "at=17673130"),
            r"it looked from 00:17:30 to 00:17:35, and the run lasted from 03:04:10 to 03:04:15 \(UTC\)",
        ),
    ],
)
def test_samples_without_a_look_at_a_session_say_why(run: str, samples: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence):
        joined(run, samples)


def test_what_a_process_of_several_sessions_did_is_no_single_ones() -> None:
    """As threads they report the same number."""
    shared = run_of().replace("level=1", "level=2")
    twice = "".join(
        f"{line}\n{line.replace('ordinal=0', 'ordinal=1')}\n" if "ordinal=0" in line else f"{line}\n"
        for line in shared.splitlines()
    )
    assert "ordinal=1" in twice
    with pytest.raises(RecordFormatError, match="saw no process of this run"):
        joined(twice, samples_of())


def test_a_run_without_a_round_is_refused_in_words() -> None:
    lines = [
        line for line in run_of().splitlines() if not line.startswith(("round ", "session ", "seen ", "execution "))
    ]
    with pytest.raises(RecordFormatError, match="round"):
        joined("\n".join(lines) + "\n", samples_of())
