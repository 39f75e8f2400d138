"""Undo is sacred: whatever is changed is written down first, and put back at any end, on trees of recorded hosts."""

import fcntl
import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbcpu.errors import HostError
from dbcpu.hosts.base import Finished
from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.hosts.driver_process import boot_id
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host
from dbcpu.record.header import Database
from dbcpu.record.plan import RoundSpec
from dbcpu.variants import _journal_lock
from dbcpu.variants._apply import VariantConditions
from dbcpu.variants._journal import STEPS, UndoJournal, why_not
from dbcpu.variants._restore import findings, leftovers, restore, restore_database
from dbcpu.variants._selection import select_variants
from dbcpu.variants._settings import SettingAccess, process_setting
from dbcpu.variants.base import VariantContext
from support.archives import unpack
from support.doubles.instance import FakeInstance
from support.driving import until
from support.nursery import run_forked
from support.paths import HOSTS

CONTROL = "sys/devices/system/cpu/smt/control"
ONLINE = "sys/devices/system/cpu/cpu{}/online"


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journals"
    monkeypatch.setenv("DBCPU_JOURNAL", str(folder))
    return folder


def tree(tmp_path: Path, name: str) -> Path:
    root = tmp_path / "root"
    unpack(HOSTS / f"{name}.tar.gz", root)
    boot = root / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True, exist_ok=True)
    boot.write_text("the-first-boot\n")
    return root


def contents(root: Path) -> dict[str, str]:
    return {str(file): file.read_text().strip() for file in root.rglob("*") if file.is_file()}


def conditions(root: Path, variants: str = "smt_off", step: object = None) -> VariantConditions:
    host = LocalHost(root)
    context = VariantContext(read_host(host), Database("postgresql", "18"))
    given = {"step": step} if step else {}
    return VariantConditions(select_variants(variants), context, host, "embedded", None, **given)  # type: ignore[arg-type]


def begin(variant: str) -> RoundSpec:
    return RoundSpec(1, 0, variant, 0)


@pytest.mark.parametrize(
    ("name", "file", "off"), [("two-sockets", CONTROL, "off"), ("c4-4xlarge", ONLINE.format(9), "0")]
)
def test_a_variant_is_in_force_for_its_rounds_and_undone_for_the_others(
    tmp_path: Path, journals: Path, name: str, file: str, off: str
) -> None:
    root = tree(tmp_path, name)
    before = contents(root)
    with conditions(root) as varied:
        varied.begin(begin("baseline"))
        assert contents(root) == before
        varied.begin(begin("smt_off"))
        assert (root / file).read_text().strip() == off
        varied.begin(begin("smt_off"))
        varied.begin(begin("baseline"))
        assert contents(root) == before
        varied.begin(begin("smt_off"))
    assert contents(root) == before
    assert list(journals.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", STEPS)
def test_an_error_or_ctrl_c_at_any_step_undoes_all(
    tmp_path: Path, journals: Path, at: str, error: type[BaseException]
) -> None:
    root = tree(tmp_path, "c4-4xlarge")
    before, hit = contents(root), False

    def step(name: str) -> None:
        nonlocal hit
        if name == at and not hit:
            hit = True
            raise error

    with pytest.raises(error), conditions(root, step=step) as varied:
        varied.begin(begin("smt_off"))
        varied.begin(begin("baseline"))
    assert hit
    assert contents(root) == before
    assert list(journals.iterdir()) == []


def killed(root: Path, at: str, times: int, *more: str) -> None:
    done = run_forked("support.varying_host", str(root), at, str(times), *more, environment=os.environ)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, f"{at}\n"), done.stderr


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("at", [step for step in STEPS if step != "begun"])
def test_a_driver_killed_at_any_step_is_cleaned_up_after_by_the_next_command(
    tmp_path: Path, journals: Path, at: str, times: int
) -> None:
    root = tree(tmp_path, "c4-4xlarge")
    before = contents(root)
    killed(root, at, min(times, 2) if at in ("written", "emptied") else times)
    left = leftovers()
    assert not any(each.running for each in left)
    assert (contents(root) != before) <= bool(left), "what is changed is written down"
    restored = restore()
    assert restored.failures == []
    assert contents(root) == before
    assert list(journals.iterdir()) == []
    assert restore().lines == ()


@pytest.mark.parametrize("at", ["begun", "written", "changed", "undone"])
def test_a_driver_killed_at_any_step_is_cleaned_up_after_by_its_guard(tmp_path: Path, journals: Path, at: str) -> None:
    root = tree(tmp_path, "two-sockets")
    before = contents(root)
    killed(root, at, 1, "guard")
    until(lambda: contents(root) == before and not list(journals.iterdir()), "the guard put all back")


def left_behind(tmp_path: Path) -> Path:
    root = tree(tmp_path, "two-sockets")
    killed(root, "verified", 1)
    assert (root / CONTROL).read_text() == "off"
    return root


def test_what_is_left_is_found_and_told_before_it_is_put_back(tmp_path: Path) -> None:
    root = left_behind(tmp_path)
    (found,) = findings()
    assert found.code == "left-changed"
    assert CONTROL in found.seen
    assert restore(dry_run=True).lines[0] == f"would be put back: /{CONTROL} to on"
    assert (root / CONTROL).read_text() == "off"
    assert restore().undone[0] == ("file:/sys/devices/system/cpu/smt/control", "on")
    assert findings() == ()


def test_nothing_survives_a_restart_of_the_host(tmp_path: Path, journals: Path) -> None:
    root = left_behind(tmp_path)
    (root / "proc/sys/kernel/random/boot_id").write_text("the-second-boot\n")
    (line,) = restore().lines
    assert "earlier start" in line
    assert (root / CONTROL).read_text() == "off", "it is what this boot has, and not ours"
    assert list(journals.iterdir()) == []


def test_what_a_restart_of_this_host_undid_is_not_reported_as_left(journals: Path) -> None:
    header = {"journal": 1, "host": "local", "boot_id": "the-first-boot", "target": "db1", "pid": 1}
    changes = [
        {"change": 0, "what": "file:/sys/devices/system/cpu/smt/control", "before": "on", "after": "off"},
        {"change": 1, "what": "parameter:cpu_count", "before": "", "after": "2"},
    ]
    journals.mkdir()
    (journals / "a.journal").write_text("".join(f"{json.dumps(line)}\n" for line in (header, *changes)))
    (found,) = findings()
    assert found.seen == "a run that was killed left cpu_count changed"


def test_what_somebody_else_has_set_since_is_left_to_them(tmp_path: Path) -> None:
    root = left_behind(tmp_path)
    (root / CONTROL).write_text("forceoff\n")
    restored = restore()
    assert (root / CONTROL).read_text() == "forceoff\n"
    assert any("somebody else has set it" in line for line in restored.lines)
    assert restored.failures == []


def test_a_living_driver_keeps_its_journal_to_itself(tmp_path: Path) -> None:
    root = tree(tmp_path, "two-sockets")
    with conditions(root) as varied:
        varied.begin(begin("smt_off"))
        assert [each.running for each in leftovers()] == [True]
        assert findings() == ()
        for dry_run in (False, True):
            (line,) = restore(dry_run=dry_run).remarks
            assert line.startswith(f"process {os.getpid()} still measures with /{CONTROL} changed,")
            assert restore(dry_run=dry_run).lines == (line,)
        assert (root / CONTROL).read_text() == "off"


def test_whoever_can_read_a_journal_cannot_keep_the_host_changed(tmp_path: Path, journals: Path) -> None:
    """A lock on a file needs no more than the right to read it."""
    root = left_behind(tmp_path)
    (lock,) = journals.glob("*.lock")
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    (journal,) = journals.glob("*.journal")
    with journal.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert restore().failures == []
    assert (root / CONTROL).read_text() == "on"
    assert list(journals.iterdir()) == []


def test_a_lock_that_stays_is_said(tmp_path: Path, journals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = left_behind(tmp_path)
    monkeypatch.setattr(_journal_lock, "WAIT_S", 0.0)
    (lock,) = journals.glob("*.lock")
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (failure,) = restore().failures
        assert f"is locked by process {os.getpid()}, so /{CONTROL} may still be changed" in failure
        assert (root / CONTROL).read_text() == "off"
    assert restore().failures == []
    assert (root / CONTROL).read_text() == "on"


def test_a_lock_that_goes_is_waited_for(tmp_path: Path, journals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard comes once: another command that looks at that moment must not make it give up."""
    root = left_behind(tmp_path)
    (lock,) = journals.glob("*.lock")
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(file, fcntl.LOCK_UN))
        assert restore().failures == []
    assert (root / CONTROL).read_text() == "on"


def test_locks_without_a_journal_are_removed(journals: Path) -> None:
    journals.mkdir()
    for name in ("a.lock", "b.lock", "b.new"):
        (journals / name).touch(0o600)
    os.utime(journals / "b.new", (0, 0))
    assert restore().lines == ()
    assert list(journals.iterdir()) == []


def test_another_command_that_looks_leaves_a_journal_that_begins(journals: Path) -> None:
    """Its lock comes after the file: what took it meanwhile would end the run."""
    journals.mkdir()
    (journals / "a.new").touch(0o600)
    assert leftovers() == ()
    assert [path.name for path in journals.iterdir()] == ["a.new"]


def test_a_journal_of_a_newer_version_is_not_touched(journals: Path) -> None:
    journals.mkdir()
    (journals / "x.journal").write_text(json.dumps({"journal": 99, "host": "local", "target": ""}) + "\n")
    (failure,) = restore().failures
    assert "newer version" in failure
    assert (journals / "x.journal").exists()


def test_a_last_line_cut_short_counts_for_nothing(tmp_path: Path, journals: Path) -> None:
    root = left_behind(tmp_path)
    (journal,) = journals.glob("*.journal")
    with journal.open("a") as file:
        file.write('{"change": 99, "what": "file:/etc/pas')
    assert restore().failures == []
    assert (root / CONTROL).read_text() == "on"


def test_what_cannot_be_put_back_is_told_with_the_command_and_stays_in_the_journal(
    tmp_path: Path, journals: Path
) -> None:
    root = left_behind(tmp_path)
    (root / CONTROL).unlink()
    (root / CONTROL).mkdir()
    (failure,) = [line for line in restore().failures if "control" in line]
    assert "echo on > /sys/devices/system/cpu/smt/control" in failure
    assert len(list(journals.glob("*.journal"))) == 1
    (root / CONTROL).rmdir()
    (root / CONTROL).write_text("off")
    assert restore().failures == []
    assert (root / CONTROL).read_text() == "on"


def test_without_a_journal_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path, "two-sockets")
    before = contents(root)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "file" / "below"))
    with pytest.raises(HostError, match="so nothing was changed"), conditions(root) as varied:
        varied.begin(begin("smt_off"))
    assert contents(root) == before


@pytest.mark.usefixtures("owner_rights")
def test_journals_that_cannot_be_looked_at_are_not_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    for journals in (closed, closed / "journals"):
        monkeypatch.setenv("DBCPU_JOURNAL", str(journals))
        (failure,) = restore().failures
        assert f"journals in {journals} cannot be looked at, Permission denied" in failure


def test_a_setting_that_does_not_hold_is_an_error_and_undone(tmp_path: Path) -> None:
    class Stubborn(LocalHost):
        def write(self, path: str, text: str) -> None:
            super().write(path, "on" if text == "off" else text)

    root = tree(tmp_path, "two-sockets")
    host = Stubborn(root)
    with (
        pytest.raises(HostError, match="was set to 'off' and is 'on'"),
        UndoJournal(host, SettingAccess(host), None, "embedded") as journal,
    ):
        journal.apply([(f"file:/{CONTROL}", "off")])


def test_cpusets_of_version_1_and_what_was_bound_to_siblings_alone_are_as_before(tmp_path: Path) -> None:
    root = tree(tmp_path, "two-sockets")
    for path, text in {
        "proc/self/mountinfo": "41 30 0:34 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
        "sys/fs/cgroup/cpuset/cpuset.cpus": "0-79\n",
        "sys/fs/cgroup/cpuset/db/cpuset.cpus": "0-1,40-41\n",
        "proc/irq/30/smp_affinity_list": "41\n",
        "proc/irq/31/smp_affinity_list": "0-79\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    before = contents(root)
    with conditions(root) as varied:
        varied.begin(begin("smt_off"))
        # As the kernel does when CPUs go, and does not take back when they return.
        (root / "sys/fs/cgroup/cpuset/db/cpuset.cpus").write_text("0-1\n")
        (root / "proc/irq/30/smp_affinity_list").write_text("0-39\n")
        varied.begin(begin("baseline"))
        assert contents(root) == before


# --- processes of this machine


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as started:
        yield started
        started.kill()


def test_cpus_and_policy_of_a_process_are_set_and_put_back(process: subprocess.Popen[bytes]) -> None:
    pid, host = process.pid, LocalHost()
    before = os.sched_getaffinity(pid)
    names = [process_setting(kind, pid, None, start_ticks(pid) or 0) for kind in ("affinity", "policy")]
    with UndoJournal(host, SettingAccess(host), None, "embedded") as journal:
        entries = journal.apply([(names[0], str(min(before))), (names[1], "batch")])
        assert os.sched_getaffinity(pid) == {min(before)} or len(before) == 1
        assert os.sched_getscheduler(pid) == os.SCHED_BATCH
        journal.undo(entries)
        assert os.sched_getaffinity(pid) == before
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER
        journal.apply([(names[1], "batch")])
    assert os.sched_getscheduler(pid) == os.SCHED_OTHER


def test_what_an_administrator_has_set_meanwhile_is_left_to_him(process: subprocess.Popen[bytes]) -> None:
    host, remarks = LocalHost(), list[str]()
    names = [process_setting(kind, process.pid, None, start_ticks(process.pid) or 0) for kind in ("policy", "affinity")]
    first, *others = sorted(os.sched_getaffinity(process.pid))
    if not others:
        pytest.skip("this machine has one CPU")
    with UndoJournal(host, SettingAccess(host), None, "embedded", notify=remarks.append) as journal:
        journal.apply([(names[0], "batch"), (names[1], str(first))])
        os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
        os.sched_setaffinity(process.pid, others[:1])
    assert (os.sched_getscheduler(process.pid), os.sched_getaffinity(process.pid)) == (os.SCHED_IDLE, set(others[:1]))
    assert len(remarks) == 2
    assert all("somebody else has set it since" in remark for remark in remarks)
    assert {remark.partition(" is left")[0] for remark in remarks} == {
        f"{kind} of process {process.pid}" for kind in ("policy", "affinity")
    }


def test_a_killed_run_left_a_process_changed_only_while_that_runs(
    process: subprocess.Popen[bytes], journals: Path
) -> None:
    os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))
    what = process_setting("policy", process.pid, None, start_ticks(process.pid) or 0)
    header = {"journal": 1, "host": "local", "boot_id": boot_id(LocalHost()), "target": "db1", "pid": 1}
    change = {"change": 0, "what": what, "before": "other", "after": "batch"}
    journals.mkdir()
    (journals / "a.journal").write_text("".join(f"{json.dumps(line)}\n" for line in (header, change)))
    (found,) = findings()
    assert found.seen == f"a run that was killed left policy of process {process.pid} changed"
    assert restore(dry_run=True).lines == (f"would be put back: policy of process {process.pid} to other",)
    process.kill()
    process.wait()
    assert findings() == ()
    assert restore(dry_run=True).lines == ()
    assert restore().lines == ()
    assert list(journals.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not set a real-time policy")
def test_a_policy_that_could_not_be_set_again_is_not_changed(process: subprocess.Popen[bytes], journals: Path) -> None:
    os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(5))
    host = LocalHost()
    name = process_setting("policy", process.pid, None, start_ticks(process.pid) or 0)
    with (
        pytest.raises(HostError, match=f"process {process.pid} has scheduling policy rr, which dbcpu cannot set again"),
        UndoJournal(host, SettingAccess(host), None, "embedded") as journal,
    ):
        journal.apply([(name, "batch")])
    assert os.sched_getscheduler(process.pid) == os.SCHED_RR
    assert not journals.exists()


def test_a_process_that_has_gone_needs_no_undo_and_another_with_its_number_is_not_touched(
    process: subprocess.Popen[bytes],
) -> None:
    host = LocalHost()
    settings = SettingAccess(host)
    another = process_setting("policy", process.pid, None, (start_ticks(process.pid) or 0) + 1)
    assert settings.read(another) is None
    settings.write(another, "batch")
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER
    name = process_setting("policy", process.pid, None, start_ticks(process.pid) or 0)
    with UndoJournal(host, settings, None, "embedded") as journal:
        journal.apply([(name, "idle")])
        process.kill()
        process.wait()


def test_a_process_that_ends_before_a_command_elsewhere_reaches_it_needs_no_undo(
    process: subprocess.Popen[bytes],
) -> None:
    class Elsewhere(LocalHost):
        def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
            if argv[2] == "0-1":
                process.kill()
                process.wait()
            return super().run(argv, timeout_s)

    host = Elsewhere()
    host.name = "ssh:there"
    name = process_setting("affinity", process.pid, None, start_ticks(process.pid) or 0)
    SettingAccess(host).write(name, str(min(os.sched_getaffinity(0))))
    SettingAccess(host).write(name, "0-1")
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(HostError, match="taskset failed on ssh:there"):
        SettingAccess(host).write(process_setting("affinity", os.getpid(), None, start_ticks(os.getpid()) or 0), "4095")


# --- parameters of a database


def caged(instance: FakeInstance) -> VariantConditions:
    parameters = {name: value for name, value in {**instance.values, "instance_name": "ORCL1"}.items() if value}
    context = VariantContext(None, Database("oracle", "19.20", parameters))
    return VariantConditions(select_variants("cage:2"), context, None, "db1", None, instance)


def test_a_cage_is_set_for_its_rounds_with_a_plan_and_taken_back(journals: Path) -> None:
    instance = FakeInstance()
    with caged(instance) as varied:
        varied.begin(begin("cage:2"))
        assert instance.values == {"cpu_count": "2", "resource_manager_plan": "DEFAULT_PLAN"}
        assert varied.usable_cpus(begin("cage:2")) is None
        varied.begin(begin("baseline"))
        assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
        varied.begin(begin("cage:2"))
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert list(journals.iterdir()) == []


def test_a_cage_that_was_left_is_undone_once_its_database_is_named(journals: Path) -> None:
    instance = FakeInstance()
    varied = caged(instance)
    varied.begin(begin("cage:2"))
    varied._journal._close()  # as when the driver is killed: its lock goes
    failures = restore().failures
    assert "cpu_count of instance ORCL1 of db1 is still 2, it was '16'; dbcpu restore db1" in failures
    assert instance.values["cpu_count"] == "2"
    assert restore("another", FakeInstance()).failures == failures
    assert restore("db1", instance).failures == []
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert list(journals.iterdir()) == []


def left_in_a_cluster(journals: Path) -> FakeInstance:
    """An instance called ORCL1, caged by a driver that was killed."""
    header = {"journal": 2, "host": "local", "boot_id": boot_id(LocalHost()), "target": "db1", "pid": 1}
    changes = [
        {"change": 0, "what": "parameter:resource_manager_plan@ORCL1", "before": "", "after": "DEFAULT_PLAN"},
        {"change": 1, "what": "parameter:cpu_count@ORCL1", "before": "16", "after": "2"},
    ]
    journals.mkdir()
    (journals / "a.journal").write_text("".join(f"{json.dumps(line)}\n" for line in (header, *changes)))
    return FakeInstance(cpu_count="2", resource_manager_plan="DEFAULT_PLAN", several="ORCL1")


def test_another_instance_of_the_cluster_is_not_taken_for_the_one_that_was_changed(journals: Path) -> None:
    """It has the value of before, as every instance that nobody changed."""
    changed, other = left_in_a_cluster(journals), FakeInstance(several="ORCL2")
    for dry_run in (True, False):
        failures = restore("db1", other, dry_run=dry_run).failures
        assert len(failures) == 2, "both parameters"
        assert all(
            "of instance ORCL1 could not be put back: instance ORCL1 is not reached" in each for each in failures
        )
    (journal,) = journals.glob("*.journal")
    assert all(f"the journal is kept: {journal}" in each for each in failures)
    assert (changed.values["cpu_count"], other.values["cpu_count"]) == ("2", "16")
    restored = restore("db1", changed)
    assert (restored.failures, changed.values) == ([], {"cpu_count": "16", "resource_manager_plan": ""})
    assert "put back: cpu_count of instance ORCL1 is 16 again" in restored.lines
    assert list(journals.iterdir()) == []


def test_the_next_command_says_what_it_puts_back_in_a_database_and_what_it_cannot(journals: Path) -> None:
    changed, said = left_in_a_cluster(journals), list[str]()
    restore_database("another", FakeInstance(several="ORCL2"), said.append)
    restore_database("db1", None, said.append)
    assert said == [], "the journal is of another database, or nobody is connected to it"
    restore_database("db1", FakeInstance(several="ORCL2"), said.append)
    assert [each.partition(" could not")[0] for each in said] == [
        "cpu_count of instance ORCL1",
        "resource_manager_plan of instance ORCL1",
    ]
    said.clear()
    restore_database("db1", changed, said.append)
    assert [each.partition(" is ")[0] for each in said] == [
        "put back: cpu_count of instance ORCL1",
        "put back: resource_manager_plan of instance ORCL1",
    ]
    assert list(journals.iterdir()) == []


WINDOW = "SCHEDULER[0x4D53]:DEFAULT_MAINTENANCE_PLAN"


def test_a_window_that_has_opened_before_a_cage_keeps_its_plan(journals: Path) -> None:
    """It was planned when no plan was on; the window's could not be set again."""
    instance = FakeInstance()
    with pytest.raises(HostError, match="and is left so: a scheduler window is open"), caged(instance) as varied:
        instance.values["resource_manager_plan"] = WINDOW
        varied.begin(begin("cage:2"))
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": WINDOW}
    assert not journals.exists()


def test_a_plan_that_somebody_has_set_before_a_cage_is_left_to_him(journals: Path) -> None:
    instance = FakeInstance()
    with pytest.raises(HostError, match="somebody has set it since this run was planned"), caged(instance) as varied:
        instance.values["resource_manager_plan"] = "DAY"
        varied.begin(begin("cage:2"))
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": "DAY"}


def test_a_window_that_opens_during_a_cage_keeps_the_journal_until_it_has_closed(journals: Path) -> None:
    """Its end brings the plan of the cage back, which nobody would take away then."""
    instance = FakeInstance()
    refused = pytest.raises(HostError, match="while a scheduler window is open, and 'DEFAULT_PLAN' again when")
    with refused as caught, caged(instance) as varied:
        varied.begin(begin("cage:2"))
        instance.values["resource_manager_plan"] = WINDOW
    by_hand = "alter system set resource_manager_plan = '' scope = memory sid = 'ORCL1'"
    assert f"then put it back by dbcpu restore TARGET, or by hand: {by_hand}" in str(caught.value)
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": WINDOW}
    (journal,) = leftovers()
    (failure,) = restore("db1", instance).failures
    assert failure.endswith(f"the journal is kept: {journal.path}")
    assert failure.startswith(why_not(SettingAccess(LocalHost(), instance), journal.entries[0])), "of a dry run, too"
    instance.values["resource_manager_plan"] = "DEFAULT_PLAN"
    assert restore("db1", instance).failures == []
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert list(journals.iterdir()) == []


def test_a_cage_without_effect_ends_the_run_before_and_after_a_round(journals: Path) -> None:
    instance = FakeInstance()
    instance.ineffective = "the plan manages no CPU"
    refused = pytest.raises(HostError, match="variant cage:2 has no effect: the plan manages no CPU")
    with refused, caged(instance) as varied:
        varied.begin(begin("cage:2"))
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    with refused, caged(instance) as varied:
        varied.begin(begin("baseline"))
        varied.end(begin("baseline"))
        instance.ineffective = ""
        varied.begin(begin("cage:2"))
        instance.ineffective = "the plan manages no CPU"
        varied.end(begin("cage:2"))
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}


def test_a_variant_that_wants_its_own_server_gets_one_and_only_one() -> None:
    from contextlib import nullcontext
    from types import SimpleNamespace

    from dbcpu.hosts.recorded import open_host

    info = read_host(open_host(str(HOSTS / "two-sockets.tar.gz")))
    context = VariantContext(info, Database("postgresql", "18"), own_server=True, tools=frozenset({"numactl"}))
    asked: list[str] = []

    def open_server(command: str) -> Any:
        asked.append(command)
        return nullcontext(SimpleNamespace(name=command))

    with VariantConditions(
        select_variants("node:0,node:1"), context, None, "embedded", None, open_server=open_server
    ) as varied:
        assert varied.target(begin("baseline")) is None
        first = varied.target(begin("node:0"))
        assert varied.target(begin("node:0")) is first
        assert varied.target(begin("node:1")) is not first
    assert asked == ["numactl --cpunodebind=0 --membind=0", "numactl --cpunodebind=1 --membind=1"]
