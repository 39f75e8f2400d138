"""However the rounds of a run end, what is stored of them is named."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.errors import Interrupted, MeasureError, RecordFormatError, ServerError, StoreError
from dbcpu.record.rounds import Round
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.keep_rounds import keep_rounds
from plugins import runs


def rounds_until(error: BaseException | None) -> Iterator[Round]:
    yield runs.round_of(1, 0)
    if error is not None:
        raise error


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


def test_a_whole_run_is_complete(store: Store) -> None:
    seen: list[Round] = []
    run_id = keep_rounds(store, runs.header("one", status="running"), rounds_until(None), seen.append)
    assert (store.header(run_id).status, [each.order for each in seen]) == ("complete", [0])


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (
            "every session failed: no answer within 60 s; cancelled",
            "at a quieter time, or with fewer `--executions`; 1",
        ),
        ("every session failed: it was lost", "it was lost; 1"),
    ],
    ids=["too late", "another reason"],
)
def test_a_round_that_took_too_long_ends_the_run_with_what_helps(store: Store, error: str, ending: str) -> None:
    failed = replace(runs.round_of(1, 0), error=error)
    with pytest.raises(MeasureError, match=re.escape(f"{ending} finished round stored")):
        keep_rounds(store, runs.header("one", status="running"), [failed], lambda _: None)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [(KeyboardInterrupt(), Interrupted, "interrupted"), (ServerError("it was lost"), ServerError, "failed")],
)
def test_what_is_stored_is_named_although_the_disk_is_full(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: BaseException, kind: type[Exception], status: str
) -> None:
    with pytest.raises(kind, match="1 finished round stored, see: dbcpu show one"):
        keep_rounds(store, runs.header("one", status="running"), rounds_until(error), lambda _: None)
    assert store.header("one").status == status

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "finish", full)
    with pytest.raises(kind, match="1 finished round stored, see: dbcpu show two"):
        keep_rounds(store, runs.header("two", status="running"), rounds_until(error), lambda _: None)


def test_a_round_that_could_not_be_read_again_ends_the_run_and_the_others_are_kept(store: Store) -> None:
    impossible = replace(runs.round_of(1, 1), level=0, sessions=())
    with pytest.raises(RecordFormatError, match=r"its level is 0.* please report it; 1 finished round stored"):
        keep_rounds(store, runs.header("one", status="running"), [runs.round_of(1, 0), impossible], lambda _: None)
    assert [each.order for each in store.load("one").rounds] == [0]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("begin", "nothing was measured, and no run was begun: the disk is full"),
        (
            "append",
            "the round with N=1 was measured, and is not stored: the disk is full; 1 finished round stored, see:",
        ),
        ("finish", "all rounds of run one are stored, but the run is not marked complete: the disk is full"),
    ],
)
def test_a_store_that_takes_no_more_is_said_with_what_it_did_not_take(
    store: Store, monkeypatch: pytest.MonkeyPatch, method: str, said: str
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    def fills_up(_: Round) -> None:
        monkeypatch.setattr(store, method, full)

    if method == "begin":
        monkeypatch.setattr(store, method, full)
    with pytest.raises(StoreError, match=f"^{re.escape(said)}"):
        keep_rounds(store, runs.header("one", status="running"), [runs.round_of(1, 0), runs.round_of(1, 1)], fills_up)


@pytest.mark.parametrize(
    ("error", "kind"), [(StoreError("the disk is full"), StoreError), (KeyboardInterrupt(), Interrupted)]
)
def test_what_goes_on_between_rounds_is_ended_before_a_run_that_stops(
    store: Store, error: BaseException, kind: type[Exception]
) -> None:
    told: list[str] = []

    def soak() -> Iterator[Round]:
        try:
            yield from (runs.round_of(1, order) for order in range(3))
        finally:
            told.append("sessions ended")

    def stops(_: Round) -> None:
        raise error

    rounds = soak()  # as a traceback does, this name keeps it alive
    with pytest.raises(kind):
        keep_rounds(store, runs.header("one", status="running"), rounds, stops)
    assert told == ["sessions ended"]
