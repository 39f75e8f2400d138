"""A journal that an earlier version of dbcpu wrote and was killed over is undone by this one.

``runs/journal-1.jsonl`` was written by version 1 of the journal, with ROOT for the folder of its host: SMT off, two
Oracle parameters, and what these disturb; one interrupt's CPUs were undone already when it was killed. Its parameters
have no instance; those of ``runs/journal-2.jsonl`` have: one of the two was undone already.
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


def test_in_a_cluster_an_instance_that_is_as_before_may_not_be_the_one(journal: Path, root: Path) -> None:
    """Whoever changed it did not write down where: another instance has the value of before, and proves nothing."""
    for dry_run in (True, False):
        failures = restore("db1", FakeInstance(several="ORCL2"), dry_run=dry_run).failures
        assert len(failures) == 2
        assert "cpu_count is '16' in instance ORCL2, and an earlier version of dbcpu set it to '2' in an" in failures[0]
    assert journal.exists()
    here = FakeInstance(cpu_count="2", resource_manager_plan="DEFAULT_PLAN", several="ORCL1")
    restored = restore("db1", here)
    assert restored.failures == []
    assert here.values == {"cpu_count": "16", "resource_manager_plan": ""}
    assert any(
        "in instance ORCL1; other instances of its cluster were not looked at" in each for each in restored.remarks
    )
    assert not journal.exists()


def test_a_value_that_is_neither_one_is_not_somebody_elses_where_it_may_be_another_instance(
    journal: Path, root: Path
) -> None:
    instance = FakeInstance(cpu_count="7", resource_manager_plan="DEFAULT_PLAN", several="ORCL2")
    (failure,) = restore("db1", instance).failures
    assert "cpu_count is '7' in instance ORCL2" in failure
    assert (instance.values["cpu_count"], journal.exists()) == ("7", True)


def test_of_a_journal_with_instances_each_parameter_goes_to_its_own(journal: Path, root: Path) -> None:
    assert SCHEMA == 2, "a new form of the journal needs a fixture of its own, and this one stays readable"
    text = (TESTS / "runs" / "journal-2.jsonl").read_text().replace("ROOT", str(root))
    journal.write_text(text)
    (found,) = leftovers()
    assert [each.what for each in found.entries] == ["parameter:cpu_count@ORCL1"]
    (failure,) = restore("db1", FakeInstance(several="ORCL2")).failures
    assert "instance ORCL1 is not reached" in failure
    instance = FakeInstance(cpu_count="2", several="ORCL1")
    assert restore("db1", instance).failures == []
    assert (instance.values["cpu_count"], journal.exists()) == ("16", False)
