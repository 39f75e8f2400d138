"""A journal that an earlier version of dbcpu wrote and was killed over is undone by this one.

``runs/journal-1.jsonl`` was written by version 1 of the journal, with ROOT for the folder of its host: SMT off, two
Oracle parameters, and what these disturb; one interrupt's CPUs were undone already when it was killed.
"""

from pathlib import Path

import pytest

from dbcpu.variants._journal import SCHEMA
from dbcpu.variants._restore import leftovers, restore
from support.archives import unpack
from support.doubles.instance import FakeInstance
from support.paths import HOSTS, TESTS

CONTROL = "sys/devices/system/cpu/smt/control"
INTERRUPT = "proc/irq/{}/smp_affinity_list"


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journals"
    folder.mkdir()
    monkeypatch.setenv("DBCPU_JOURNAL", str(folder))
    written = (TESTS / "runs" / "journal-1.jsonl").read_text().replace("ROOT", str(tmp_path / "root"))
    (folder / "0123456789abcdef.journal").write_text(written)
    return folder / "0123456789abcdef.journal"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The host as the killed run left it."""
    root = tmp_path / "root"
    unpack(HOSTS / "two-sockets.tar.gz", root)
    left = {CONTROL: "off", INTERRUPT.format(30): "0-39", INTERRUPT.format(31): "0-39"}
    for path, text in {**left, "proc/sys/kernel/random/boot_id": "the-first-boot\n"}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def caged() -> FakeInstance:
    return FakeInstance(cpu_count="2", resource_manager_plan="DEFAULT_PLAN")


def test_everything_it_says_is_put_back(journal: Path, root: Path) -> None:
    assert SCHEMA == 1, "a new form of the journal needs a fixture of its own, and this one stays readable"
    (found,) = leftovers()
    assert (found.host, found.target, found.boot_id, found.running) == (str(root), "db1", "the-first-boot", False)
    assert [entry.number for entry in found.entries] == [0, 2, 3, 4, 5]
    instance = caged()
    restored = restore("db1", instance)
    assert (restored.failures, restored.remarks) == ([], [])
    assert (root / CONTROL).read_text() == "on"
    assert (root / INTERRUPT.format(31)).read_text() == "41"
    assert (root / INTERRUPT.format(30)).read_text() == "0-39", "this one was undone before the run was killed"
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert not journal.exists()


def test_without_its_database_the_host_is_put_back_and_the_rest_is_kept(journal: Path, root: Path) -> None:
    failures = restore().failures
    assert [failure.partition(" of ")[0] for failure in failures] == ["cpu_count", "resource_manager_plan"]
    assert (root / CONTROL).read_text() == "on"
    assert journal.exists()
    instance = caged()
    assert restore("db1", instance).failures == []
    assert instance.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert not journal.exists()
