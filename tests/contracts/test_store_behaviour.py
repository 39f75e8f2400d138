"""What a store does, the same on every database."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, event

from dbcpu.errors import StoreError, UsageError
from dbcpu.hosts import driver_process
from dbcpu.record.rounds import RunRecord
from dbcpu.store import record_file
from dbcpu.store.database import Store, open_store, upgrade_store
from plugins import runs


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        url = str(tmp_path / "with space and %.db")
    else:
        # A crowded machine may take longer to accept a connection than a user would wait.
        url = f"{request.getfixturevalue('postgres_database')}?connect_timeout=120"
        upgrade_store(url)
    with open_store(url) as opened:
        yield opened


@pytest.mark.parametrize("run", [runs.full_record(), runs.record(rounds=0), runs.record(rounds=5)])
def test_run_comes_back_the_same(store: Store, run: RunRecord) -> None:
    assert store.save(run)
    assert store.load(run.header.run_id) == run


def test_rounds_are_kept_one_by_one_while_a_run_is_measured(store: Store) -> None:
    header = runs.header(status="running", driver=driver_process.this_process())
    rounds = [runs.round_of(2, order) for order in range(3)]
    store.begin(header)
    for count, each in enumerate(rounds, 1):
        store.append(header.run_id, each)
        (listed,) = store.list()
        assert (listed.status, listed.rounds) == ("running", count)
        assert store.load("last").rounds == tuple(rounds[:count])
    store.finish(header.run_id, "complete", ("first", "second"))
    assert store.load("last").header == replace(header, status="complete", notes=("first", "second"))
    assert store.list()[0].status == "complete"


def test_a_round_that_is_added_while_rounds_are_counted_makes_no_run_damaged(store: Store) -> None:
    """Each statement of PostgreSQL sees what was added before it; a count that was read last was one too many."""
    store.begin(runs.header(status="running", driver=driver_process.this_process()))
    store.append(run_id := runs.header().run_id, runs.round_of(2, 0))
    added = [runs.round_of(2, 1)]

    def add(*_: object) -> None:
        if added:
            store.append(run_id, added.pop())

    event.listen(Engine, "after_cursor_execute", add)
    try:
        assert [each.order for each in store.rounds(run_id)][:1] == [0]
    finally:
        event.remove(Engine, "after_cursor_execute", add)
    assert [each.order for each in store.rounds(run_id)] == [0, 1]


def test_same_round_or_run_twice_is_refused(store: Store) -> None:
    run = runs.record()
    store.save(run)
    with pytest.raises(StoreError, match="has a run 20250102-030405-abcd already"):
        store.begin(run.header)
    with pytest.raises(StoreError, match="has a round 1 already"):
        store.append(run.header.run_id, run.rounds[1])
    assert store.load("last") == run
    assert store.list()[0].rounds == 2


def test_round_of_no_run_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="has no run 'gone' any more"):
        store.append("gone", runs.round_of(1, 0))
    with pytest.raises(StoreError, match="has no run 'gone'"):
        store.finish("gone", "complete")


def test_saving_the_same_run_again_does_nothing_and_a_different_one_is_refused(store: Store) -> None:
    run = runs.record()
    assert store.save(run)
    assert not store.save(run)
    other = RunRecord(run.header, run.rounds[:1])
    with pytest.raises(StoreError, match=r"has a different run 20250102-030405-abcd \(of 2025-01-02T03:04:05"):
        store.save(other)
    assert store.load("last") == run


def test_runs_are_listed_newest_first_whatever_form_their_time_has(store: Store) -> None:
    times = ["2025-01-02T00:00:00Z", "2025-01-02T01:30:00+02:00", "2025-01-02T00:00:00.5+00:00", "2025-01-01T23:00:00"]
    for number, started_at in enumerate(times):
        store.save(runs.record(f"r{number}", rounds=0, started_at=started_at, target=f"t{number % 2}"))
    assert [run.run_id for run in store.list()] == ["r2", "r0", "r1", "r3"]
    assert [run.run_id for run in store.list(limit=2)] == ["r2", "r0"]
    assert [run.run_id for run in store.list(target="t1")] == ["r1", "r3"]
    assert store.list(target="none") == ()
    assert store.resolve("last") == "r2"


def test_summary_says_what_was_run(store: Store) -> None:
    store.save(runs.full_record())
    (run,) = store.list()
    assert msgspec.structs.astuple(run) == (
        "example-1", "before the upgrade", "2025-01-02T03:04:05.000000+00:00", "complete", "embedded",
        "postgresql", "18.4", "db1", "cartesian", "short", "1-2", 2, "0.1.0",
    )  # fmt: skip


def test_text_that_no_column_holds_is_kept_in_full(store: Store) -> None:
    label = "nul \0 and \udcff, 'quoted'; drop table run; -- % _ \N{PILE OF POO}"
    store.save(runs.record(label=label))
    assert store.load("last").header.label == label
    assert store.list()[0].label == "nul  and ?, 'quoted'; drop table run; -- % _ \N{PILE OF POO}"


def test_run_is_found_by_an_unambiguous_beginning(store: Store) -> None:
    for run_id in ("a_1", "ax1", "ax12", "B1"):
        store.save(runs.record(run_id, rounds=0))
    assert store.resolve("a_") == "a_1"
    assert store.resolve("ax1") == "ax1"
    assert store.resolve("ax12") == "ax12"
    with pytest.raises(UsageError, match="2 runs begin with 'ax': "):
        store.resolve("ax")
    for name in ("b1", "", "%", "x"):
        with pytest.raises(UsageError, match=f"begins with '{name}'; the newest are "):
            store.resolve(name)


def test_empty_store_says_so(store: Store) -> None:
    assert store.list() == ()
    with pytest.raises(UsageError, match="holds no run yet; dbcpu run measures one"):
        store.load("last")


def test_deleted_run_is_gone_with_its_rounds(store: Store) -> None:
    store.save(runs.record("one"))
    store.save(runs.record("two"))
    store.delete("one")
    assert [run.run_id for run in store.list()] == ["two"]
    assert list(store.rounds("one")) == []
    assert len(list(store.rounds("two"))) == 2
    store.save(runs.record("one", rounds=1))
    assert len(store.load("one").rounds) == 1


def test_run_whose_driver_is_gone_is_shown_as_interrupted(store: Store) -> None:
    this = driver_process.this_process()
    ended = replace(this, start_ticks=(this.start_ticks or 0) - 1)
    elsewhere = replace(ended, hostname="elsewhere")
    for run_id, drove in (("mine", this), ("ended", ended), ("elsewhere", elsewhere)):
        store.begin(runs.header(run_id, status="running", driver=drove))
    states = {run.run_id: run.status for run in store.list()}
    assert states == {"mine": "running", "ended": "interrupted", "elsewhere": "running"}
    assert {run_id: store.header(run_id).status for run_id in states} == states


def test_run_that_a_restart_of_this_machine_cut_off_is_shown_as_interrupted_and_can_be_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_process, "pid_namespace", lambda: driver_process.FIRST_PID_NAMESPACE)
    monkeypatch.setattr(driver_process, "machine", lambda _: "0123456789abcdef")
    before = replace(driver_process.this_process(), boot_id="a9f2b0f6-7c7e-4a43-8d0b-5e4a3f0f7f11")
    for run_id, drove in (("here", before), ("elsewhere", replace(before, machine="fedcba9876543210"))):
        store.begin(runs.header(run_id, status="running", driver=drove))
    assert {run.run_id: run.status for run in store.list()} == {"here": "interrupted", "elsewhere": "running"}
    assert store.header("here").status == "interrupted"
    store.delete("here")
    assert [run.run_id for run in store.list()] == ["elsewhere"]


def test_run_that_is_being_measured_is_not_deleted(store: Store) -> None:
    this = driver_process.this_process()
    store.begin(runs.header(status="running", driver=this))
    with pytest.raises(StoreError, match=f"is being measured by process {this.pid}; stop that first"):
        store.delete("20250102-030405-abcd")
    assert len(store.list()) == 1


def test_exported_file_is_loaded_by_its_name(store: Store, tmp_path: Path) -> None:
    run = runs.record()
    record_file.write_record(tmp_path / "run.json.gz", run)
    assert store.load(str(tmp_path / "run.json.gz")) == run
    assert store.list() == ()
