"""Kept figures answer as the records do: commands read them, and dbcpu store figures makes and deletes them."""

import contextlib
import multiprocessing
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from dbcpu.analysis import explain as explaining
from dbcpu.cli import main
from dbcpu.formatting import plural
from dbcpu.record import figures as analysed
from dbcpu.record.figures import VERSION, RunFigures
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.database import open_store
from dbcpu.store.record_file import write_record
from dbcpu.workflows import store_figures
from dbcpu.workflows.kept_figures import figures_of
from plugins import runs
from support.builders.comparison import noisy_run
from support.paths import TESTS

pytestmark = pytest.mark.slow

READERS = (["list", "--history"], ["list", "--verdict"], ["list", "--history", "--json"], ["show", "last", "--history"],
           ["check", "--last"], ["check", "night-03", "--json", "--fail-on", "inconclusive"])  # fmt: skip
every_reader = pytest.mark.parametrize("command", READERS, ids=" ".join)


def nights(count: int = 12) -> Iterator[RunRecord]:
    for day in range(1, count + 1):
        speed = 0.7 if day > 8 else 1.0
        yield noisy_run(day, run_id=f"night-{day:02}", started_at=f"2026-11-{day:02}T04:30:00+00:00", speed=speed,
                        uneven=1.5, levels=(1, 2, 4), repeats=3)  # fmt: skip


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve nights without figures, the last four slow."""
    place = tmp_path_factory.mktemp("bare") / "runs.db"
    with open_store(str(place)) as opened:
        for each in nights():
            opened.save(each)
    return place


@pytest.fixture(scope="module")
def filled(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the figures of all."""
    place = tmp_path_factory.mktemp("filled") / "runs.db"
    shutil.copy(bare, place)
    assert main(["store", "figures", "--store", str(place)]) == 0
    return place


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands look for the store."""
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs.db"


@pytest.fixture
def store(bare: Path, used: Path) -> str:
    return str(shutil.copy(bare, used))


@pytest.fixture
def filled_store(filled: Path, used: Path) -> str:
    return str(shutil.copy(filled, used))


def execute(place: str, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(place)) as connection, connection:
        return connection.execute(statement).fetchall()


def answer(command: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    return main(command), capsys.readouterr().out


@pytest.fixture
def unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a run was explained again")

    monkeypatch.setattr(explaining, "explain_rounds", refused)


@every_reader
def test_an_answer_is_the_same_from_figures_and_from_records(
    command: list[str], store: str, filled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as reading:
        reading.setattr("dbcpu.store.figures.FigureTable.keep", lambda *_: False)
        explained = answer(command, capsys)
        assert execute(store, "select count(*) from figure") == [(0,)]
    shutil.copy(filled, store)
    with monkeypatch.context() as kept:
        kept.setattr(explaining, "explain_rounds", lambda *_: pytest.fail("a run was explained again"))
        assert answer(command, capsys) == explained
    assert explained[1]


def test_figures_are_made_once_and_deleted(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["store", "figures"], capsys) == (0, f"figures of 12 runs were made (analysis {VERSION})\n")
    code, said = answer(["store", "figures"], capsys)
    assert (code, said) == (0, f"figures of 0 runs were made (analysis {VERSION}), those of 12 runs were there\n")
    before = execute(store, "select count(*) from round")
    assert answer(["store", "figures", "--drop"], capsys)[1].startswith(
        "figures of 12 runs were deleted; they are made"
    )
    assert execute(store, "select count(*) from figure") == [(0,)]
    assert execute(store, "select count(*) from round") == before


def test_reading_fills_what_is_missing_and_no_more_than_was_asked_for(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(["list", "--verdict", "--limit", "3"], capsys)
    assert execute(store, "select distinct run_id from figure order by 1") == [
        ("night-10",), ("night-11",), ("night-12",)
    ]  # fmt: skip


def test_another_analysis_makes_them_again(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(["list", "--verdict"], capsys)
    for module in ("dbcpu.workflows.kept_figures", "dbcpu.workflows.store_figures", "dbcpu.workflows.readable_runs"):
        monkeypatch.setattr(f"{module}.VERSION", VERSION + 1)
    monkeypatch.setattr("dbcpu.workflows.store_figures.FEW", 100)  # in this process, which has the number
    said = answer(["store", "figures"], capsys)[1]
    assert said == f"figures of 12 runs were made (analysis {VERSION + 1})\n"
    assert execute(store, "select distinct analysis from figure") == [(VERSION + 1,)]
    assert analysed.VERSION == VERSION


def test_a_damaged_run_is_named_and_the_others_get_theirs(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    execute(store, "update round set body = x'00' where run_id = 'night-05'")
    assert main(["store", "figures"]) == 0
    said = capsys.readouterr()
    assert "run night-05 is left out: " in said.err
    assert "figures of 11 runs were made" in said.out and "; 1 run could not be read" in said.out


@pytest.mark.parametrize(
    "harm",
    [
        "delete from round where run_id = 'night-03' and \"order\" = 2",
        "update round set body = x'' where run_id = 'night-03' and \"order\" = 2",
        "update round set body = substr(body, 1, 40) where run_id = 'night-03' and \"order\" = 2",
        "update round set body = null where run_id = 'night-03'",
        "update round set level = level + 1 where run_id = 'night-03' and \"order\" = 2",
        "update round set level = 'x' where run_id = 'night-03' and \"order\" = 2",
        "update round set repeat = 1e999 where run_id = 'night-03' and \"order\" = 2",
        "update round set variant = 'cpus:0' where run_id = 'night-03' and \"order\" = 2",
    ],
    ids=["lost", "emptied", "cut off", "null", "level", "no level", "repeat", "variant"],
)
def test_a_round_that_was_damaged_since_is_seen_beside_kept_figures(
    harm: str, filled_store: str, unexplained: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--verdict"]) == 0
    assert "damaged" not in capsys.readouterr().err
    execute(filled_store, harm)
    assert main(["list", "--verdict"]) == 0
    assert "night-03" in capsys.readouterr().err
    assert main(["check", "night-03"]) == 3
    assert "night-03" in capsys.readouterr().err
    main(["check", "--last"])
    assert "night-03" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["metric", "level", "variant", "value", "low", "high", "text"])
@pytest.mark.parametrize("odd", ["x'ff'", "'nine'", "1e999"])
def test_a_column_may_hold_anything_and_the_record_is_read_then(
    column: str, odd: str, filled_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(filled_store, "select count(*) from figure where run_id = 'night-03'") != [(0,)]
    execute(filled_store, f"update or ignore figure set {column} = {odd} where run_id = 'night-03'")
    assert answer(["list", "--history"], capsys)[0] == 0
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x''", "'[4, 1.5]'", "null", "'[4.5, null, []]'", "'[4, NaN, []]'"])
def test_a_history_is_the_same_where_the_text_made_for_it_is_damaged(
    text: str, filled_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = answer(["list", "--history", "--json"], capsys)
    execute(filled_store, f"update figure set text = {text} where metric = 'history_figures' and run_id = 'night-03'")
    assert answer(["list", "--history", "--json"], capsys) == whole


def test_without_a_terminal_only_what_is_wrong_is_told(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "figures"]) == 0
    told = capsys.readouterr()
    assert told.out == f"figures of 12 runs were made (analysis {VERSION})\n"
    assert told.err == ""


def test_of_two_at_once_the_second_leaves_out_what_the_first_has_made(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explained: list[str] = []

    def counting(header: Header, rounds: Iterable[Round]) -> RunFigures:
        """The other one comes when the first run is done."""
        explained.append(header.run_id)
        made = figures_of(header, rounds)
        if len(explained) == 1:
            assert main(["store", "figures"]) == 0
        return made

    monkeypatch.setattr(store_figures, "figures_of", counting)
    monkeypatch.setattr(store_figures, "FEW", 100)
    assert main(["store", "figures"]) == 0
    assert len(explained) == 13  # that in which the second came is made by both
    assert len(set(explained)) == 12
    assert "figures of 1 run were made (analysis" in capsys.readouterr().out.splitlines()[1]


def test_a_cluster_needs_its_package(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store_figures, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["store", "figures", "--scheduler", "tls://dask.example:8786"]) == 2
    told = capsys.readouterr().err
    assert "--scheduler needs the package distributed, which is not installed; " in told
    assert "(extra dbcpu[fleet])" in told
    assert execute(store, "select count(*) from figure") == [(0,)]


def test_what_deletes_figures_makes_none(filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = str(shutil.copy(filled, tmp_path / "copy.db"))
    assert main(["store", "figures", "--drop", "--scheduler", "tls://dask.example:8786", "--store", copy]) == 2
    assert "--drop deletes figures, and --scheduler makes them" in capsys.readouterr().err
    assert execute(copy, "select count(distinct run_id) from figure") == [(12,)]


def test_an_interrupted_making_keeps_what_is_done_and_goes_on(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C goes to all processes of the terminal, to the children, too. Whatever was begun by then is kept."""
    begun = tmp_path / "begun"
    code = f"""
import os, signal, sys
from dbcpu.store.figures import FigureTable
from dbcpu.workflows import store_figures
real, explain, called = FigureTable.keep, store_figures.figures_of, []
def keep(self, run_id, *rest):
    called.append(run_id)
    if len(called) == 1:
        os.killpg(0, signal.SIGINT)
    return real(self, run_id, *rest)
def begin(header, rounds):
    with open({str(begun)!r}, "a") as file:
        file.write(header.run_id + chr(10))
    return explain(header, rounds)
store_figures.figures_of = begin
if __name__ == "__main__":
    FigureTable.keep = keep
    from dbcpu.cli import main
    sys.exit(main(["store", "figures"]))
"""
    script = tmp_path / "interrupted.py"
    script.write_text(code)
    environment = runs.environment(PYTHONPATH=":".join(sys.path), DBCPU_STORE=store)
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False,
        start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    kept = {run_id for (run_id,) in execute(store, "select distinct run_id from figure")}
    assert kept == set(begun.read_text().split())
    assert f"figures of {plural(len(kept), 'run')} were made and are kept, " in done.stderr
    assert "Traceback" not in done.stderr
    assert main(["store", "figures"]) == 0
    assert f"figures of {plural(12 - len(kept), 'run')} were made" in capsys.readouterr().out
    assert len(execute(store, "select distinct run_id from figure")) == 12


@pytest.mark.parametrize(("few", "where"), [(100, "figures_of"), (1, "_Making._begun"), (1, "open_store")])
def test_interrupted_before_the_first_run_it_says_that_nothing_was_made_and_how_to_go_on(
    few: int, where: str, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store_figures, "FEW", few)
        patched.setattr(f"dbcpu.workflows.store_figures.{where}", interrupted)
        assert main(["store", "figures"]) == 130
    said = capsys.readouterr().err
    assert "interrupted before the first run was explained; no figures were made" in said
    assert "the same command begins " in said
    assert execute(store, "select count(*) from figure") == [(0,)]


def test_an_interruption_while_the_processes_start_leaves_none_behind(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C that came while it was blocked is seen when it no longer is: the pool was then nobody's."""
    real, started = signal.pthread_sigmask, list[object]()

    class Pool:
        def __init__(self, *_: object) -> None:
            started.append(self)

        def terminate(self) -> None:
            started.remove(self)

        def join(self) -> None:
            assert not started

    def unblocked(how: int, mask: Iterable[int]) -> object:
        if started:
            real(how, mask)
            raise KeyboardInterrupt
        return real(how, mask)

    monkeypatch.setattr(store_figures, "FEW", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr(context, "Pool", Pool)
    monkeypatch.setattr("signal.pthread_sigmask", unblocked)
    assert main(["store", "figures"]) == 130
    assert "no figures were made" in capsys.readouterr().err
    assert started == []


def test_an_imported_run_has_figures(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.json"
    write_record(file, noisy_run(3, run_id="imported"))
    assert main(["import", str(file)]) == 0
    assert execute(store, "select distinct run_id from figure") == [("imported",)]


def test_an_older_store_that_cannot_be_written_to_is_read_without_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store-1.db"
    shutil.copy(TESTS / "runs" / "store-1.db", place)

    def full(*_: object) -> object:
        from dbcpu.store.sidecars import NotWritable

        raise NotWritable("the store failed: the disk is full")

    monkeypatch.setattr("dbcpu.store.schema.upgrade.upgrade", full)
    assert main(["list", "--verdict", "--store", str(place)]) == 0
    assert "20261122-140028-sim-2c8f9a" in capsys.readouterr().out
    assert main(["check", "--last", "--store", str(place)]) in (0, 1)
    assert execute(str(place), "select version_num from dbcpu_schema_version") == [("0001",)]


def test_workers_of_a_cluster_make_them_too(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are threads of this process here, behind the same port."""
    distributed = pytest.importorskip("distributed")
    import dask

    from dbcpu.workflows.fleet.cluster import _ALONE, _NOWHERE

    store = tmp_path / "runs.db"
    shutil.copy(bare, store)
    monkeypatch.setenv("DBCPU_STORE", str(store))
    with (
        dask.config.set(_ALONE),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
            dashboard_address=_NOWHERE, worker_dashboard_address=_NOWHERE, memory_limit=0,
        ) as cluster,
    ):  # fmt: skip
        assert main(["store", "figures", "--scheduler", cluster.scheduler_address]) == 0
    assert "figures of 12 runs were made" in capsys.readouterr().out
    with open_store(str(store)) as opened:
        assert opened.figures.analysed(VERSION) == 12
    assert main(["store", "figures", "--scheduler", "tcp://192.0.2.1:8786"]) == 2
    assert "without TLS" in capsys.readouterr().err
