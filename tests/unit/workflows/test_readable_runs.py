"""One damaged run in a store hides no other: histories, checks and comparisons leave it out and say so."""

import contextlib
import itertools
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, delete, event, select, update

from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from dbcpu.store.engine import locate, open_engine
from dbcpu.store.record_file import write_record
from dbcpu.store.schema.tables import round_, run
from dbcpu.workflows.history import overview_document
from dbcpu.workflows.kept_figures import keep_run
from support.builders.comparison import noisy_run
from support.builders.record import record, solos

DAYS = [f"2026110{day}-120000-test" for day in range(1, 5)]
DAMAGED = DAYS[1]


@pytest.fixture(params=["round", "header"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Four runs of one target, the second of which is damaged."""
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        for day, run_id in enumerate(DAYS, 1):
            made = record(solos(4, run_s=1.0 + day / 100), run_id=run_id, label="nightly" if day < 4 else "today")
            opened.save(_started(made, f"2026-11-0{day}T12:00:00+00:00"))
    with open_engine(locate(place)).begin() as connection:
        if request.param == "round":
            connection.execute(update(round_).where(round_.c.run_id == DAMAGED).values(body=b"nonsense"))
        else:
            connection.execute(update(run).where(run.c.run_id == DAMAGED).values(header="{}"))
    return place


def _started(made: RunRecord, moment: str) -> RunRecord:
    return replace(made, header=replace(made.header, started_at=moment))


@pytest.mark.parametrize(
    "command",
    [("list", "--history"), ("show", DAYS[3], "--history"),
     ("check", DAYS[3], "--throughput-drop", "0.9"),
     ("compare", DAYS[2], DAYS[3]), ("compare", "label:nightly", DAYS[3])],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_the_damaged_run_is_left_out_and_named(
    store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert main([*command, "--store", store]) in (0, 1)
    said = capsys.readouterr().err
    assert said.count(f"run {DAMAGED} is left out: ") == 1


def test_a_list_of_runs_has_the_damaged_one_without_its_answer(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--verdict", "--store", store]) == 0
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines() if line.startswith("2026")] == DAYS[::-1]
    assert told.err.count(f"run {DAMAGED} has no answer: ") == 1
    assert "left out" not in told.err


def test_a_damaged_run_that_is_asked_for_is_refused_with_what_to_do(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", DAMAGED, "--store", store]) == 3
    said = capsys.readouterr().err
    assert f"run {DAMAGED} in the store {store} is damaged: " in said
    assert f"; delete it by dbcpu delete {DAMAGED}, and import it again if there is a file of it\n" in said
    file = tmp_path / "kept.json"
    write_record(file, record(solos(4), run_id=DAMAGED))
    assert main(["delete", DAMAGED, "--yes", "--store", store]) == 0
    assert main(["import", str(file), "--store", store]) == 0
    assert main(["show", DAMAGED, "--store", store]) == 0


def test_a_run_that_lost_a_round_is_damaged(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_engine(locate(store)).begin() as connection:
        connection.execute(delete(round_).where((round_.c.run_id == DAYS[3]) & (round_.c.order == 1)))
    for command in ("show", "check"):
        assert main([command, DAYS[3], "--store", store]) == 3
        assert (
            f"run {DAYS[3]} in the store {store} is damaged: 3 of its 4 rounds are there; " in capsys.readouterr().err
        )


def test_a_history_of_damaged_runs_alone_is_not_said_to_be_empty(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["delete", *(day for day in DAYS if day != DAMAGED), "--yes", "--store", store]) == 0
    capsys.readouterr()
    assert main(["list", "--history", "--store", store]) == 3
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"dbcpu: run {DAMAGED} is left out: ")
    assert said[1:] == ["dbcpu: none of the runs of this history can be read; dbcpu list shows what there is"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('"schema":1', '"schema":999', "has schema 999, newer than"),
        ('"vcpus":', '"vcpus":"two","was":', "plan.vcpus should be a whole number"),
        ('"socket":0', '"socket":{}', "socket should be a whole number"),
    ],
)
def test_a_header_that_is_read_in_part_is_as_carefully_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, reason: str
) -> None:
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        for each in (noisy_run(at, run_id=f"run-{at}", repeats=2) for at in range(2)):
            keep_run(opened, each)
    with open_engine(locate(place)).begin() as connection:
        header = connection.scalar(select(run.c.header).where(run.c.run_id == "run-0"))
        assert header is not None and before in header
        changed = header.replace(before, after, 1)
        connection.execute(update(run).where(run.c.run_id == "run-0").values(header=changed))
    assert main(["list", "--history", "--store", place]) == 0
    told = capsys.readouterr()
    assert "run run-0 is left out: " in told.err and reason in told.err
    assert ": 1 run of " in told.out


def test_an_empty_store_leads_to_the_first_run_and_not_to_its_empty_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "runs.db")
    with open_store(place):
        pass
    for command in (["list", "--host", "db1"], ["list", "--history", "--target", "db1"]):
        assert main([*command, "--store", place]) == 2
        assert capsys.readouterr().err == "dbcpu: no run is kept yet; dbcpu run measures one\n"


def test_a_label_of_half_a_letter_is_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON may hold one, and decoders differ in whether they take it."""
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        keep_run(opened, noisy_run(1, run_id="run-1", repeats=2, label="\ud800"))
    assert main(["list", "--history", "--json", "--store", place]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["histories"][0]["run_ids"] == ["run-1"]
    assert told.err == ""


def test_histories_of_many_targets_are_read_over_few_connections(tmp_path: Path) -> None:
    """One for each run was most of the time."""
    place = str(tmp_path / "runs.db")
    kept = noisy_run(1, repeats=2)
    used = [0]

    def opened_one(*_: object) -> None:
        used[-1] += 1

    event.listen(Engine, "connect", opened_one)
    try:
        for targets in (1, 4):
            with open_store(place) as opened:
                for target, night in itertools.product(range(targets), range(3)):
                    header = replace(
                        kept.header,
                        run_id=f"run-{targets}-{target}-{night}",
                        plan=replace(kept.header.plan, target=f"t{targets}-{target}"),
                    )
                    keep_run(opened, RunRecord(header, kept.rounds))
            used.append(0)
            overview_document(place)
            used.append(0)
    finally:
        event.remove(Engine, "connect", opened_one)
    assert used[1] == used[3] > 0


ODD = ("x'ff'", "1e999", "-7", "''", "'9' || char(27) || char(10)", "null")
"""Values of SQL of which none belongs into most columns."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run for each of these, to be copied."""
    place = tmp_path_factory.mktemp("sound") / "runs.db"
    with open_store(str(place)) as opened:
        for at in range(len(ODD)):
            opened.save(record(solos(1), run_id=f"run-{at}", status="running"))
    return place


@pytest.mark.parametrize("column", [f"{table.name}.{each.name}" for table in (run, round_) for each in table.c])
def test_a_column_of_sqlite_may_hold_anything(
    column: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, table, name = str(shutil.copy(sound, tmp_path / "runs.db")), *column.split(".")
    with contextlib.closing(sqlite3.connect(place)) as connection:
        for at, value in enumerate(ODD):
            with contextlib.suppress(sqlite3.IntegrityError):  # the column takes no null
                connection.execute(f'update {table} set "{name}" = {value} where run_id = ?', [f"run-{at}"])
        connection.commit()
    for command in (["list"], ["list", "--json"], ["show", "last"], ["delete", "run-0", "run-1", "--yes"]):
        assert main([*command, "--store", place]) in (0, 2, 3)
    said = capsys.readouterr()
    assert "internal error" not in said.err
    assert "\x1b" not in said.out + said.err
