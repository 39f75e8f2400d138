"""sample-psr, watch-psr, topology and every --help, for real."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_topology
from dbcpu.store.shell_kit import line_reader
from plugins.shell_kit import LIMIT_S, SCRIPTS, Kit, await_while, read
from support.archives import unpack
from support.paths import ROOT

KIT = ("increment", "gzip-pipe", "cpu-set", "psql-fanout", "sqlplus-fanout", "sample-psr", "watch-psr", "topology",
       "smt", "capture-host", "session")  # fmt: skip
OWN = "1"
"""A process that is there as long as any."""
HOSTS = sorted(path for path in (ROOT / "tests/hosts").glob("*.tar.gz") if "512" not in path.name)


@pytest.mark.parametrize("script", KIT)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(script: str, flag: str, one_kit: Kit) -> None:
    code, out, err = one_kit.run(script, flag)
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: {script}")


@pytest.mark.parametrize("script", ["nightly", "test", "venv"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_what_keeps_the_project(script: str, flag: str) -> None:
    """Asked for, they do nothing else: one of them installs, another measures."""
    done = subprocess.run([str(SCRIPTS / script), flag], capture_output=True, text=True, check=True)
    assert f"usage: shell/{script}" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("script", KIT)
def test_every_script_is_documented(script: str) -> None:
    assert f"`{script}" in (ROOT / "docs/shell-kit.md").read_text("utf-8")
    assert os.access(SCRIPTS / script, os.X_OK)


def test_named_processes_are_looked_at_until_they_are_gone(kit: Kit) -> None:
    own = os.getpid()
    code, out, err = kit.run("sample-psr", "-t", "3", "-i", "0.2", str(own), "999999999")
    assert (code, err) == (0, "")
    samples = line_reader.parse(out, "stdout")
    assert samples.samples["system"] == "Linux"
    assert set(samples.processes) == {own}
    first, *_, last = samples.processes[own]
    assert first.cpu in os.sched_getaffinity(0)
    assert first.at_s < last.at_s
    assert first.run_s is not None
    assert kit.run("sample-psr", "999999999")[0] == 0


def test_processes_are_found_by_their_command_line(kit: Kit) -> None:
    nap = f"60.{os.getpid()}"  # no other process has just this
    with subprocess.Popen(["sleep", nap]) as sleeper:
        code, out, _ = kit.run("sample-psr", "-t", "1", "-p", f"sleep {nap}")
        sleeper.kill()
    assert code == 0
    assert list(line_reader.parse(out, "stdout").processes) == [sleeper.pid]


TWO_THREADS = """import sys, threading
thread = threading.Thread(target=sys.stdin.read)
thread.start()
print(thread.native_id, flush=True)
thread.join()"""


def test_a_process_that_begins_later_is_found_by_the_next_looks_and_its_threads_are_none(
    kit: Kit, tmp_path: Path
) -> None:
    """Told by looks and not by time: those at a process that was there before are counted."""
    mark, file = f"begun-later-{os.getpid()}", tmp_path / "samples"
    program = [sys.executable, "-c", TWO_THREADS, mark]

    def looks(pid: int) -> list[str]:
        return [line for line in read(file).splitlines() if line.startswith(f"seen pid={pid} ")]

    with ExitStack() as stack:

        def started() -> tuple[int, int]:
            process = stack.enter_context(
                subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            assert process.stdout is not None
            return process.pid, int(process.stdout.readline())

        def await_looks(pid: int, many: int) -> None:
            await_while(sampler, lambda: len(looks(pid)) >= many)

        early, _ = started()
        sampler = stack.enter_context(kit.start("sample-psr", "-p", mark, "-o", str(file)))
        await_looks(early, 1)
        late, thread = started()
        before = len(looks(early))
        await_looks(early, before + 12)
        sampler.send_signal(signal.SIGTERM)
        assert sampler.communicate(timeout=60) == ("", "")
    lines = read(file).splitlines()
    missed = lines[: lines.index(looks(late)[0])]
    assert sum(line in missed for line in looks(early)) <= before + 2
    assert {early, late} <= set(line_reader.parse("\n".join(lines), "samples").processes)
    assert not looks(thread)


@pytest.mark.parametrize("script", ["sample-psr", "watch-psr"])
def test_a_pattern_that_awk_does_not_understand_is_refused(script: str, kit: Kit) -> None:
    code, out, err = kit.run(script, "-p", "[a")
    assert (code, out) == (2, "")
    assert err == (f"{script}: -p [a is no regular expression that awk understands; correct it\n")


@pytest.mark.parametrize("script", ["sample-psr", "watch-psr"])
def test_a_pattern_that_would_take_awk_long_is_refused(script: str, kit: Kit) -> None:
    code, out, err = kit.run(script, "-p", "a?" * 35_000)
    assert (code, out) == (2, "")
    assert err == f"{script}: -p is a pattern of 70000 characters; give one of at most 1000\n"


def test_a_signal_ends_the_lines_whole(kit: Kit, tmp_path: Path) -> None:
    file = tmp_path / "samples"
    with kit.start("sample-psr", "-i", "300", "-o", str(file), str(os.getpid())) as process:
        await_while(process, lambda: "seen " in read(file))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert file.read_text().splitlines()[-1] == "end status=complete"
    kit.nothing_is_left()


def test_one_table_of_those_that_run(kit: Kit) -> None:
    code, out, err = kit.run("watch-psr", "--once", "-a", "-i", "1", "-p", "python")
    assert (code, err) == (0, "")
    heading, *rows = out.splitlines()
    assert heading.split() == ["CPU", "core", "PID", "S", "share", "command"]
    assert any(str(os.getpid()) in row.split() for row in rows)


def test_the_live_table_ends_with_a_signal(kit: Kit) -> None:
    with kit.start("watch-psr", "-i", "300") as process:
        await_while(process, lambda: list(kit.folder.glob("*/before")))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    kit.nothing_is_left()


@pytest.mark.parametrize("archive", HOSTS, ids=lambda path: path.name)
def test_the_drawing_agrees_with_dbcpu(archive: Path, one_kit: Kit, tmp_path: Path) -> None:
    unpack(archive, tmp_path / "host")
    root = tmp_path / "host"
    if not (root / "sys").is_dir():
        (root,) = root.iterdir()
    cpus = [cpu for cpu in read_topology(open_host(str(archive))).cpus if cpu.online]
    code, out, err = one_kit.run("topology", "-r", str(root))
    assert (code, err) == (0, "")
    assert out.startswith(
        f"{len(cpus)} CPUs on {len({cpu.core for cpu in cpus})} cores, {len({cpu.socket for cpu in cpus})} "
    )


def test_a_capture_has_what_the_kernel_shows_with_every_shell(kit: Kit, tmp_path: Path) -> None:
    """Lists of CPUs cannot be read byte by byte, as plain shells read."""
    archive = tmp_path / "here.tar.gz"
    assert kit.run("capture-host", "-o", str(archive))[0] == 0
    captured, cpus = open_host(str(archive)), Path("/sys/devices/system/cpu")
    shown = [*cpus.glob("cpu[0-9]*/topology/*_list"), *Path("/sys/devices/system/node").glob("node[0-9]*/cpulist")]
    kept = [file for file in shown if file.name in ("core_cpus_list", "thread_siblings_list", "cpulist")]
    assert len(kept) >= len(list(cpus.glob("cpu[0-9]*/topology")))
    for file in kept:
        assert captured.read(str(file)) == file.read_text()


def test_the_way_in_which_files_are_put_in_place_is_one() -> None:
    """Each of these scripts is copied alone, so each has these functions."""
    scripts = ("lines.sh", "sqlplus-fanout", "capture-host", "sample-psr", "nightly")
    for name, fewer in (("shelter", 0), ("hand_over", 0), ("into_file", 1), ("try_output", 2)):
        own = re.compile(rf"^{name}\(\) \{{\n(?:.*\n)*?\}}\n", re.MULTILINE)
        found = [text for script in scripts for text in own.findall((SCRIPTS / script).read_text())]
        assert (len(found), len(set(found))) == (len(scripts) - fewer, 1), name


@pytest.mark.parametrize("script", [("capture-host",), ("sample-psr", "-t", "1", OWN)])
def test_a_file_is_made_where_its_path_leads_and_not_where_cdpath_would(
    script: tuple[str, ...], one_kit: Kit, tmp_path: Path
) -> None:
    for folder in ("here/out", "other/out"):
        (tmp_path / folder).mkdir(parents=True)
    name, *arguments = script
    done = subprocess.run(
        ["dash", str(SCRIPTS / name), "-o", "out/x", *arguments], cwd=tmp_path / "here",
        env={**one_kit.environment, "CDPATH": str(tmp_path / "other")}, check=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0
    assert [file.name for file in (tmp_path / "here/out").iterdir()] == ["x"]
    assert list((tmp_path / "other/out").iterdir()) == []


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("script", [("gzip-pipe", "1", "4"), ("sample-psr", "-t", "1", OWN)])
def test_standard_output_by_its_path_is_added_to_where_it_is_a_file(
    script: tuple[str, ...], path: str, kit: Kit, tmp_path: Path
) -> None:
    file = tmp_path / "result"
    file.write_text("before\n")
    name, *arguments = script
    with file.open("a") as out:
        subprocess.run(
            [*kit.shell.split(), str(SCRIPTS / name), "-o", path, *arguments], stdout=out, stderr=subprocess.PIPE,
            env=kit.environment, check=True, timeout=LIMIT_S,
        )  # fmt: skip
    lines = file.read_text().splitlines()
    assert (lines[:2], lines[-1]) == (["before", "dbcpu-lines 2"], "end status=complete")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize("script", ["capture-host", "sample-psr"])
def test_a_folder_that_is_not_roots_own_is_said_and_not_left(script: str, one_kit: Kit, tmp_path: Path) -> None:
    """As on network file systems, which give what root makes to nobody."""
    (tmp_path / "out").mkdir()
    for program, says in (("id", "0"), ("ls", "drwxr-xr-x 2 65534 65534 40 Nov 1 12:00 .")):
        place = Path(one_kit.environment["PATH"].split(os.pathsep)[0]) / program
        place.write_text(f"#!/bin/sh\necho '{says}'\n")
        place.chmod(0o755)
    arguments = (OWN,) if script == "sample-psr" else ()
    code, out, err = one_kit.run(script, "-o", str(tmp_path / "out/x"), *arguments)
    assert (code, out) == (3, "")
    assert err.startswith(f"{script}: a folder made beside {tmp_path}/out/x would not be yours alone")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_result_of_sqlplus_that_cannot_be_written_is_said_and_nothing_else(kit: Kit, tmp_path: Path) -> None:
    sqlplus = Path(kit.environment["PATH"].split(os.pathsep)[0]) / "sqlplus"
    sqlplus.write_text("#!/bin/sh\n")
    sqlplus.chmod(0o755)
    code, out, err = kit.run("sqlplus-fanout", "-n", "1", "-o", str(tmp_path / "none/x"), "/")
    assert (code, out) == (3, "")
    assert err == f"sqlplus-fanout: {tmp_path}/none/x could not be written; give another file with -o\n"


def test_a_capture_takes_the_place_of_a_link_and_does_not_follow_it(one_kit: Kit, tmp_path: Path) -> None:
    """The folder may be of another user, who knows the name."""
    victim, link = tmp_path / "victim", tmp_path / "host.tar.gz"
    victim.write_text("precious")
    link.symlink_to(victim)
    assert one_kit.run("capture-host", "-o", str(link))[0] == 0
    assert victim.read_text() == "precious"
    assert not link.is_symlink()
    assert [file.name for file in tmp_path.glob("host.tar.gz*")] == ["host.tar.gz"]


def test_samples_take_the_place_of_a_link_and_do_not_follow_it(kit: Kit, tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "samples"
    victim.write_text("precious")
    link.symlink_to(victim)
    code, out, err = kit.run("sample-psr", "-o", str(link), "-t", "1", str(os.getpid()))
    assert (code, out, err) == (0, "", "")
    assert (victim.read_text(), link.is_symlink()) == ("precious", False)
    assert link.read_text().startswith("dbcpu-lines ")
    assert kit.run("sample-psr", "-o", str(tmp_path / "none" / "x"), "-t", "1", str(os.getpid())) == (
        3,
        "",
        f"sample-psr: {tmp_path}/none/x could not be written; give another file with -o\n",
    )


def test_the_drawing_is_the_same_with_every_awk(kit: Kit, tmp_path: Path) -> None:
    unpack(ROOT / "tests/hosts/c4-4xlarge-half-offline.tar.gz", tmp_path / "host")
    code, out, err = kit.run("topology", "-r", str(tmp_path / "host"))
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "8 CPUs on 8 cores, 1 socket, 1 memory node; each is shown as a core of its own",
        "offline: 8,9,10,11,12,13,14,15",
        "",
        "  core socket   node  CPUs that share it",
        "     0      0      0  0",
    ]
