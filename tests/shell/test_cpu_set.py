"""cpu-set: taskset for real, and the processor sets of other systems by stand-ins that note how they are called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dbcpu.store.shell_kit import line_file
from plugins.shell_kit import Kit

CPU = str(min(os.sched_getaffinity(0)))
OWN = "own"
"""In arguments: this process, whose number is another in each worker."""
PSRSET = """#!/bin/sh
echo "$*" >>"$NOTES"
case $1 in
-c) echo "created processor set 7"; exit "${REFUSED:-0}" ;;
-e) shift 2; exec "$@" ;;
esac
"""
OTHER = """#!/bin/sh
echo "${0##*/} $*" >>"$NOTES"
"""


@pytest.fixture
def notes(one_kit: Kit, tmp_path: Path) -> Path:
    """Where stand-ins note their arguments."""
    one_kit.environment["NOTES"] = str(tmp_path / "notes")
    return tmp_path / "notes"


def stand_in(kit: Kit, program: str, text: str) -> None:
    place = Path(kit.environment["PATH"].split(os.pathsep)[0]) / program
    place.write_text(text)
    place.chmod(0o755)


def test_a_measurement_on_one_cpu_knows_that_it_had_one(kit: Kit) -> None:
    code, out, err = kit.run("cpu-set", CPU, str(Path(__file__).parents[2] / "shell/gzip-pipe"), "1,2", "16")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert (record.header.plan.vcpus, record.header.plan.vcpus_source) == (1, "affinity")
    assert record.header.host is not None
    assert record.header.host.limits.allowed_cpus == (int(CPU),)
    assert {session.allowed_cpus for each in record.rounds for session in each.sessions} == {(int(CPU),)}
    assert {one.cpu for each in record.rounds for session in each.sessions for one in session.residency} <= {int(CPU)}


def test_a_process_that_runs_is_held_there(one_kit: Kit) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        code, _, err = one_kit.run("cpu-set", CPU, "-p", str(process.pid))
        assert code == 0, err
        assert os.sched_getaffinity(process.pid) == {int(CPU)}
        process.kill()


@pytest.mark.parametrize(
    ("cpus", "says"),
    [("1-0", "1-0 in 1-0 ends before it begins"), ("4095", "CPU 4095 is not online here; CPUs 0"),
     (f"{CPU},4000-4001", "CPU 4000 is not online here")],
)  # fmt: skip
def test_cpus_that_are_not_there_are_wrong_usage(kit: Kit, cpus: str, says: str) -> None:
    """taskset takes those of a list that are there, and says nothing of the others."""
    code, out, err = kit.run("cpu-set", cpus, "echo", "ran")
    assert (code, out) == (2, "")
    assert err.startswith(f"cpu-set: {says}")


SOME = """#!/bin/sh
case $1 in
-c) shift 2; exec {taskset} -c {cpu} "$@" ;;
-acp) exec {taskset} -acp {cpu} "$3" ;;
esac
"""
"""As the kernel does with a cpuset of that one CPU."""


@pytest.mark.parametrize("running", [False, True])
def test_cpus_that_a_cpuset_keeps_away_are_said(running: bool, kit: Kit) -> None:
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    if online.isdecimal():
        pytest.skip("this machine has one CPU")
    taskset = shutil.which("taskset")
    assert taskset
    stand_in(kit, "taskset", SOME.format(taskset=taskset, cpu=CPU))
    with subprocess.Popen(["sleep", "60"]) as process:
        arguments = ("-p", str(process.pid)) if running else ("echo", "ran")
        code, out, err = kit.run("cpu-set", online, *arguments)
        process.kill()
    assert (code, "ran" in out) == (3 if running else 2, False)
    assert "is not allowed" in err
    assert "(a container's cpuset, for example)" in err


def test_the_exit_code_is_that_of_the_program(one_kit: Kit) -> None:
    assert one_kit.run("cpu-set", CPU, "sh", "-c", "exit 7")[0] == 7


def test_on_solaris_a_processor_set_is_made_and_deleted(one_kit: Kit, notes: Path) -> None:
    stand_in(one_kit, "psrset", PSRSET)
    code, out, _ = one_kit.run("cpu-set", "-i", "0-1,4", "sh", "-c", 'echo "on $DBCPU_CPU_SET"; exit 3')
    assert (code, out) == (3, "on 0-1,4\n")
    assert notes.read_text().splitlines() == [
        "-c 0 1 4", "-f 7", '-e 7 sh -c echo "on $DBCPU_CPU_SET"; exit 3', "-d 7"
    ]  # fmt: skip


def test_a_processor_set_that_is_refused_is_said(one_kit: Kit, notes: Path) -> None:
    stand_in(one_kit, "psrset", PSRSET)
    one_kit.environment["REFUSED"] = "1"
    code, _, err = one_kit.run("cpu-set", "0", "true")
    assert code == 3
    assert "psrset -c refused: created processor set 7" in err
    assert notes.read_text().splitlines() == ["-c 0"]


@pytest.mark.parametrize(
    ("program", "arguments", "noted"),
    [
        ("execrset", ("0-3", "true"), "execrset -c 0-3 -e true"),
        ("attachrset", ("0-3", "-p", OWN), f"attachrset -c 0-3 {OWN}"),
    ],
)
def test_on_aix_it_is_a_resource_set(
    program: str, arguments: tuple[str, ...], noted: str, one_kit: Kit, notes: Path
) -> None:
    for each in {"execrset", program}:
        stand_in(one_kit, each, OTHER)
    own = str(os.getpid())
    code, _, err = one_kit.run("cpu-set", *(each.replace(OWN, own) for each in arguments))
    assert code == 0, err
    assert notes.read_text().strip() == noted.replace(OWN, own)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("0-", "true"), "is not a list of CPUs; give 0-3 or 0,2,4"),
        (("a", "true"), "is not a list of CPUs"),
        (("0", "-p", "x"), "x is not a process number"),
        (("-i", "0", "true"), "-i needs psrset"),
        (("0",), "usage: cpu-set"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str, one_kit: Kit) -> None:
    code, out, err = one_kit.run("cpu-set", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
