"""``dbcpu vary --dry-run``: what would be changed is said, and nothing is measured, changed or kept."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dbcpu.analysis.statistics.inference import can_decide
from dbcpu.cli import load_command
from dbcpu.config.targets import resolve
from dbcpu.errors import DbcpuError, HostError, UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.topology import read_host
from dbcpu.record import plan
from dbcpu.record.header import HostInfo
from dbcpu.variants._selection import select_variants
from dbcpu.workflows import measure_run
from dbcpu.workflows.vary import preview_changes

DELIVERY: dict[str, Any] = {
    "store": None,
    "out": None,
    "formats": (),
    "json_file": None,
    "fail_on": "never",
    "yes": True,
    "quiet": True,
}
GIVEN: dict[str, Any] = {**DELIVERY, "sessions": "2", "size": "tiny", "aa": False, "repeats": 1}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "journals"))
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    return tmp_path


def test_what_would_be_changed_is_returned_and_nothing_is_kept(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*arguments: object) -> Sequence[object]:
        raise AssertionError("a round was begun")

    monkeypatch.setattr("dbcpu.measure.rounds.run_round", measured)
    size, *_, first, second = preview_changes("sqlite", "active:1,policy:batch", (), GIVEN)
    assert re.search(r"cartesian \w+: levels 1-2, \d+ rounds, \d+ executions? per session; .* on a quiet host", size), (
        size
    )
    assert (first, second) == (
        "would be changed and restored: active:1: 1 of 2 sessions at a time",
        "would be changed and restored: policy:batch: server processes with policy batch",
    )
    assert list(folders.iterdir()) == [], "neither a store nor a journal"


@pytest.mark.parametrize(("repeats", "warned"), [(5, 1), (6, 0)])
@pytest.mark.parametrize("sessions", ["2", "1,2"])
def test_too_few_rounds_to_compare_are_said_before_they_are_measured(repeats: int, warned: int, sessions: str) -> None:
    said = "\n".join(preview_changes("sqlite", "active:1", (), {**GIVEN, "repeats": repeats, "sessions": sessions}))
    assert said.count(f"{repeats} rounds of each level; figures are shown, but no difference between") == warned


def test_as_many_rounds_as_vary_makes_can_decide() -> None:
    assert can_decide(plan.NORMAL, plan.NORMAL)
    assert not can_decide(plan.NORMAL - 1, plan.NORMAL - 1)
    assert next(each for each in load_command("vary").command.params if each.name == "repeats").default == plan.NORMAL


def test_what_is_not_possible_is_refused_as_in_a_run() -> None:
    with pytest.raises(UsageError, match="variant cage:2 is not possible here: instance caging is Oracle's"):
        preview_changes("sqlite", "cage:2", (), GIVEN)
    with pytest.raises(UsageError, match="--for makes no sense"):
        preview_changes("sqlite", "active:1", (), {**GIVEN, "for_s": 1.0})
    with pytest.raises(UsageError, match="--aa measures the same twice"):
        preview_changes("sqlite", "active:1", (), {**GIVEN, "aa": True})


def test_where_no_journal_can_be_written_nothing_is_measured(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folders / "file").touch()
    monkeypatch.setenv("DBCPU_JOURNAL", str(folders / "file" / "journals"))
    with pytest.raises(HostError, match=r"no journal could be written in .*; name another folder in DBCPU_JOURNAL$"):
        preview_changes("sqlite", "policy:batch", (), GIVEN)
    assert preview_changes("sqlite", "active:1,active:2", (), GIVEN), "they change nothing"


def test_an_option_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TypeError, match="repeat"):
        preview_changes("sqlite", "active:1", (), {**GIVEN, "repeat": 2})


def test_a_preview_counts_the_rounds_of_every_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts: list[Host] = []

    def counted(host: Host) -> HostInfo:
        hosts.append(host)
        return read_host(host)

    monkeypatch.setattr(measure_run, "read_host", counted)
    choices = measure_run.Choices(sessions="1-2", size="tiny", executions=1, variants=select_variants("active:1"))
    preview = measure_run.preview_run(resolve("sqlite"), choices, measure_run.Watcher())
    assert preview.levels == (1, 2)
    assert preview.rounds == 2 * 2 * choices.repeats, "two variants, two levels"
    assert not preview.touches_host
    assert len(hosts) == 2, "once to open for enough sessions, and once that of the database: it may be far away"


@pytest.mark.parametrize(
    ("variants", "sampler", "said"),
    [
        ("cpus:65535", None, "variant cpus:65535 is not possible here: CPU 65535 is not among "),
        ("active:1", "ssh", "sampling by ssh is not possible: the database's host is not reached over ssh"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, variants: str, sampler: str | None, said: str
) -> None:
    def calibrated(*arguments: object) -> object:
        raise AssertionError("the baseline was measured")

    monkeypatch.setattr(measure_run, "calibrate", calibrated)
    with pytest.raises(DbcpuError, match=said):
        preview_changes("sqlite", variants, (), {**GIVEN, "sampler": sampler})
