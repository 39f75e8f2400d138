"""The exported tables hold what record and analysis hold, in CSV and Parquet alike, and are whole or not there."""

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.errors import StoreError, UsageError
from dbcpu.record.rounds import Round, RunRecord, Session
from dbcpu.reports.tables.table import ExplainedRun, Type
from dbcpu.reports.tables.write import TABLES, written_tables
from plugins import runs
from support.builders.example import nine_on_eight, three_on_two
from support.builders.experiments import soak
from support.builders.record import record as built
from support.builders.record import round_of, session, unsampled

FORMS = ("parquet", "csv")
Rows = list[dict[str, Any]]


def explained(run: RunRecord) -> ExplainedRun:
    return ExplainedRun(run.header, explain(run), "0.2")


def export(folder: Path, form: str, *records: RunRecord, replaces: bool = False) -> None:
    with written_tables(folder, form, replace=replaces) as tables:
        for record in records:
            tables.add(explained(record), record.rounds)


def table(folder: Path, name: str) -> Rows:
    """The rows of a Parquet file, values as Python has them."""
    with duckdb.connect() as connection:
        found = connection.execute("select * from read_parquet(?)", [str(folder / f"{name}.parquet")])
        names = [each[0] for each in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def csv_table(folder: Path, name: str) -> Rows:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sessions_of(record: RunRecord) -> Iterator[tuple[Round, Session]]:
    return ((each, one) for each in record.rounds for one in each.sessions)


def test_a_session_has_what_was_measured_and_what_was_found(tmp_path: Path) -> None:
    run = three_on_two()
    analysis = explain(run)
    export(tmp_path, "parquet", run)
    rows = table(tmp_path, "sessions")
    assert [(row["round"], row["session"]) for row in rows] == [
        (each.order, one.ordinal) for each, one in sessions_of(run)
    ]
    views = {(each.order, each.ordinal): each for each in analysis.sessions}
    for row, (round_, one) in zip(rows, sessions_of(run), strict=True):
        view = views[round_.order, one.ordinal]
        assert row["run_id"] == run.header.run_id
        assert (row["level"], row["variant"], row["repeat"]) == (round_.level, round_.variant, round_.repeat)
        assert (row["elapsed_s"], row["slowdown"], row["cause"]) == (view.elapsed_s, view.slowdown, view.cause)
        assert (row["cpu_s"], row["run_delay_s"], row["migrations"]) == (one.cpu_s, one.run_delay_s, one.migrations)
        assert (row["valid"], row["executions"]) == (view.valid, len(one.executions))
    assert {row["cause"] for row in rows} == {"none", "run_queue"}


def test_executions_and_residency_are_those_of_the_record_to_the_last_digit(tmp_path: Path) -> None:
    run = runs.full_record()
    export(tmp_path, "parquet", run)
    executions = [(each.order, one.ordinal, *part) for each, one in sessions_of(run) for part in (
        (at, e.start_s, e.elapsed_s, e.server_start_s, e.server_elapsed_s) for at, e in enumerate(one.executions)
    )]  # fmt: skip
    columns = ("round", "session", "execution", "start_s", "elapsed_s", "server_start_s", "server_elapsed_s")
    assert [tuple(row[name] for name in columns) for row in table(tmp_path, "executions")] == executions
    assert executions[0][4] == 0.1 + 0.2
    stays = [
        (r.cpu, r.state, r.from_s, r.to_s, r.cpu_s, r.run_delay_s) for _, one in sessions_of(run) for r in one.residency
    ]
    rows = table(tmp_path, "residency")
    assert [
        tuple(row[name] for name in ("cpu", "state", "from_s", "to_s", "cpu_s", "run_delay_s")) for row in rows
    ] == stays
    assert [(row["core"], row["socket"], row["node"]) for row in rows] == [(0, 0, 0), (0, 0, 0)]


def test_a_run_and_its_levels_are_those_of_the_analysis(tmp_path: Path) -> None:
    run = nine_on_eight()
    analysis = explain(run)
    export(tmp_path, "parquet", run)
    (row,) = table(tmp_path, "runs")
    assert (row["vcpus"], row["cores"], row["verdict"]) == (analysis.vcpus, analysis.cores, analysis.verdict)
    assert analysis.reference is not None
    assert (row["tool_version"], row["explained_by"]) == (run.header.tool_version, "0.2")
    assert row["single_s"] == analysis.reference.elapsed_s
    assert row["findings"].split() == list(dict.fromkeys(each.code for each in analysis.findings))
    assert row["started_at"].isoformat() + "+00:00" == run.header.started_at
    assert analysis.capacity is not None and analysis.capacity.evenness is not None
    room, evenness = analysis.capacity, analysis.capacity.evenness
    assert (row["usable_cores"], row["evenness"], row["even"]) == (
        room.usable_cores, evenness.value, evenness.even.value
    )  # fmt: skip
    assert evenness.interval is not None
    assert (row["evenness_low"], row["evenness_high"]) == (evenness.interval.low, evenness.interval.high)
    levels = table(tmp_path, "levels")
    assert [(each["level"], each["throughput"], each["even"]) for each in levels] == [
        (view.level, view.throughput, view.even.value) for view in analysis.levels
    ]


@pytest.fixture(scope="module")
def both_forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all tables of two runs, to be read."""
    folder = tmp_path_factory.mktemp("tables")
    for form in FORMS:
        export(folder, form, three_on_two(), runs.full_record())
    return folder


@pytest.mark.parametrize("name", [each.name for each in TABLES])
def test_both_forms_hold_the_same(both_forms: Path, name: str) -> None:
    (definition,) = (each for each in TABLES if each.name == name)
    types = {each.name: each.type for each in definition.columns}
    packed, plain = table(both_forms, name), csv_table(both_forms, name)
    assert len(packed) == len(plain) > 0
    assert list(packed[0]) == list(plain[0]) == list(types)
    for one, other in zip(packed, plain, strict=True):
        for column, value in one.items():
            text = other[column]
            assert (value is None) == (text == ""), column
            if value is not None and types[column] is Type.NUMBER:
                assert value == float(text)
            elif value is not None and types[column] is Type.WHOLE:
                assert value == int(text)
            elif value is not None and types[column] is Type.TEXT:
                assert value == text.removeprefix("'")


def test_several_runs_are_in_one_file_each_and_joined_by_run_id(tmp_path: Path) -> None:
    export(tmp_path, "parquet", three_on_two(), nine_on_eight())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{each.name}.parquet" for each in TABLES)
    with duckdb.connect() as connection:
        found = connection.execute(
            f"select run_id, count(distinct level), count(*) from '{tmp_path}/sessions.parquet' "
            f"join '{tmp_path}/runs.parquet' using (run_id) group by run_id order by run_id"
        ).fetchall()
    assert found == [
        (each.header.run_id, len({one.level for one in each.rounds}), len(list(sessions_of(each))))
        for each in sorted((three_on_two(), nine_on_eight()), key=lambda run: run.header.run_id)
    ]


def test_text_from_outside_stays_text(tmp_path: Path) -> None:
    label = "=cmd|\"x\", 'y'\nz \x1b[31m é \udcff"
    run = three_on_two()
    run = RunRecord(replace(run.header, label=label), run.rounds)
    for form in FORMS:
        export(tmp_path, form, run)
    assert table(tmp_path, "runs")[0]["label"] == "=cmd|\"x\", 'y' z [31m é"
    assert csv_table(tmp_path, "runs")[0]["label"] == "'=cmd|\"x\", 'y' z [31m é"


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    run = built([round_of([unsampled(session(0))])])
    run = RunRecord(replace(run.header, host=None, started_at="yesterday"), run.rounds)
    export(tmp_path, "parquet", run)
    (of_run,), (of_session,) = table(tmp_path, "runs"), table(tmp_path, "sessions")
    assert [of_run[name] for name in ("host", "kernel", "started_at", "knee")] == [None] * 4
    assert [of_session[name] for name in ("pid", "cpu_s", "error")] == [None] * 3
    assert table(tmp_path, "residency") == []


def test_a_long_soak_keeps_every_execution(tmp_path: Path) -> None:
    run = soak(lambda *_: 5.0, segments=300, sessions=1)
    export(tmp_path, "parquet", run)
    assert len(table(tmp_path, "executions")) == sum(len(one.executions) for _, one in sessions_of(run))
    rows = table(tmp_path, "sessions")
    known = {(each.order, each.ordinal) for each in explain(run).sessions}
    assert len(rows) > len(known)
    assert all((row["cause"] is None) == ((row["round"], row["session"]) not in known) for row in rows)


@pytest.mark.parametrize("form", FORMS)
def test_rounds_are_read_one_by_one(tmp_path: Path, form: str) -> None:
    run, read = three_on_two(), list[int]()

    def rounds() -> Iterable[Round]:
        for each in run.rounds:
            read.append(each.order)
            yield each

    whole = explained(run)
    with written_tables(tmp_path, form) as tables:
        tables.add(whole, rounds())
        tables.add(replace(whole, header=replace(run.header, run_id="again")), rounds())
    assert read == [each.order for each in run.rounds] * 2


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_leaves_what_was_there(tmp_path: Path, form: str) -> None:
    export(tmp_path, form, three_on_two())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def failing() -> Iterator[Round]:
        yield three_on_two().rounds[0]
        raise StoreError("the store is gone")

    run = nine_on_eight()
    with pytest.raises(StoreError, match="the store is gone"), written_tables(tmp_path, form, replace=True) as tables:
        tables.add(explained(run), failing())
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("form", FORMS)
def test_files_are_replaced_only_when_wanted(tmp_path: Path, form: str) -> None:
    export(tmp_path, form, three_on_two())
    with pytest.raises(UsageError, match=f"runs.{form} exists already; give another folder, or --force"):
        export(tmp_path, form, nine_on_eight())
    export(tmp_path, form, nine_on_eight(), replaces=True)
    assert nine_on_eight().header.run_id.encode() in (tmp_path / f"runs.{form}").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_place_that_is_no_folder_is_a_sentence(tmp_path: Path, form: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file.* could not be written: "):
        export(tmp_path / "file", form, three_on_two())


def test_the_name_of_the_folder_is_no_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "a*[b]'?"
    export(folder, "parquet", three_on_two())
    assert (folder / "sessions.parquet").read_bytes().startswith(b"PAR1")


def test_without_duckdb_one_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"Parquet needs the package duckdb, .*`.*pip install .*duckdb`.*, and --csv"):
        export(tmp_path / "new", "parquet", three_on_two())
    assert not (tmp_path / "new").exists()
    export(tmp_path, "csv", three_on_two())


def test_names_of_columns_are_plain_words_that_sql_takes_as_they_are() -> None:
    with duckdb.connect() as connection:
        reserved = {row[0] for row in connection.execute(
            "select keyword_name from duckdb_keywords() where keyword_category = 'reserved'").fetchall()}  # fmt: skip
    names = [each.name for one in TABLES for each in one.columns]
    assert reserved.isdisjoint(names)
    assert all(name.isidentifier() and name == name.lower() for name in names)
    for one in TABLES:
        assert len({each.name for each in one.columns}) == len(one.columns), one.name
        assert all(each.unit == "s" for each in one.columns if each.name.endswith("_s") and each.name != "moves_per_s")
