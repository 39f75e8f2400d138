"""Variants are really in force on server processes of this machine, compared with the baseline, and undone."""

import json
import os
import signal
from pathlib import Path

import pytest

from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.targets.postgresql.embedded_server import EmbeddedServer
from dbcpu.variants._restore import leftovers
from support.driving import Drive, until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SMALL = ("--size", "tiny", "--executions", "4", "--repeats", "1", "--yes")
two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journals"
    monkeypatch.setenv("DBCPU_JOURNAL", str(folder))
    return folder


def rounds(record: RunRecord, variant: str, level: int = 2) -> list[Round]:
    return [each for each in record.rounds if (each.variant, each.level) == (variant, level)]


def allowed(record: RunRecord, variant: str) -> set[tuple[tuple[int, ...], ...]]:
    """CPUs that the kernel let each session of a round use."""
    return {tuple(session.allowed_cpus for session in each.sessions) for each in rounds(record, variant)}


def varied(drive: Drive, names: str) -> tuple[RunRecord, str]:
    code, out, err = drive("vary", "--variants", names, "--sessions", "2", *SMALL).finish()
    assert code == 0, err
    record = drive.last()
    assert record.header.plan.variants == ("baseline", *names.split(","))
    assert len(record.rounds) == record.header.plan.rounds == len(record.header.plan.variants) + 2
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    return record, out


@two_cpus
@pytest.mark.parametrize("bound", ["spread", "pack"])
def test_cpus_are_in_force_and_the_result_is_a_comparison(drive: Drive, journals: Path, bound: str) -> None:
    """One of the two: on CPUs without siblings they are the same, and the second is left out."""
    cpus = sorted(os.sched_getaffinity(0))
    first = cpus[0]
    record, out = varied(drive, f"{bound},cpus:{first}")
    assert allowed(record, "baseline") == {(tuple(cpus),) * 2}
    (masks,) = allowed(record, bound)
    assert [len(mask) for mask in masks] == [1, 1]
    assert len({*masks}) == 2
    assert allowed(record, f"cpus:{first}") == {((first,), (first,))}
    for each in rounds(record, f"cpus:{first}"):
        # Asleep at the gate it is still where it last ran.
        looked_at = [stretch for session in each.sessions for stretch in session.residency if stretch.state == "R"]
        assert {stretch.cpu for stretch in looked_at} == {first}
    assert f"cpus:{first} against baseline: throughput at N=" in out
    assert not list(journals.iterdir())
    code, out, _ = drive("compare", "last", "--format", "json").finish()
    assert code == 0
    assert [each["name"] for each in json.loads(out)["variants"]] == list(record.header.plan.variants)
    code, out, err = drive("compare", f"last:{bound}", f"last:cpus:{first}", "--format", "csv").finish()
    assert code == 0, err
    assert f"cpus:{first},level,2," in out


def test_policy_and_turns_are_in_force(drive: Drive) -> None:
    record, _ = varied(drive, "policy:batch,policy:idle,active:1")
    for variant, policy in (("baseline", "other"), ("policy:batch", "batch"), ("policy:idle", "idle")):
        assert {session.policy for each in rounds(record, variant) for session in each.sessions} == {policy}
    for each in rounds(record, "active:1"):
        spans = [
            (s.executions[0].start_s, s.executions[-1].start_s + s.executions[-1].elapsed_s) for s in each.sessions
        ]
        one, other = sorted(spans)
        assert one[1] <= other[0], "two sessions were at work at the same time"


@two_cpus
def test_throughput_by_cpus_has_so_many_sessions_per_cpu(drive: Drive) -> None:
    code, out, err = drive("vary", "--variants", "cpus:1,cpus:2", "--per-cpu", "2,3", *SMALL).finish()
    assert code == 0, err
    record = drive.last()
    levels = {(each.variant, each.level) for each in record.rounds if not each.anchor}
    assert levels == {("ncpus:1", 2), ("ncpus:1", 3), ("ncpus:2", 4), ("ncpus:2", 6)}
    assert "Throughput by CPUs, the best of 2 and 3 sessions per CPU" in out


@two_cpus
def test_dry_run_says_what_would_be_changed_and_measures_nothing(drive: Drive) -> None:
    code, out, err = drive("vary", "--variants", "spread,active:1", "--sessions", "2", "--dry-run").finish()
    assert code == 0, err
    assert out.splitlines()[-2:] == [
        "would be changed and restored: spread: server processes on a CPU each: 0, 1",
        "would be changed and restored: active:1: 1 of 2 sessions at a time",
    ]
    assert drive.runs() == []


def test_what_cannot_be_had_is_refused_before_anything_is_loaded(drive: Drive) -> None:
    for variant, said in (
        ("cpus:4000", "CPU 4000 is not among"),
        ("node:77", "memory node 77 has no usable CPU"),
        ("cage:2", "instance caging is Oracle's"),
    ):
        code, _, err = drive("vary", "sqlite", "--variants", variant, "--sessions", "2", "--yes").finish()
        assert code == 2, err
        assert said in err
    code, _, err = drive("vary", "sqlite", "--variants", "active:1", "--sessions", "2", "--for", "1s", "--yes").finish()
    assert code == 2
    assert "--for makes no sense" in err
    assert drive.runs() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_is_stopped_nothing_is_left_changed(drive: Drive, journals: Path, number: signal.Signals) -> None:
    # Pinned sessions that are at work for seconds: the journal holds their affinity meanwhile.
    long = ("--workload", "calm", "--size", "short", "--executions", "8", "--repeats", "1", "--yes")
    driver = drive("vary", "--variants", "cpus:0", "--sessions", "2", *long).said("variant cpus:0")
    driver.until(lambda: any(each.entries for each in leftovers()), "their affinity is in the journal")
    driver.send(number)
    code, _, err = driver.finish()
    assert code == (-9 if number == signal.SIGKILL else 130), err
    until(lambda: not list(journals.iterdir()), "nothing is left to undo")
    until(lambda: not drive.embedded(), "the server is gone")
    code, out, _ = drive("restore").finish()
    assert (code, out) == (0, "nothing to restore\n")


def test_a_server_can_be_started_by_another_command() -> None:
    with Guard() as guard, EmbeddedServer(2, guard, "env DBCPU_LAUNCHED=yes") as server:
        assert b"DBCPU_LAUNCHED=yes" in Path(f"/proc/{server.pid}/environ").read_bytes()
        assert Path(f"/proc/{server.pid}/comm").read_text().strip() == "postgres"
