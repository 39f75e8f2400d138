"""increment and gzip-pipe for real, under several shells: lines become records, and nothing survives them.

What they have in common is tested with the smallest of gzip-pipe: counting takes a second at least.
"""

import os
import re
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.measure import workloads
from dbcpu.record.rounds import RunRecord
from dbcpu.store.shell_kit import line_file
from plugins.shell_kit import LIMIT_S, SCRIPTS, Kit

NOBODY = 65534


def test_counting_becomes_a_record(kit: Kit) -> None:
    code, out, err = kit.run("increment", "-s", "tiny", "-S", kit.shell, "-l", "a b", "1,2", "1")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    header = record.header
    assert (header.status, header.label, header.database.kind, header.plan.for_s) == ("complete", "a b", "shell", 1.0)
    assert header.plan.workload.sql == workloads.load("shell", "increment").work("tiny").sql
    assert [each.level for each in record.rounds] == [1, 2]
    for each in record.rounds:
        assert each.not_sampled is None
        for session in each.sessions:
            assert (session.answer_ok, session.error) == (True, None)
            # None begins that would end more than a second after its own first began, if as long as the one before.
            for before, after in pairwise(session.executions):
                assert after.start_s + before.elapsed_s - session.executions[0].start_s < 1.0
            assert session.cpu_s is not None
            assert session.run_delay_s is not None
            assert session.server.verified
    assert explain(record).verdict
    assert re.search(r"increment: 1 session: \d+ to \d+ counts/s each, max/min 1.00, all \d+\n", err)
    shown = re.search(
        r"increment: 2 sessions: (\d+) to (\d+) counts/s each, max/min \d.*, all (\d+)\n"
        r"increment: counts/s of each session: (\d+) (\d+)\n",
        err,
    )
    assert shown
    least, most, total, *each_rate = map(int, shown.groups())
    assert sorted(each_rate) == [least, most]
    assert abs(total - sum(each_rate)) <= 1
    for rate, session in zip(each_rate, record.rounds[1].sessions, strict=True):
        last = session.executions[-1]
        lasted_s = last.start_s + last.elapsed_s - session.executions[0].start_s
        assert abs(rate - 20_000 * len(session.executions) / lasted_s) < 1


def test_a_session_begins_no_execution_that_would_end_too_late(one_kit: Kit) -> None:
    orders = "define work 1\nsleep 1.6; answer=done\nrun - +3\nend\n"
    command = [*one_kit.shell.split(), str(SCRIPTS / "session")]
    done = subprocess.run(
        command, input=orders, capture_output=True, text=True, env=one_kit.environment, timeout=LIMIT_S
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ready", "ran", "done", "ended"]


def test_a_count_that_is_longer_than_the_time_given_is_said(one_kit: Kit, tmp_path: Path) -> None:
    """With a copy of the scripts whose count sleeps."""
    (tmp_path / "shell").mkdir()
    for script in ("increment", "session", "lines.sh", "sessions.sh", "sample-psr"):
        shutil.copy(SCRIPTS / script, tmp_path / "shell" / script)
    (tmp_path / "sql" / "shell").mkdir(parents=True)
    head = "# answer: n\n# rows: n\n# sizes: tiny=5\n"
    (tmp_path / "sql" / "shell" / "increment.sh").write_text(f"{head}sleep 1.2\nanswer=:n\n")
    command = [*one_kit.shell.split(), str(tmp_path / "shell" / "increment"), "1", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=one_kit.environment, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\nincrement: the longest count took \d+\.\d s, and only 1 s were given: give more ", done.stderr)


def test_compressing_becomes_a_record(kit: Kit) -> None:
    code, out, err = kit.run("gzip-pipe", "-e", "2", "-S", kit.shell, "2", "4")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert record.header.plan.workload.size == "tiny"
    assert record.header.plan.workload.sql == workloads.load("shell", "gzip_pipe").work("tiny").sql
    sessions = record.rounds[0].sessions
    assert [(each.answer_ok, each.error, len(each.executions)) for each in sessions] == [(True, None, 2)] * 2
    assert all(each.cpu_s is not None and each.cpu_s > 0 for each in sessions)


def test_placement_is_seen(one_kit: Kit) -> None:
    code, out, err = one_kit.run("increment", "2", "1")
    assert code == 0, err
    each = line_file.from_text(out, "stdout").rounds[0]
    for session in each.sessions:
        assert session.residency
        assert sum(stretch.cpu_s or 0.0 for stretch in session.residency) <= (session.cpu_s or 0.0) + 0.5


@pytest.mark.parametrize("size", ["x=//;w MADE\ns/y", "tiny=//;w MADE\n", "a b", "", "-n"])
def test_a_size_is_a_word_and_no_program_of_sed(size: str, one_kit: Kit, tmp_path: Path) -> None:
    code, out, err = one_kit.run("increment", "-s", size.replace("MADE", str(tmp_path / "made")), "1", "1")
    assert (code, out) == (2, ""), err
    assert "is not the name of a size" in err
    assert not (tmp_path / "made").exists(), "sed wrote a file"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("script", "work"), [("increment", "600"), ("gzip-pipe", "1048576")])
def test_a_signal_leaves_no_child_and_no_file(script: str, work: str, how: signal.Signals, kit: Kit) -> None:
    with kit.start(script, "-S", kit.shell, "3", work) as process:
        kit.await_lines(process, "\nround ")
        process.send_signal(how)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + (signal.SIGTERM if how is signal.SIGHUP else how)
    assert out.splitlines()[-1] == "end status=interrupted"
    kit.nothing_is_left()


@pytest.mark.parametrize(("script", "work"), [("increment", "600"), ("gzip-pipe", "64")])
def test_sessions_end_by_themselves_when_the_script_is_killed(script: str, work: str, one_kit: Kit) -> None:
    more = ("-e", "100000") if script == "gzip-pipe" else ()
    with one_kit.start(script, *more, "3", work) as process:
        one_kit.await_lines(process, "\nround ")
        process.kill()
        process.communicate(timeout=60)
    one_kit.no_process_is_left()


def assert_first_rounds(record: RunRecord) -> None:
    """Two or more: a busy machine kills a script later than it is told to."""
    orders = [each.order for each in record.rounds]
    assert orders == list(range(max(2, len(orders))))


def test_rounds_that_have_ended_are_in_the_file_when_the_script_is_killed(kit: Kit, tmp_path: Path) -> None:
    result = tmp_path / "result"
    with kit.start("gzip-pipe", "-S", kit.shell, "-o", str(result), "-r", "1000", "1", "4") as process:
        kit.await_lines(process, "\nround order=2 ")
        process.kill()
        process.communicate(timeout=60)
    kit.no_process_is_left()
    record = line_file.from_content(result.read_bytes(), str(result))
    assert record.header.status == "interrupted"
    assert_first_rounds(record)
    for session in (session for each in record.rounds for session in each.sessions):
        assert (session.answer_ok, session.error) == (True, None)
    assert [file.name for file in tmp_path.glob("result*")] == ["result"]


def test_the_next_run_names_what_a_killed_one_left(one_kit: Kit) -> None:
    with one_kit.start("increment", "-r", "100", "1", "1") as process:
        one_kit.await_lines(process, "\nround order=2 ")
        process.kill()
        process.communicate(timeout=60)
    (left,) = one_kit.folder.iterdir()
    one_kit.no_process_is_left()
    with one_kit.start("increment", "1", "1") as process:
        _, err = process.communicate(timeout=60)
    assert f"increment: a run that was killed left {left}; dbcpu import {left}/lines, or remove the folder\n" in err
    assert_first_rounds(line_file.from_content((left / "lines").read_bytes(), "lines"))


@pytest.mark.parametrize("dangling", [False, True])
def test_a_result_takes_the_place_of_a_link_and_does_not_follow_it(
    dangling: bool, one_kit: Kit, tmp_path: Path
) -> None:
    """The folder may be of another user, who knows the name."""
    victim, link = tmp_path / "victim", tmp_path / "result"
    if not dangling:
        victim.write_text("precious")
    link.symlink_to(victim)
    code, _, err = one_kit.run("gzip-pipe", "-o", str(link), "1", "4")
    assert code == 0, err
    assert not link.is_symlink()
    assert line_file.from_content(link.read_bytes(), str(link)).header.status == "complete"
    assert victim.exists() == (not dangling)
    assert dangling or victim.read_text() == "precious"


def test_a_result_that_cannot_be_written_is_said_and_nothing_is_left(one_kit: Kit, tmp_path: Path) -> None:
    code, out, err = one_kit.run("gzip-pipe", "-o", str(tmp_path / "none" / "result"), "1", "4")
    assert (code, out) == (3, "")
    assert err == f"gzip-pipe: {tmp_path}/none/result could not be written; give another file with -o\n", (
        "before it measures"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
@pytest.mark.parametrize("kind", ["folder", "FIFO", "device"])
def test_what_another_user_has_put_in_place_of_the_result_is_replaced(kind: str, one_kit: Kit, tmp_path: Path) -> None:
    """Neither is a file made where their link leads, nor is their FIFO waited for."""
    theirs, elsewhere = tmp_path / "theirs", tmp_path / "elsewhere"
    theirs.mkdir()
    elsewhere.mkdir()
    result = theirs / "result"
    if kind == "FIFO":
        os.mkfifo(result)
    else:
        result.symlink_to(elsewhere if kind == "folder" else "/dev/null")
    for path in (theirs, result):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    code, _, err = one_kit.run("gzip-pipe", "-o", str(result), "1", "4")
    assert code == 0, err
    assert line_file.from_content(result.read_bytes(), str(result)).header.status == "complete"
    assert not result.is_symlink()
    assert ([*elsewhere.iterdir()], [file.name for file in theirs.iterdir()]) == ([], ["result"])


def test_the_folder_of_a_session_that_is_there_already_is_not_used(tmp_path: Path) -> None:
    """Another user may have made it, with links in it."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    setup, _ = (SCRIPTS.parent / "sql/shell/gzip_pipe.sh").read_text().split("dd if=/dev/zero bs=1048576 count=:n")
    trap = f'cd "$TMPDIR"; mkdir dbcpu-session.$$; mkfifo dbcpu-session.$$/in; ln -s {victim} dbcpu-session.$$/out'
    done = subprocess.run(
        ["sh", "-euc", f"{trap}\n{setup}"], env={**os.environ, "TMPDIR": str(tmp_path)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith("failed the folder ")
    assert victim.read_text() == "precious"


def test_a_result_for_a_full_disk_is_said_in_one_sentence(kit: Kit) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*kit.shell.split(), str(SCRIPTS / "gzip-pipe"), "1", "4"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=kit.environment, timeout=LIMIT_S
        )
    kit.nothing_is_left()
    _, last = done.stderr.splitlines()
    assert done.returncode == 3
    assert last.startswith("gzip-pipe: the result could not be written to standard output; ")


def test_a_path_that_is_too_long_is_refused_before_anything_is_measured(kit: Kit) -> None:
    code, out, err = kit.run("increment", "-o", f"/{'x' * 70_000}/result", "1", "1")
    assert (code, out) == (2, "")
    assert err == "increment: -o has a path of 70008 characters; give one of at most 4000\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("increment", "x", "1"), "the numbers of sessions are not understood: x"),
        (("increment", "1", "0"), "0 is not a whole number of seconds"),
        (("increment", "-s", "huge", "1", "1"), "workload increment has no size 'huge'; it has: tiny=20000"),
        (("increment", "-s", "x=//;w pwned\ns/y", "1", "1"), "is not the name of a size"),
        (("increment", "-S", "nosuchshell", "1", "1"), "there is no nosuchshell in PATH"),
        (("increment", "-r", "0", "1", "1"), "-r 0 is not a number of rounds"),
        (("gzip-pipe", "1", "3"), "3 is not a number of MiB from 4 to 1048576"),
        (("increment", "1"), "usage: increment"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str, one_kit: Kit) -> None:
    code, out, err = one_kit.run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize("script", [("increment",), ("gzip-pipe",), ("psql-fanout", "-n", "1"), ("sqlplus-fanout",)])
@pytest.mark.parametrize("label", ["a\nend status=complete", "a\tb", "\x1b[2J", "a\r"])
def test_a_label_with_a_control_character_is_refused_before_anything_else(
    script: tuple[str, ...], label: str, kit: Kit
) -> None:
    arguments = {"psql-fanout": ("host=127.0.0.1 port=1",), "sqlplus-fanout": ("scott@db",)}.get(script[0], ("1", "4"))
    code, out, err = kit.run(*script, "-l", label, *arguments)
    assert (code, out) == (2, "")
    assert err == (
        f"{script[0]}: the label (-l) has a control character in it, such as a line break or a tab; "
        "it has to be one line of text\n"
    )


def test_a_shell_that_says_two_lines_of_its_version_is_refused(one_kit: Kit) -> None:
    odd = one_kit.folder.parent / "odd"
    odd.write_text("#!/bin/sh\nprintf 'a\\nend status=complete\\n'\n")
    odd.chmod(0o755)
    code, out, err = one_kit.run("increment", "-S", str(odd), "1", "1")
    assert (code, out) == (2, "")
    assert "the version of odd has a control character in it" in err


def test_a_label_is_written_as_it_is(kit: Kit) -> None:
    code, out, err = kit.run("gzip-pipe", "-S", kit.shell, "-l", r"-n é\n \0101", "1", "4")
    assert code == 0, err
    assert line_file.from_text(out, "stdout").header.label == r"-n é\n \0101"


def test_a_session_that_cannot_work_is_told(one_kit: Kit) -> None:
    (one_kit.folder.parent / "bin" / "gzip").write_text("#!/bin/sh\nexit 1\n")
    (one_kit.folder.parent / "bin" / "gzip").chmod(0o755)
    code, out, err = one_kit.run("gzip-pipe", "1", "4")
    assert (code, out) == (3, "")
    assert "0 of 1 sessions are ready: the warm-up was not done" in err
