"""Settings of processes: changed without a journal, and how a person puts one back."""

import os
import subprocess
from typing import cast

import pytest

from dbcpu.errors import HostError, MeasureError
from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.hosts.local import LocalHost
from dbcpu.variants import _settings
from dbcpu.variants._journal import JournalEntry, put_back
from dbcpu.variants._settings import SettingAccess, bind_until_exit


def test_a_process_is_bound_to_the_cpus_that_are_given() -> None:
    cpu = min(os.sched_getaffinity(0))
    with subprocess.Popen(["sleep", "60"]) as process:
        bind_until_exit(process.pid, start_ticks(process.pid) or 0, frozenset({cpu}))
        assert os.sched_getaffinity(process.pid) == {cpu}
        process.kill()


def test_a_process_that_has_ended_cannot_be_bound() -> None:
    with pytest.raises(MeasureError, match="could not be bound to CPUs 0: No such process"):
        bind_until_exit(2**22 - 3, 1, frozenset({0}))


@pytest.mark.parametrize(
    "what",
    ["file:/tmp/victim", "file:/proc/irq/../../etc/smp_affinity_list", ";", "unknown:x", "affinity:x", "policy:1; id@2",
     "parameter:x; id", "parameter:cpu_count@x; id"],
)  # fmt: skip
def test_for_what_is_never_changed_no_command_is_given(what: str) -> None:
    """A journal that names it is not to be obeyed, by a person neither."""
    failure = put_back(SettingAccess(LocalHost()), JournalEntry(0, what, "x; touch $(id)", "y")).failure
    assert "could not be put back: " in failure
    assert "by hand" not in failure
    assert "x; touch" not in failure


@pytest.mark.parametrize(
    ("what", "command"),
    [
        ("file:/sys/devices/system/cpu/smt/control", "echo 'x; touch $(id)' > /sys/devices/system/cpu/smt/control"),
        ("affinity:4711@9", "taskset -pc 'x; touch $(id)' 4711"),
        ("parameter:cpu_count@ORCL1", "alter system set cpu_count = 'x; touch $(id)' scope = memory"),
    ],
)
def test_a_value_is_quoted_in_the_command_that_is_given(what: str, command: str) -> None:
    failure = put_back(cast(SettingAccess, Unreadable()), JournalEntry(0, what, "x; touch $(id)", "y")).failure
    assert f"by hand: {command}" in failure


class Unreadable:
    """No setting can be looked at."""

    def read(self, what: str) -> str | None:
        raise HostError("it may not be looked at")


@pytest.mark.parametrize(
    ("what", "before", "sentence"),
    [
        (
            "affinity:4711/4712@9", "0-3", "affinity of thread 4712 of process 4711 could not be put back: it may not "
            "be looked at; put it back to 0-3 as root: dbcpu restore, or by hand: taskset -pc 0-3 4712",
        ),
        (
            "policy:4711@9", "other", "policy of process 4711 could not be put back: it may not be looked at; "
            "put it back to other as root: dbcpu restore, or by hand: chrt --other -p 0 4711",
        ),
        (
            "parameter:cpu_count", "8", "cpu_count could not be put back: it may not be looked at; "
            "put it back by dbcpu restore TARGET, or set cpu_count to 8 in the database",
        ),
        (
            "parameter:cpu_count@ORCL1", "0", "cpu_count of instance ORCL1 could not be put back: it may not be looked "
            "at; put it back by dbcpu restore TARGET, or by hand: alter system set cpu_count = 0 scope = memory sid = "
            "'ORCL1'; a restart of that instance does it, too",
        ),
        (
            "parameter:resource_manager_plan@ORCL1", "SCHEDULER[0x4D53]:NIGHT", "resource_manager_plan of instance "
            "ORCL1 could not be put back: it may not be looked at; 'SCHEDULER[0x4D53]:NIGHT' is a scheduler window's "
            "and cannot be set by hand; when it has closed, see resource_manager_plan, set what is meant (alter system "
            "set resource_manager_plan = '' scope = memory sid = 'ORCL1' for no plan), and remove the journal",
        ),
        (
            "file:/sys/devices/system/cpu/smt/control", "on", "/sys/devices/system/cpu/smt/control could not be put "
            "back: it may not be looked at; put it back to on as root: dbcpu restore, or by hand: "
            "echo on > /sys/devices/system/cpu/smt/control",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_put_back_is_told_with_its_value_and_a_command(what: str, before: str, sentence: str) -> None:
    settings = cast(SettingAccess, Unreadable())
    assert put_back(settings, JournalEntry(1, what, before, "changed")).failure == sentence


@pytest.mark.parametrize("seen", [(2,), (1, 2)], ids=["before", "meanwhile"])
def test_a_process_that_has_the_number_now_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, seen: tuple[int, ...]
) -> None:
    found = iter(seen)
    monkeypatch.setattr(_settings, "start_ticks", lambda _: next(found))
    with subprocess.Popen(["sleep", "60"]) as process:
        before = os.sched_getaffinity(process.pid)
        with pytest.raises(MeasureError, match="No such process"):
            bind_until_exit(process.pid, 1, frozenset({min(before)}))
        assert os.sched_getaffinity(process.pid) == before
        process.kill()
