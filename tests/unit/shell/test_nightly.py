"""shell/nightly with a stand-in for dbcpu: lock, exit codes, metrics, retention; and once with the real one."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins.runs import environment
from support.fork_server import ForkServer
from support.paths import ROOT
from support.terminal import Terminal

SHELL = ROOT / "shell" / "nightly"
KIT = ROOT / "kit"
DEADLINE_S = 180.0
NOBODY = 65534

# Notes each call; `run` waits while FAKE_HANG exists, and fails as FAKE_RUN says; `check` as FAKE_CHECK says.
FAKE_DBCPU = r"""#!/bin/sh
echo "$*" >>"$FAKE_NOTES"
case $1 in
    run | simulate)
        [ -z "${FAKE_HANG:-}" ] || {
            echo $$ >"$FAKE_HANG.pid"; : >"$FAKE_HANG.begun"
            while [ -e "$FAKE_HANG" ]; do sleep 0.02; done
        }
        # So often the host is busy.
        if [ "$(grep -cE '^(run|simulate)' "$FAKE_NOTES")" -le "${FAKE_BUSY:-0}" ]; then
            echo "dbcpu: host busy: 93 % (md5sum 98 % of a CPU); nothing was measured" >&2
            exit 4
        fi
        [ "${FAKE_RUN:-0}" -le 1 ] || { echo "dbcpu: connection refused; is it running?" >&2; exit "$FAKE_RUN"; }
        while [ $# -gt 0 ]; do [ "$1" != --out ] || mkdir -p "$2"; shift; done
        echo "run       20261101-043000-ab12 nightly, 2026-11-01T04:30:00+00:00,"
        echo "          ${FAKE_STATUS:-complete}"
        echo "host      db1, bare metal"
        if [ -n "${FAKE_REPORT:-}" ]; then
            echo "dbcpu: the report could not be written: No space left on device; give another folder with --out" >&2
            exit 3
        fi ;;
    check)
        case ${FAKE_CHECK:-0} in
            1 | 4) echo "box: max/min at N=2 is 2.00x, above the limit of 1.25x" ;;
            3) echo "dbcpu: the store is damaged" >&2 ;;
        esac
        exit "${FAKE_CHECK:-0}" ;;
    show) echo 'dbcpu_run_info{database="a",host="db1",run="r",target="'"${FAKE_TARGET:-box}"'"} 1.0'; echo "# EOF" ;;
esac
"""


class Night:
    """A folder with a state, metrics, and a stand-in for dbcpu."""

    def __init__(self, root: Path) -> None:
        self.state = root / "the state"
        self.metrics = root / "metrics"
        self.metrics.mkdir()
        self.notes = root / "notes"
        self.dbcpu = root / "dbcpu"
        self.dbcpu.write_text(FAKE_DBCPU)
        self.dbcpu.chmod(0o755)
        self.environment = {**os.environ, "DBCPU": str(self.dbcpu), "FAKE_NOTES": str(self.notes)}

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(SHELL), "-s", str(self.state), "-m", str(self.metrics), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, **environment},
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        with self.start(*arguments, **environment) as process:
            out, errors = process.communicate(timeout=DEADLINE_S)
            return process.returncode, out, errors

    def calls(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def log(self) -> str:
        return (self.state / "nightly.log").read_text()

    def told(self, name: str) -> str:
        return (self.metrics / name).read_text()


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def until(file: Path) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not file.exists():
        assert time.monotonic() < deadline_s, f"{file} did not appear"
        time.sleep(0.01)


def test_a_fine_night_is_silent_and_does_everything_in_order(night: Night) -> None:
    assert night.run("box", "--size", "medium") == (0, "", "")
    run, check, show, history, delete = night.calls()
    assert run.startswith(
        "run box --sessions few --repeats 6 --label nightly --size medium --yes --if-quiet --quiet --out "
    )
    assert check == "check 20261101-043000-ab12"
    assert show == "show 20261101-043000-ab12 --format metrics"
    assert history.startswith("show 20261101-043000-ab12 --history --out ")
    assert delete == "delete --like 20261101-043000-ab12 --keep 30 --older-than 90d --yes"
    assert night.told("dbcpu-box.prom").startswith("dbcpu_run_info{")
    assert 'dbcpu_nightly_exit_code{target="box",host="db1"} 0' in night.told("dbcpu-nightly-box.prom")
    assert night.log().splitlines()[-1].endswith("box exit 0")
    assert {file.name for file in night.state.iterdir()} == {
        "exit.box", "labels.box", "lock", "nightly.log", "reports",
    }  # fmt: skip


@pytest.mark.parametrize("parser", ["prometheus_client.openmetrics.parser", "prometheus_client.parser"])
def test_how_the_night_went_is_read_by_the_official_parsers(night: Night, parser: str) -> None:
    module = importlib.import_module(parser)
    assert night.run("postgresql://db1/a?b=c", FAKE_CHECK="1")[0] == 1
    told = night.told("dbcpu-nightly-postgresql-db1-a.prom")
    families = {each.name: each for each in module.text_string_to_metric_families(told)}
    (code,), (finished,) = (
        families[f"dbcpu_nightly_{name}"].samples for name in ("exit_code", "finished_timestamp_seconds")
    )
    assert (code.value, code.labels) == (1, {"target": "box", "host": "db1"})
    assert abs(finished.value - time.time()) < 3600


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("postgresql://bench@db1/postgres?password=S3CRET", "postgresql-db1-postgres"),
        ("postgresql://bench@db1/postgres?sslmode=require&PassWord=S3CRET#x", "postgresql-db1-postgres"),
        ("postgresql://bench:S3CRET/b@db1/postgres", "postgresql-db1-postgres"),
        ("postgresql://bench:S3CRET?@x#b@db1/postgres", "postgresql-db1-postgres"),
        ("oracle+oracledb://bench:S3CRET@db1:1521/?service_name=pdb1&x=S3CRET", "oracle-oracledb-db1-1521-pdb1"),
    ],
)
def test_no_secret_of_a_url_is_in_a_name_a_label_the_log_or_the_mail(night: Night, target: str, name: str) -> None:
    code, out, errors = night.run(target, FAKE_RUN="3")
    assert code == 3
    shown = [out, errors, night.log(), *(file.read_text() for file in night.metrics.iterdir())]
    shown += [str(file) for folder in (night.state, night.metrics) for file in folder.rglob("*")]
    assert not [text for text in shown if "S3CRET" in text]
    assert f'{{target="{name}",host=""}} 3' in night.told(f"dbcpu-nightly-{name}.prom")


def test_a_rehearsal_simulates_the_host_that_is_named_and_does_the_rest_of_a_night(night: Night) -> None:
    assert night.run("-r", "this-vm", "--slow", "1.3") == (0, "", "")
    simulate, *rest = night.calls()
    assert simulate.startswith(
        "simulate this-vm --target this-vm --sessions few --repeats 6 --label rehearsal --slow 1.3 --out "
    )
    assert [call.split()[0] for call in rest] == ["check", "show", "show", "delete"]
    assert night.run("-r", "postgresql://bench:S3CRET@db1/postgres")[0] == 0
    assert night.calls()[len(rest) + 1].startswith("simulate postgresql-db1-postgres --target ")
    assert night.run("-r")[0] == 0
    assert "simulate c4.4xlarge --target c4.4xlarge " in night.notes.read_text()


@pytest.fixture
def forked_dbcpu(night: Night, tmp_path: Path) -> Iterator[None]:
    """The night's dbcpu is the real one, whose modules are loaded once for all its commands."""
    with ForkServer("support.loaded_dbcpu", tmp_path) as server:
        night.dbcpu.write_text(f"#!/bin/sh\n{server.command}\n")
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("forked_dbcpu")
def test_the_rehearsal_of_the_documentation_ends_as_it_says(night: Night, hook: Path, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "nightly.md").read_text("utf-8")
    block = re.search(r"^mkdir -p rehearsal/metrics\nexport DBCPU_STORE=(\S+)\n(.*?)^```", text, re.M | re.S)
    assert block is not None
    typed = re.findall(r"^shell/nightly (.*?) +# exit (\d): ", block[2], re.M)
    assert [code for _, code in typed] == ["0", "1", "4", "0"]
    (tmp_path / "hook").symlink_to(hook)
    (tmp_path / "rehearsal" / "metrics").mkdir(parents=True)
    asked = {**night.environment, "DBCPU_STORE": block[1], "HOME": str(tmp_path), "PWD": str(tmp_path)}
    printed = []
    for words, code in typed:
        # Of all pictures and formats one: the others would be most of the work, and tests of the report have them.
        ended = subprocess.run(
            [str(SHELL), *words.split(), "--report", "markdown"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, env=asked, cwd=tmp_path, timeout=DEADLINE_S,
            check=False,
        )  # fmt: skip
        log = (tmp_path / "rehearsal" / "nightly.log").read_text()
        assert (ended.returncode, ended.stderr) == (int(code), ""), log
        told = (tmp_path / "rehearsal" / "metrics" / "dbcpu-nightly-this-vm.prom").read_text()
        assert f'dbcpu_nightly_exit_code{{target="this-vm",host="this-vm"}} {code}\n' in told
        printed.append(ended.stdout)
    fine, worse, stolen, again = printed
    assert fine == again == ""
    assert "slowdown at N=2 is 1.67x, above the limit of 1.25x" in worse
    assert "the host was busy with strangers" in stolen
    assert all("this-vm: report in " in each for each in (worse, stolen))
    heard = [file.read_text().splitlines() for file in sorted(tmp_path.glob("*hook.said.*"))]
    assert [each[0].split()[:3] for each in heard] == [
        ["1", "0", "this-vm"], ["4", "1", "this-vm"], ["0", "4", "this-vm"],
    ]  # fmt: skip
    assert heard[-1][-1] == "this-vm is fine again: the night before ended with 4"


def test_violations_are_printed_and_exit_with_one(night: Night) -> None:
    code, out, errors = night.run("box", FAKE_CHECK="1")
    assert (code, errors) == (1, "")
    (report,) = (night.state / "reports").iterdir()
    assert out == f"box: max/min at N=2 is 2.00x, above the limit of 1.25x\nbox: report in {report}\n"
    assert "above the limit" in night.log()
    assert 'dbcpu_nightly_exit_code{target="box",host="db1"} 1' in night.told("dbcpu-nightly-box.prom")


def test_a_busy_host_has_an_exit_code_and_a_metric_of_its_own(night: Night) -> None:
    code, out, errors = night.run("box", FAKE_CHECK="4")
    assert (code, errors) == (4, "")
    assert "above the limit" in out
    assert 'dbcpu_nightly_busy_host{target="box",host="db1"} 1' in night.told("dbcpu-nightly-box.prom")
    assert night.run("box", FAKE_CHECK="1")[0] == 1
    assert 'dbcpu_nightly_busy_host{target="box",host="db1"} 0' in night.told("dbcpu-nightly-box.prom")


@pytest.fixture
def naps(tmp_path: Path) -> Path:
    """Seconds that a night would have slept, a line each; ``PATH`` begins with a sleep that only notes them."""
    (tmp_path / "bin").mkdir()
    sleep = tmp_path / "bin" / "sleep"
    sleep.write_text(f'#!/bin/sh\necho "$1" >>"{tmp_path}/naps"\n')
    sleep.chmod(0o755)
    return tmp_path / "naps"


def nap_path(naps: Path) -> str:
    return f"{naps.parent / 'bin'}:{os.environ['PATH']}"


def test_a_busy_host_is_waited_for_and_then_measured(night: Night, naps: Path) -> None:
    assert night.run("box", FAKE_BUSY="2", PATH=nap_path(naps)) == (0, "", "")
    assert naps.read_text().split() == ["45", "45"]
    assert [call.split()[0] for call in night.calls()] == ["run", "run", "run", "check", "show", "show", "delete"]
    assert 'dbcpu_nightly_too_busy{target="box",host="db1"} 0' in night.told("dbcpu-nightly-box.prom")
    assert night.log().count("host busy: 93 %") == 2


def test_who_looks_on_is_told_what_takes_its_time(night: Night, naps: Path) -> None:
    command = [str(SHELL), "-s", str(night.state), "box"]
    environment = {**night.environment, "FAKE_BUSY": "2", "PATH": nap_path(naps)}
    with Terminal(command, environment) as terminal:
        assert terminal.await_end() == 0
        begun, waits = terminal.shown.splitlines()
    assert begun.startswith("nightly: measuring box, report in ")
    assert begun.endswith(f"; log: {night.state}/nightly.log")
    assert waits.startswith("nightly: host busy: 93 % (md5sum 98 % of a CPU); nothing was measured; looks again each")


@pytest.mark.parametrize(("window", "looks", "said"), [("0", 1, ""), ("3", 4, " (looked 4 times in about 3 min)")])
def test_a_host_that_stays_busy_is_no_worse_host(
    night: Night, naps: Path, hook: Path, window: str, looks: int, said: str
) -> None:
    assert night.run("box")[0] == 0
    night.notes.unlink()
    code, out, errors = night.run("-x", str(hook), "-w", window, "box", FAKE_BUSY="99", PATH=nap_path(naps))
    assert (code, out) == (4, "")
    message = f"box: host busy: 93 % (md5sum 98 % of a CPU); nothing was measured{said}"
    assert errors == f"nightly: {message}\n"
    assert [call.split()[0] for call in night.calls()] == ["run"] * looks
    told = night.told("dbcpu-nightly-box.prom")
    for name, value in (("exit_code", 4), ("busy_host", 1), ("too_busy", 1)):
        assert f'dbcpu_nightly_{name}{{target="box",host="db1"}} {value}\n' in told
    assert not (night.metrics / "dbcpu-box.prom").exists()
    (heard,) = (file.read_text() for file in hook.parent.glob("the hook.said.*"))
    assert heard == f"4 0 box \n{message}\n"


def test_a_busy_host_is_measured_where_that_is_wanted(night: Night) -> None:
    assert night.run("-b", "box") == (0, "", "")
    assert "--if-quiet" not in night.calls()[0]


def test_a_night_that_waits_ends_with_a_signal(night: Night, tmp_path: Path) -> None:
    with night.start("box", FAKE_BUSY="99") as waiting:
        until(night.notes)
        waiting.terminate()
        assert waiting.wait(DEADLINE_S) == 130
    assert night.run("box")[0] == 0


def test_a_signal_ends_the_measurement_as_well(night: Night, tmp_path: Path) -> None:
    (tmp_path / "hang").touch()
    with night.start("box", FAKE_HANG=str(tmp_path / "hang")) as first:
        until(tmp_path / "hang.begun")
        measuring = Path(f"/proc/{(tmp_path / 'hang.pid').read_text().strip()}")
        assert measuring.exists()
        first.terminate()
        assert first.wait(DEADLINE_S) == 130
    assert not measuring.exists()


@pytest.mark.parametrize("account", [True, False])
def test_without_a_home_the_state_is_in_the_accounts_own_or_refused(
    night: Night, tmp_path: Path, account: bool
) -> None:
    """As cron may start it: never at the root of the file system."""
    own, programs = tmp_path / "own", tmp_path / "bin"
    programs.mkdir()
    answer = f"echo 'me:x:0:0::{own}:/bin/sh'" if account else "exit 2"
    (programs / "getent").write_text(f"#!/bin/sh\n{answer}\n")
    (programs / "getent").chmod(0o755)
    without = {name: value for name, value in night.environment.items() if name not in ("HOME", "XDG_STATE_HOME")}
    done = subprocess.run(
        [str(SHELL), "box"], env={**without, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    log = own / ".local" / "state" / "dbcpu" / "nightly" / "nightly.log"
    assert (done.returncode, log.exists()) == ((0, True) if account else (2, False)), done.stderr
    assert ("has no HOME, so name a folder with -s" in done.stderr) is not account


def test_what_a_killed_night_left_is_removed(night: Night) -> None:
    (night.state / "work.99").mkdir(parents=True)
    assert night.run("box")[0] == 0
    assert not (night.state / "work.99").exists()


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """Writes what it gets: a file per call."""
    script = tmp_path / "the hook"
    script.write_text(
        '#!/bin/sh\nn=$(ls "$0".said.* 2>/dev/null | wc -l)\n'
        '{ echo "$DBCPU_NIGHT_EXIT $DBCPU_NIGHT_BEFORE $DBCPU_NIGHT_TARGET $DBCPU_NIGHT_RUN"; cat; } >"$0.said.$n"\n'
        'exit "${FAKE_HOOK:-0}"\n'
    )
    script.chmod(0o755)
    return script


def test_the_hook_hears_of_bad_nights_and_of_the_first_fine_one(night: Night, hook: Path) -> None:
    codes = [night.run("-x", str(hook), "box", FAKE_CHECK=code)[0] for code in "01400"]
    assert codes == [0, 1, 4, 0, 0]
    bad, busy, fine = (file.read_text() for file in sorted(hook.parent.glob("the hook.said.*")))
    assert bad.startswith("1 0 box 20261101-043000-ab12\nbox: max/min at N=2 is 2.00x, above the limit of 1.25x\n")
    assert f"box: report in {night.state}/reports/box." in bad
    assert busy.startswith("4 1 box ")
    assert fine == "0 4 box 20261101-043000-ab12\nbox is fine again: the night before ended with 4\n"


def test_the_hook_does_not_hear_of_wrong_usage(night: Night, hook: Path) -> None:
    code, _, errors = night.run("-x", str(hook), "box", FAKE_RUN="2")
    assert code == 2
    assert "box was not measured" in errors
    assert not list(hook.parent.glob("the hook.said.*"))


def test_the_hook_hears_that_nothing_was_measured_and_may_fail(night: Night, hook: Path) -> None:
    code, _, errors = night.run("-x", str(hook), "box", FAKE_RUN="3", FAKE_HOOK="7")
    assert code == 3
    assert f"nightly: {hook} ended with 7; see " in errors
    (said,) = (file.read_text() for file in hook.parent.glob("the hook.said.*"))
    assert said == "3 0 box \nbox was not measured: dbcpu: connection refused; is it running?\n"


@pytest.mark.parametrize(("checked", "code"), [("0", 3), ("1", 1)])
def test_a_run_without_its_report_is_checked_and_kept(night: Night, checked: str, code: int) -> None:
    found, out, errors = night.run("box", FAKE_REPORT="none", FAKE_CHECK=checked)
    assert (found, "box: max/min at N=2" in out, "report in" in out) == (code, checked == "1", False)
    said = "box was measured, and its report is missing: the report could not be written: No space left on device"
    assert errors == f"nightly: {said}; see -s\n"
    assert [call.split()[0] for call in night.calls()] == ["run", "check", "show", "delete"]
    assert night.told("dbcpu-box.prom").startswith("dbcpu_run_info{")
    assert not list((night.state / "reports").iterdir())


def test_a_run_that_failed_half_way_was_not_measured(night: Night) -> None:
    code, _, errors = night.run("box", FAKE_REPORT="none", FAKE_STATUS="failed")
    assert (code, "box was not measured" in errors) == (3, True)
    assert not (night.metrics / "dbcpu-box.prom").exists()


def test_a_database_that_is_down_is_told_with_exit_three_and_the_next_night_goes_on(night: Night) -> None:
    code, out, errors = night.run("box", FAKE_RUN="3")
    assert (code, out) == (3, "")
    assert errors == "nightly: box was not measured: dbcpu: connection refused; is it running?\n"
    assert 'dbcpu_nightly_exit_code{target="box",host=""} 3' in night.told("dbcpu-nightly-box.prom")
    assert len(night.calls()) == 1
    assert night.run("box")[0] == 0


def test_figures_of_an_earlier_night_do_not_stay_where_nothing_was_measured(night: Night) -> None:
    assert night.run("box", FAKE_TARGET="the box")[0] == 0
    assert (night.metrics / "dbcpu-box.prom").exists()
    assert night.run("box", FAKE_RUN="3")[0] == 3
    assert not (night.metrics / "dbcpu-box.prom").exists()
    assert 'dbcpu_nightly_exit_code{target="the box",host="db1"} 3' in night.told("dbcpu-nightly-box.prom")
    assert night.run("box", FAKE_TARGET="the box")[0] == 0
    assert (night.metrics / "dbcpu-box.prom").exists()


def test_a_check_that_cannot_be_made_is_no_fine_night(night: Night) -> None:
    code, _, errors = night.run("box", FAKE_CHECK="3")
    assert code == 3
    assert "could not be checked: dbcpu: the store is damaged" in errors


@pytest.mark.parametrize("with_flock", [True, False], ids=["flock", "folder"])
def test_two_at_once_are_refused_and_the_first_goes_on(night: Night, tmp_path: Path, with_flock: bool) -> None:
    environment = {"FAKE_HANG": str(tmp_path / "hang")}
    if not with_flock:
        basics = "sh cat chmod cp cut date find grep id ls mkdir mv rm rmdir sed sleep sort wc"
        (tmp_path / "bin").mkdir()
        for name in basics.split():
            (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
        environment["PATH"] = str(tmp_path / "bin")
    (tmp_path / "hang").touch()
    with night.start("box", **environment) as first:
        until(tmp_path / "hang.begun")
        code, out, errors = night.run("other", **environment)
        assert (code, out) == (3, "")
        assert "another nightly run is still going" in errors
        assert "other not started" in night.log()
        (tmp_path / "hang").unlink()
        assert first.wait(DEADLINE_S) == 0
    assert night.run("other", **environment) == (0, "", "")


def test_a_killed_night_does_not_block_the_next_one(night: Night, tmp_path: Path) -> None:
    (tmp_path / "hang").touch()
    with night.start("box", FAKE_HANG=str(tmp_path / "hang")) as first:
        until(tmp_path / "hang.begun")
        first.kill()
        first.wait(DEADLINE_S)
        (tmp_path / "hang").unlink()
        first.communicate(timeout=DEADLINE_S)
    # What the killed night had started keeps the lock until it is over.
    deadline_s = time.monotonic() + DEADLINE_S
    while (told := night.run("box"))[0] == 3 and time.monotonic() < deadline_s:
        assert "another nightly run" in told[2]
    assert told[0] == 0, told


def test_old_reports_go_but_never_the_newest(night: Night) -> None:
    reports = night.state / "reports"
    long_ago = time.time() - 200 * 86_400
    for name in ("box.20250101-043000.1", "box.20250102-043000.1", "box.20250103-043000.1", "other.20250101-043000.1"):
        (reports / name).mkdir(parents=True)
        os.utime(reports / name, (long_ago, long_ago))
    assert night.run("-k", "2", "box")[0] == 0
    left = sorted(file.name for file in reports.iterdir())
    assert left[0] == "box.20250103-043000.1"
    assert left[1].startswith("box.20")
    assert left[2:] == ["other.20250101-043000.1"]


def test_a_url_becomes_a_file_name_without_its_password(night: Night) -> None:
    code, _, errors = night.run("postgresql://dba:s3cret@db1/postgres?sslmode=require", FAKE_RUN="3")
    assert code == 3
    (file,) = night.metrics.iterdir()
    assert file.name == "dbcpu-nightly-postgresql-db1-postgres.prom"
    assert "s3cret" not in errors + night.log() + file.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "0"), "-k 0: not a whole number from 1 on"),
        (("--turbo", "0.4", "this-vm"), "options of dbcpu come after the target"),
        (("-d", "ten"), "-d ten: not a whole number"),
        (("-w", "soon"), "soon is not a whole number of minutes"),
        (("-w", "-1"), "-1 is not a whole number of minutes"),
        (("-y",), "unknown option: -y"),
        (("-x", "/nowhere/at/all"), "/nowhere/at/all cannot be run; give an executable script"),
        (("-k",), "option -k needs a value"),
        (("--", "--size"), "the target comes before"),
        (("-m", "/nowhere/at/all"), "there is no folder /nowhere/at/all"),
    ],
)
def test_wrong_usage_exits_with_two(night: Night, arguments: tuple[str, ...], message: str) -> None:
    code, _, errors = night.run(*arguments)
    assert code == 2
    assert message in errors
    assert night.calls() == []


@pytest.mark.slow
def test_a_real_night_on_sqlite_is_kept_checked_and_exported(night: Night, tmp_path: Path) -> None:
    night.dbcpu.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m dbcpu "$@"\n')
    store = {"DBCPU_STORE": str(tmp_path / "runs.db"), "PYTHONPATH": str(KIT), "HOME": str(tmp_path)}
    store["PYTHONWARNINGS"] = environment()["PYTHONWARNINGS"]
    limits = tmp_path / "dbcpu.toml"
    limits.write_text('[check]\nslowdown = "off"\nmax_over_min = "off"\nsteal = "off"\nconnect_s = 0.000001\n')
    # Without pictures: they would be most of the work, and tests of the report have them.
    few = ("--size", "tiny", "--executions", "1", "--repeats", "1", "--sessions", "1,2", "--report", "markdown")
    code, out, errors = night.run("-b", "sqlite", *few, **store, DBCPU_CONFIG=str(limits))
    # The machine that runs this may be busy with other work, and a night says that by its own exit code.
    busy = "the host was busy with strangers" in out
    assert (code, errors) == (4 if busy else 1, ""), night.log()
    assert out.startswith("sqlite ") and "time to connect at N=" in out
    told = re.search(r'^dbcpu_run_complete{database="sqlite",(host=".*"),(target="sqlite")} 1.0$',
                     night.told("dbcpu-sqlite.prom"), re.MULTILINE)  # fmt: skip
    assert told is not None
    # Nights and figures can be joined.
    assert f"dbcpu_nightly_exit_code{{{told[2]},{told[1]}}} {code}\n" in night.told("dbcpu-nightly-sqlite.prom")
    (report,) = (night.state / "reports").iterdir()
    assert (report / "report.md").is_file()
    assert "1 comparable run" in (report / "history.txt").read_text("utf-8")
    assert not (report / "history.svg").exists(), "of one night there is nothing to draw"


def lead_elsewhere(night: Night, victims: Path, user: int) -> None:
    """Links of ``user`` in the state folder, to files that are not theirs."""
    victims.mkdir()
    for name in ("labels.box", "exit.box", "nightly.log", "lock"):
        (victims / name).write_text("precious")
        (night.state / name).symlink_to(victims / name)
        os.chown(night.state / name, user, user, follow_symlinks=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
@pytest.mark.parametrize(
    ("folder_of", "mode", "refused"),
    [(NOBODY, 0o755, "belongs to user nobody"), (0, 0o777, "can be written by other users"),
     (0, 0o1777, "can be written by other users"), (0, 0o700, "is no file of your own")],
)  # fmt: skip
def test_links_of_another_user_lead_root_to_no_other_file(
    folder_of: int, mode: int, refused: str, night: Night, tmp_path: Path
) -> None:
    night.state.mkdir()
    os.chown(night.state, folder_of, folder_of)
    night.state.chmod(mode)
    lead_elsewhere(night, tmp_path / "victims", NOBODY)
    code, out, errors = night.run("box")
    assert (code, out, night.calls()) == (3, "", [])
    (sentence,) = errors.splitlines()
    assert refused in sentence
    assert {file.read_text() for file in (tmp_path / "victims").iterdir()} == {"precious"}


def test_a_state_folder_below_one_that_others_may_write_is_refused(night: Night) -> None:
    night.state.parent.joinpath("open").mkdir()
    night.state.parent.joinpath("open").chmod(0o777)
    code, _, errors = night.run("-s", str(night.state.parent / "open" / "deep" / "state"), "box")
    assert (code, night.calls()) == (3, [])
    assert f"chmod go-w '{night.state.parent}/open'" in errors
    assert list((night.state.parent / "open").iterdir()) == []


def test_below_a_sticky_folder_the_state_folder_has_to_be_made_first(night: Night) -> None:
    sticky = night.state.parent / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    for given, first in (("a/b", "a"), ("", "nightly")):
        code, _, errors = night.run("-s", str(sticky / given), "box")
        assert (code, list(sticky.iterdir())) == (3, [])
        assert f"make a folder of your own first: mkdir -m 700 '{sticky}/{first}', and name it with -s" in errors
    (sticky / "a").mkdir(0o700)
    assert night.run("-s", str(sticky / "a" / "b"), "box")[0] == 0


@pytest.mark.parametrize("kind", ["file", "folder", "new"])
def test_a_link_in_the_folder_of_metrics_is_replaced_and_not_followed(night: Night, kind: str, tmp_path: Path) -> None:
    """The collector's folder often belongs to another user."""
    victim = tmp_path / "victim"
    if kind == "file":
        victim.write_text("precious")
    elif kind == "folder":
        victim.mkdir()
    for name in ("dbcpu-box.prom", "dbcpu-nightly-box.prom"):
        (night.metrics / name).symlink_to(victim)
    if os.geteuid() == 0:
        os.chown(night.metrics, NOBODY, NOBODY)
    assert night.run("box") == (0, "", "")
    assert night.told("dbcpu-box.prom").startswith("dbcpu_run_info{")
    assert {file.name for file in night.metrics.iterdir()} == {"dbcpu-box.prom", "dbcpu-nightly-box.prom"}
    assert {file.stat().st_mode & 0o777 for file in night.metrics.iterdir()} == {0o644}
    assert {"file": victim.is_file() and victim.read_text() == "precious", "new": not victim.exists(),
            "folder": victim.is_dir() and not list(victim.iterdir())}[kind]  # fmt: skip


def test_a_log_on_a_full_disk_is_said_once(night: Night) -> None:
    night.state.mkdir()
    (night.state / "nightly.log").symlink_to("/dev/full")
    code, out, errors = night.run("box", FAKE_RUN="3")
    assert (code, out) == (3, "")
    assert errors.splitlines() == [
        "nightly: box was not measured: dbcpu: connection refused; is it running?",
        f"nightly: {night.state}/nightly.log could not be written; is the disk full?",
    ]
