"""Lines of the scripts of shell/ become a normal record; what is damaged is refused by its line."""

import re
from pathlib import Path

import pytest

from dbcpu.analysis.comparison.comparability import named_facts
from dbcpu.analysis.explain import explain
from dbcpu.errors import RecordFormatError
from dbcpu.measure import workloads
from dbcpu.record.header import UNSET
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.environment import environment
from dbcpu.store import codec
from dbcpu.store.shell_kit import line_file, line_reader
from support.record_data import data_of

LINES = """dbcpu-fanout 1
label the old box
cpu id=0 core=3 socket=1 siblings=0,2
cpu id=1 core=0 socket=0 siblings=1,3
cpu id=2 core=3 socket=1 siblings=0,2
cpu id=3 core=0 socket=0 siblings=1,3
workload name=cartesian size=tiny n=20 rows=160000 answer=160000 executions=2
sql select count(*)
sql   from dual
run started=2025-01-02T03:04:05 host=db1 system=Linux release=5.4 cpus=4 version=11.2.0.4.0 workers=sqlplus
round order=0 level=1 repeat=0 released=2025-01-02T03:04:06
seen order=0 ordinal=0 at=2025-01-02T03:04:06.5 cpu=1 state=R
seen order=0 ordinal=0 at=2025-01-02T03:04:07.5 cpu=1 state=R
seen order=0 ordinal=0 at=2025-01-02T03:04:08.5 cpu=3 state=R
session order=0 ordinal=0 connect_s=0.35 spid=4711 db_cpu_s=2.125000 db_time_s=2.250000
execution order=0 ordinal=0 start=1735787046.25 end=1735787047.25 answer=160000
execution order=0 ordinal=0 start=1735787047.5 end=1735787048.75 answer=160000
round order=1 level=2 repeat=0 released=2025-01-02T03:04:10
session order=1 ordinal=0 connect_s=0.5
execution order=1 ordinal=0 start=1735787051 end=1735787053 answer=160000
session order=1 ordinal=1 connect_s=0.25
failed order=1 ordinal=1 ORA-01013: user requested cancel of current operation
end status=complete
"""


def record(text: str = LINES) -> RunRecord:
    return line_file.from_text(text, "lines")


def test_the_header() -> None:
    header = record().header
    assert (header.label, header.status, header.started_at) == ("the old box", "complete", "2025-01-02T03:04:05+00:00")
    assert header.run_id.startswith("20250102-030405-")
    assert (header.database.kind, header.database.version) == ("oracle", "11.2.0.4.0")
    assert header.plan.workload.sql == "select count(*)\n  from dual"
    assert (header.plan.levels, header.plan.repeats, header.plan.vcpus) == ((1, 2), 1, 4)


def test_what_a_script_does_not_look_for_is_not_known() -> None:
    """ "Hypervisor none" stood beside "hypervisor kvm" of the same guest: a script does not look for one."""
    run = record()
    facts = named_facts(run.header)
    assert {facts[each] for each in ("hypervisor", "container", "CPU quota")} == {""}
    (host,) = [each for each in environment(run) if each.title == "Host"]
    shown = dict(host.pairs)
    assert {shown[each] for each in ("hypervisor", "container", "CPU quota")} == {"not known"}
    assert "does not name its hypervisor" in steal_unseen(run)
    apart = record(LINES.replace("siblings=0,2", "siblings=0").replace("siblings=1,3", "siblings=1"))
    assert apart.header.host is not None
    assert apart.header.host.topology.smt_active is None, "off, absent or hidden"


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x1c", "\x0b", "\r"])
def test_what_separates_lines_elsewhere_does_not_here(separator: str) -> None:
    """The server words a failure, and a process names itself."""
    spoken = LINES.replace("of current operation", f"x{separator}end status=complete{separator}x")
    assert record(spoken).rounds[1].sessions[1].error == (
        f"ORA-01013: user requested cancel x{separator}end status=complete{separator}x"
    )
    assert record(LINES.replace("\n", "\r\n")).header.label == "the old box"


AIX = LINES.replace("system=Linux", "system=AIX")


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("", "scaled-cpu-time"),
        (" server_host=DB1.example.com platform=unknown", "scaled-cpu-time"),
        (" server_host=DB1.example.com platform=SVR4-be-64bit-8.1.0", "scaled-cpu-time"),
        (" server_host=db2 platform=unknown", "platform-unknown"),
        (" server_host=db2 platform=SVR4-be-64bit-8.1.0", "platform-unknown"),
        (" server_host=db2 platform=x86_64/Linux_2.4.xx", None),
        (" server_host=db2 platform=AIX", "scaled-cpu-time"),
    ],
)
def test_the_servers_system_is_the_scripts_only_on_one_host(run: str, code: str | None) -> None:
    """Lines of an import with a topology have the host; here it is that of the script."""
    without_cpus = "\n".join(line for line in AIX.splitlines() if not line.startswith("cpu "))
    found = explain(record(without_cpus.replace("workers=sqlplus", f"workers=sqlplus{run}")))
    codes = {each.code for each in found.findings}
    assert codes & {"scaled-cpu-time", "platform-unknown"} == ({code} if code else set())


def test_settings_that_do_not_hold_are_in_the_words_of_a_run() -> None:
    lines = LINES.replace(
        "workers=sqlplus", "workers=sqlplus unset=cursor_sharing::ORA-01031;nls_numeric_characters:,.:"
    )
    assert record(lines).header.database.parameters[UNSET] == (
        "cursor_sharing (value not known, refused with ORA-01031); nls_numeric_characters (,., set without effect)"
    )


def test_cores_are_numbered_in_order_of_their_lowest_cpu() -> None:
    host = record().header.host
    assert host is not None
    assert [(cpu.cpu, cpu.core, cpu.socket) for cpu in host.topology.cpus] == [
        (0, 0, 0), (1, 1, 1), (2, 0, 0), (3, 1, 1),
    ]  # fmt: skip
    assert host.topology.smt_active


def test_times_count_from_the_earliest_server_stamp() -> None:
    first = record().rounds[0].sessions[0]
    assert [(e.start_s, e.elapsed_s, e.server_start_s) for e in first.executions] == [
        (0.0, 1.0, 0.0),
        (1.25, 1.25, 1.25),
    ]
    assert [(r.cpu, r.from_s, r.to_s) for r in first.residency] == [(1, 0.25, 1.75), (3, 1.75, 2.25)]
    assert (first.server.pid, first.server.verified, first.connect_s) == (4711, True, 0.35)


def test_what_the_database_counted_is_kept_where_it_could_be_read() -> None:
    assert record().rounds[0].sessions[0].db == {"db_cpu_s": 2.125, "db_time_s": 2.25}
    assert record().rounds[1].sessions[0].db == {}


def inflated(slow_cpu_s: float) -> str:
    """Alone one second; then two sessions of two seconds each, with so much CPU by the database's count."""
    head = LINES.partition("round order=0")[0].replace("executions=2", "executions=1")
    return f"""{head}round order=0 level=1 repeat=0 released=2025-01-02T03:04:06
session order=0 ordinal=0 connect_s=0.3 db_cpu_s=1.0 db_time_s=1.0
execution order=0 ordinal=0 start=1735787046 end=1735787047 answer=160000
round order=1 level=2 repeat=0 released=2025-01-02T03:04:10
session order=1 ordinal=0 connect_s=0.3 db_cpu_s={slow_cpu_s} db_time_s=2.0
execution order=1 ordinal=0 start=1735787051 end=1735787053 answer=160000
session order=1 ordinal=1 connect_s=0.3 db_cpu_s={slow_cpu_s} db_time_s=2.0
execution order=1 ordinal=1 start=1735787051 end=1735787053 answer=160000
end status=complete
"""


@pytest.mark.parametrize(("slow_cpu_s", "cause"), [(1.0, "unexplained"), (2.0, "slower_cpu")])
def test_inflated_cpu_time_is_told_from_queueing(slow_cpu_s: float, cause: str) -> None:
    views = [view for view in explain(record(inflated(slow_cpu_s))).sessions if view.level == 2]
    assert [view.cause for view in views] == [cause, cause], [view.evidence for view in views]


def test_a_session_without_a_line_failed() -> None:
    """As of a file out of which lines were cut: two sessions of a round of three are no round of three."""
    run = record(LINES.replace("round order=1 level=2", "round order=1 level=3"))
    assert [(each.ordinal, each.error) for each in run.rounds[1].sessions][2] == (
        2, "the file has no line of this session: it was cut, or lines were taken out"
    )  # fmt: skip
    found = next(each for each in explain(run).findings if each.code == "failed-session")
    assert "no line of this session" in found.seen


@pytest.mark.parametrize("status", ["complete", "interrupted"])
def test_a_round_without_any_session_failed_unless_the_run_was_stopped_in_it(status: str) -> None:
    begun = "round order=1 level=2 repeat=0 released=2025-01-02T03:04:10\n"
    run = record(f"{LINES.partition(begun)[0]}{begun}end status={status}\n")
    lost = [(each.level, len(each.sessions), each.error) for each in run.rounds[1:]]
    said = "every session failed: the file has no line of this session: it was cut, or lines were taken out"
    assert lost == ([(2, 2, said)] if status == "complete" else [])


def test_a_file_without_its_last_line_feed_is_the_same_run_and_a_cut_value_is_not_believed() -> None:
    assert record(LINES.removesuffix("\n")) == record()
    cut = LINES.partition("round order=1")[0] + "round order=1 level=1 repeat=1 released=2025-01-02T03:04:10\n"
    cut += "session order=1 ordinal=0\nexecution order=1 ordinal=0 start=1735787051 end=1735787053 answer=16000"
    assert [each.order for each in record(cut).rounds] == [0], "of the round that was cut nothing is known"
    for at in range(1, len("end status=complete")):
        assert record(LINES[: -1 - at]).header.status == "interrupted"


def test_a_failed_session_keeps_its_reason() -> None:
    healthy, failed = record().rounds[1].sessions
    assert healthy.error is None
    assert not healthy.server.verified
    assert failed.error == "ORA-01013: user requested cancel of current operation"
    assert failed.answer_ok is None


def test_a_wrong_answer_is_marked() -> None:
    wrong = record(LINES.replace("end=1735787053 answer=160000", "end=1735787053 answer=159999"))
    assert wrong.rounds[1].sessions[0].answer_ok is False


def test_the_record_is_stored_and_explained_like_any_other() -> None:
    imported = record()
    assert codec.from_data(data_of(imported), "here") == imported
    assert explain(imported).levels[0].median_s == pytest.approx(1.25)


def test_the_same_file_gives_the_same_run() -> None:
    assert record().header.run_id == record().header.run_id
    assert record().header.run_id != record(LINES.replace("0.35", "0.36")).header.run_id


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LINES.replace("dbcpu-fanout 1", "dbcpu-fanout 2"), "does not begin with 'dbcpu-lines 2'"),
        (LINES.replace("level=2 ", ""), "line 18 is not understood"),
        (LINES.replace("end=1735787053", "end=later"), "line 20 is not understood"),
        (LINES.replace("siblings=1,3", "siblings=x", 1), "line 4 is not understood"),
        (LINES + LINES.split("\n", 1)[1], r"round 0 has begun before; files of two runs are imported one by one"),
        ("dbcpu-fanout 1\nnonsense here\n", "line 2 is not understood .unknown word.: 'nonsense here'"),
        (
            "dbcpu-fanout 1\nlabel x\n",
            "was cut short before its first round, so there is nothing to import",
        ),
        (
            f"{LINES.partition('run started')[0]}round order=0 level=1 repeat=0 released=1\n",
            "not what the line run says",
        ),
    ],
)
def test_damage_is_told_by_its_line(text: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence):
        record(text)


def test_of_a_file_that_was_cut_short_in_its_first_round_nothing_is_kept() -> None:
    with pytest.raises(RecordFormatError, match="lines was cut short in its first round"):
        record(LINES.partition("round order=1")[0])


@pytest.mark.parametrize(
    "at", ["execution order=1", "failed order=1", "end status", "rdinal=0 start=1735787051", "atus=c"]
)
def test_a_file_that_was_cut_short_keeps_the_rounds_before_the_last(at: str) -> None:
    """Nothing shows that the last one is whole."""
    cut = record(LINES.partition(at)[0])
    assert (cut.header.status, len(cut.rounds)) == ("interrupted", 1)


def test_files_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    lines, other = tmp_path / "lines", tmp_path / "run.json"
    lines.write_text(LINES)
    other.write_text("{}")
    assert line_file.recognises(lines.read_bytes())
    assert not line_file.recognises(other.read_bytes())
    assert line_file.from_content(lines.read_bytes(), str(lines)) == record()


@pytest.mark.parametrize("name", ["cartesian", "cartesian_cte", "emp_join", "arithmetic", "mixed"])
def test_the_workloads_that_the_script_offers_exist(name: str) -> None:
    assert name in workloads.names("oracle")
    assert not workloads.load("oracle", name).work("tiny").setup


COUNTING = """dbcpu-lines 1
cpu id=0 core=0 socket=0 siblings=0-1
cpu id=1 core=0 socket=0 siblings=0-1
workload name=increment size=tiny n=20000 rows=20000 answer=20000 executions=0 for_s=2
sql answer=0
run started=2025-01-02T03:04:05 host=db1 system=Linux release=6.1 cpus=2 kind=shell version=dash workers=increment
round order=0 level=1 repeat=0 released=1735787046.5
seen order=0 ordinal=0 at=1735787046.25 cpu=1 state=R run_ns=1000000000 delay_ns=0
seen order=0 ordinal=0 at=1735787047.25 cpu=1 state=R run_ns=1900000000 delay_ns=100000000
seen order=0 ordinal=0 at=1735787048.25 cpu=0 state=R run_ns=2700000000 delay_ns=300000000
session order=0 ordinal=0 pid=4711 cpu_s=1.5 delay_s=0.25
execution order=0 ordinal=0 start=1735787046.5 end=1735787047.5 answer=20000
execution order=0 ordinal=0 start=1735787047.5 end=1735787048.5 answer=20000
end status=complete
"""
SAMPLES = """dbcpu-lines 1
samples host=db2 system=Linux interval_s=0.25
cpu id=0 core=0 socket=0 siblings=0
cpu id=1 core=1 socket=0 siblings=1
process pid=4711 command=oracle
seen pid=4711 at=2025-01-02T03:00:00 cpu=0 state=S
seen pid=4711 at=1735787046.5 cpu=1 state=R run_ns=5 delay_ns=6
seen pid=4711 at=1735787047 cpu=1 state=R run_ns=500000005 delay_ns=6
seen pid=4712 at=1735787047 cpu=0 state=R
end status=complete
"""


def test_what_a_shell_has_counted_of_itself() -> None:
    run = record(COUNTING)
    assert (run.header.database.kind, run.header.plan.for_s, run.header.plan.executions) == ("shell", 2.0, None)
    (session,) = run.rounds[0].sessions
    assert (session.cpu_s, session.run_delay_s, session.cpu_source) == (1.5, 0.25, "schedstat")
    assert session.server.how == "the process that was started for the session"
    assert run.rounds[0].not_sampled is None
    one, two = session.residency
    assert (one.cpu, one.from_s, one.to_s, two.cpu, two.to_s) == (1, -0.25, 1.25, 0, 2.0)
    assert [one.cpu_s, two.cpu_s] == pytest.approx([1.3, 0.4])
    assert [one.run_delay_s, two.run_delay_s] == pytest.approx([0.2, 0.1])
    assert explain(run).levels[0].median_s == pytest.approx(1.0)


def test_samples_from_the_host_of_the_database() -> None:
    run = line_file.from_text(LINES, "lines", [(SAMPLES, "samples")])
    assert run.header.host is not None
    assert run.header.host.hostname == "db2"
    assert not run.header.host.topology.smt_active
    first = run.rounds[0].sessions[0]
    (stretch,) = first.residency
    # From the start on, though the first look came later.
    assert (stretch.cpu, stretch.from_s, stretch.to_s) == (1, 0.0, 0.75)
    assert stretch.cpu_s == pytest.approx(0.5)
    assert run.header.run_id != record().header.run_id


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        (SAMPLES.replace("4711", "4799"), "saw no process of this run while it ran; it looked at 2 processes"),
        (
            SAMPLES.replace("4711", "4799").replace("interval_s=0.25", "interval_s=30"),
            "its looks were 30.00 s apart, and no round took longer than .*: measure with a larger -s",
        ),
        (SAMPLES.replace("4711", "4799").replace("interval_s=0.25", "interval_s=x"), "was sample-psr on"),
        (SAMPLES.replace("cpu=0 state=S", "cpu=x state=S"), "samples, line 6 is not understood"),
    ],
)
def test_samples_that_do_not_fit(samples: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence):
        line_file.from_text(LINES, "lines", [(samples, "samples")])


def test_samples_alone_are_no_run() -> None:
    with pytest.raises(RecordFormatError, match="holds samples and no run; import the run's file, with --samples x"):
        line_file.from_text(SAMPLES, "x")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("host=db1 ", "", "line 10 is not understood (it has no host=)"),
        ("started=2025-01-02T03:04:05", "started=2025-01-02T03:04:06.1e999", "line 10 is not understood"),
        ("cpus=4", "cpus=four", "line 10 is not understood ('four' is not a whole number from 0 to 65536)"),
        ("n=20", "n=x", "line 7 is not understood"),
        ("rows=160000", "rows=0", "line 7 is not understood"),
        (" executions=2", "", "line 7 is not understood (it has no executions=)"),
        (" answer=160000 ex", " ex", "line 7 is not understood (it has no answer=)"),
        ("spid=4711", "spid=1e5", "line 15 is not understood"),
        ("end=1735787047.25", "end=1735787046", "line 16 is not understood (it ends before it starts)"),
        ("status=complete", "status=fine", "line 23 is not understood (status is none of complete, "),
        ("level=2 repeat=0", f"level={'9' * 5000} repeat=0", "line 18 is not understood"),
        ("siblings=0,2", "siblings=0-70000", "is not understood"),
    ],
)
def test_a_value_of_which_no_record_is_made_is_named_by_its_line(old: str, new: str, sentence: str) -> None:
    assert old in LINES
    with pytest.raises(RecordFormatError, match=re.escape(sentence)):
        record(LINES.replace(old, new, 1))


def test_the_siblings_of_all_cpus_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_SIBLINGS", 5)
    with pytest.raises(RecordFormatError, match="the CPUs have more than 5 siblings together"):
        record(LINES)


def test_a_file_without_an_end_is_read_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_BYTES", 1000)
    with pytest.raises(RecordFormatError, match="/dev/zero is larger than any run"):
        line_reader.read_text("/dev/zero")
