"""The program that is sent to a database host, under each shell and awk that is here."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT
from support.servers.ssh import TOOLS, make_tools

SCRIPT = ROOT / "shell" / "serve-host"


class Served:
    """A running program, asked as dbcpu asks it."""

    def __init__(self, path: str) -> None:
        shell = shutil.which("sh", path=path)
        assert shell is not None
        self.process = subprocess.Popen(
            [shell, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PATH": path}
        )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline().split()

    def ask(self, *question: str) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(question) + "\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != ".\n":
            assert line, "it ended"
            lines.append(line[:-1])
        return lines


@pytest.fixture(params=TOOLS)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with (started := Served(str(make_tools(tmp_path / "tools", TOOLS[request.param])))).process:
        yield started
        started.process.kill()


def test_greeting_names_the_process_its_parent_and_the_clock_ticks(served: Served) -> None:
    assert served.greeting == [
        "dbcpu-host",
        "1",
        str(served.process.pid),
        str(os.getpid()),
        str(os.sysconf("SC_CLK_TCK")),
    ]


def test_files_come_line_by_line_and_missing_ones_are_told(served: Served, tmp_path: Path) -> None:
    (tmp_path / "two lines").write_text("one\n  two | .\n")
    (tmp_path / "dot").write_text(".\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "unended").write_text("last")
    asked = [str(tmp_path / name) for name in ("two lines", "none", "dot", "empty", "unended")]
    assert served.ask("f", *asked) == [
        f"+{asked[0]}", "|one", "|  two | .", "-", f"+{asked[2]}", "|.", f"+{asked[3]}", f"+{asked[4]}", "|last",
    ]  # fmt: skip


def test_nothing_is_made_up_after_a_line_that_is_not_ended(served: Served, tmp_path: Path) -> None:
    """As mawk does with what was in its memory before: so it has to be in use."""
    (tmp_path / "long").write_text("".join(f"line {number} of some length\n" for number in range(300)))
    (tmp_path / "unended").write_text("last")
    for _ in range(5):
        assert len(served.ask("f", str(tmp_path / "long"))) == 301
        assert served.ask("f", str(tmp_path / "unended")) == [f"+{tmp_path}/unended", "|last"]


def test_names_are_never_taken_for_commands(served: Served, tmp_path: Path) -> None:
    evil = tmp_path / "a'; touch made; echo 'b"
    evil.mkdir()
    (evil / "cmdline").write_text("x\n")
    made = f"{tmp_path}/made"
    for name in (f"{tmp_path}/x'; touch {made}; echo 'y", str(evil), f"{evil}/cmdline", f"$(touch {made})", "`id`"):
        assert served.ask("f", name) == ["-"]
        assert served.ask("l", name) == []
    found = served.ask("g", f"{tmp_path}/*/cmdline")
    assert found == ["-"]
    assert not Path(made).exists()
    assert not Path("made").exists()


def test_many_paths_at_once_are_all_answered(served: Served, tmp_path: Path) -> None:
    wanted = [tmp_path / f"{'x' * 60}{number}" for number in range(100)]
    for number, path in enumerate(wanted):
        path.write_text(f"{number}\n")
    lines = served.ask("f", *map(str, wanted))
    assert [line for line in lines if line.startswith("|")] == [f"|{number}" for number in range(100)]
    assert sum(line.startswith("+") for line in lines) == 100


def test_command_lines_lose_their_zero_bytes(served: Served) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            while not Path(f"/proc/{child.pid}/cmdline").read_bytes():
                pass  # empty for a moment, while the program is loaded
            assert served.ask("f", f"/proc/{child.pid}/cmdline") == [f"+/proc/{child.pid}/cmdline", "|sleep 60 "]
        finally:
            child.kill()
    assert served.ask("f", "/proc/4194305/cmdline") == ["-"]


@pytest.mark.parametrize("path", ["proc/pressure/cpu", "sys/fs/cgroup/db/cpu.pressure"])
def test_pressure_that_cannot_be_read_ends_nothing(served: Served, tmp_path: Path, path: str) -> None:
    """As under psi=0, where opening the file works and reading it fails: mawk ends then, if it reads it itself."""
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.symlink_to("/proc/self/mem")
    with pytest.raises(OSError, match="Input/output error"):
        file.read_bytes()
    assert served.ask("f", str(file)) == [f"+{file}"]
    file.unlink()
    file.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n")
    assert served.ask("f", str(file)) == [f"+{file}", "|some avg10=0.00 avg60=0.00 avg300=0.00 total=7"]


def test_priority_is_never_given_to_a_parent_that_is_not_sshd(served: Served) -> None:
    """The parent here is the tests' own process."""
    served.ask("w", f"/proc/{os.getpid()}")
    assert os.sched_getscheduler(os.getpid()) == os.SCHED_OTHER
    served.ask("w")


def test_patterns_find_files_that_can_be_read(served: Served, tmp_path: Path) -> None:
    for name in ("cpu0", "cpu1", "cpu11", "cpuidle"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "online").write_text("1\n")
    found = served.ask("g", f"{tmp_path}/cpu[0-9]*/online", f"{tmp_path}/cpu[0-9]*/none")
    assert [line for line in found if line.startswith("+")] == [
        f"+{tmp_path}/{cpu}/online" for cpu in ("cpu0", "cpu1", "cpu11")
    ]
    assert served.ask("l", str(tmp_path)) == ["|cpu0", "|cpu1", "|cpu11", "|cpuidle", "|tools"]
    assert served.ask("l", f"{tmp_path}/none") == []


def test_a_poll_has_the_clock_each_process_and_the_cpus(served: Served) -> None:
    own = Path(f"/proc/{os.getpid()}")
    served.ask("w", str(own), "/proc/4194305")
    clock, process, gone, *cpus = served.ask("p", "1")
    assert abs(float(clock[1:]) - float(Path("/proc/uptime").read_text().split()[0])) < 60
    state, cpu, start, run, delay = process.split()
    assert state in "RSD"
    assert int(cpu) in os.sched_getaffinity(0)
    assert start == own.joinpath("stat").read_text().rpartition(") ")[2].split()[19]
    if own.joinpath("schedstat").exists():
        assert 0 < int(run) <= int(own.joinpath("schedstat").read_text().split()[0])
        assert int(delay) >= 0
    assert gone == "-"
    assert [line.split()[0] for line in cpus] == [
        f"|{line.split()[0]}" for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")
    ]
    assert len(served.ask("p", "0")) == 3
    served.ask("w")
    assert len(served.ask("p", "0")) == 1


def test_all_processes_are_listed(served: Served) -> None:
    pids = {line[1:].split()[0] for line in served.ask("a")}
    assert {"1", str(os.getpid()), str(served.process.pid)} <= pids


def test_a_process_with_line_breaks_in_its_name_is_one_of_them(served: Served) -> None:
    """Only its first line came, which nobody can read: its CPU time was missing in that of the others."""
    code = "open('/proc/self/comm', 'w').write('a\\nb) R'); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
        assert named.stdout is not None
        named.stdout.readline()
        (stat,) = [line for line in served.ask("a") if line.startswith(f"|{named.pid} ")]
        assert re.match(rf"\|{named.pid} \(a b\) R\) [RS] {os.getpid()} ", stat), stat


def test_commands_are_run_without_the_programs_own_input(served: Served) -> None:
    assert served.ask("x", "( cat; echo done; exit 4 ) </dev/null 2>&1; echo s$?") == ["|done", "|s4"]
    assert served.ask("l", "/nowhere") == [], "nothing of the questions was eaten"


def test_it_ends_with_its_input(served: Served) -> None:
    assert served.process.stdin is not None
    served.process.stdin.close()
    assert served.process.wait(120) == 0


def test_host_without_awk_says_so(tmp_path: Path) -> None:
    folder = make_tools(tmp_path / "tools", TOOLS["dash and mawk"])
    (folder / "awk").unlink()
    served = Served(str(folder))
    assert served.greeting == ["dbcpu-host", "none", "no-awk", "Linux"]
    served.process.communicate()


def test_it_says_how_it_is_used() -> None:
    done = subprocess.run([str(SCRIPT), "--help"], capture_output=True, text=True, check=True)
    assert "usage: serve-host" in done.stdout
    assert "#" not in done.stdout.replace("#!", "")
