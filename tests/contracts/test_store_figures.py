"""The figures of a store, the same on every database: kept, read, deleted, and queried as docs/store.md says."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import create_engine, text

from dbcpu.hosts import driver_process
from dbcpu.record.figures import METRICS, VERSION, Figure
from dbcpu.store.database import Store, open_store, upgrade_store
from dbcpu.workflows.kept_figures import KeptFigures, figures_of, keep_run
from plugins import runs
from support.builders.comparison import noisy_run
from support.paths import ROOT

DOCS = ROOT / "docs" / "store.md"
QUERY = re.compile(r"^```sql figures\n(.*?)^```", re.MULTILINE | re.DOTALL)
SOME = (Figure("verdict", text="equal"), Figure("even", 2, "baseline", 1.0, text="yes"),
        Figure("slowdown_x", 2, "baseline", 1.25, 1.125, 1.5))  # fmt: skip


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    found = f"{request.getfixturevalue('postgres_database')}?connect_timeout=120"
    upgrade_store(found)
    return found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


def kept(store: Store, run_id: str, analysis: int = 1) -> Sequence[Figure]:
    found = store.figures.of([run_id], analysis)
    return found[run_id].all if run_id in found else ()


def test_figures_come_back_the_same_and_take_the_place_of_older_ones(store: Store) -> None:
    store.save(runs.record("one"))
    assert store.figures.keep("one", 1, SOME, 2)
    assert sorted(kept(store, "one"), key=repr) == sorted(SOME, key=repr)
    assert store.figures.keep("one", 2, SOME[:1], 2)
    assert (kept(store, "one"), list(kept(store, "one", 2))) == ((), list(SOME[:1]))
    assert store.figures.keep("one", 1, SOME, 2)  # of an older program: those of the newer one stay
    assert len(kept(store, "one", 1)) == 3 and len(kept(store, "one", 2)) == 1


def test_a_run_that_is_measured_or_has_other_rounds_gets_none(store: Store) -> None:
    store.save(runs.record("one"))
    assert not store.figures.keep("one", 1, SOME, 3)
    assert not store.figures.keep("gone", 1, SOME, 2)
    store.begin(runs.header("two", status="running", driver=driver_process.this_process()))
    assert not store.figures.keep("two", 1, SOME, 0)
    assert (kept(store, "one"), kept(store, "two"), store.figures.lacking(1)) == ((), (), ("one",))


def test_more_rounds_and_deleting_take_figures_away(store: Store) -> None:
    store.begin(runs.header("one"))
    store.append("one", runs.round_of(1, 0))
    assert store.figures.keep("one", 1, SOME, 1)
    store.reopen(runs.header("one", status="running"), 1)
    assert kept(store, "one") == ()
    store.append("one", runs.round_of(1, 1))
    store.finish("one", "complete")
    assert store.figures.keep("one", 1, SOME, 2)
    store.delete("one")
    assert store.figures.drop() == 0


def test_dropping_deletes_all_and_no_run(store: Store) -> None:
    for name in ("one", "two"):
        store.save(runs.record(name))
        store.figures.keep(name, 1, SOME, 2)
    assert store.figures.analysed(1) == 2
    assert store.figures.texts("verdict", 1) == {"one": "equal", "two": "equal"}
    assert (store.figures.drop(), store.figures.analysed(1)) == (2, 0)
    assert set(store.figures.lacking(1)) == {"one", "two"} == {each.run_id for each in store.list()}


def test_more_runs_than_a_statement_has_parameters(store: Store) -> None:
    store.save(runs.record("one"))
    store.figures.keep("one", 1, SOME, 2)
    found = store.figures.of([*(f"no-{at}" for at in range(1200)), "one"], 1, ["even"])
    assert [each.metric for each in sorted(found["one"].all, key=lambda each: each.metric)] == ["even", "verdict"]


def test_a_run_with_a_value_that_no_analysis_makes_has_no_figures(store: Store, url: str) -> None:
    for name in ("one", "two"):
        store.save(runs.record(name))
        store.figures.keep(name, 1, SOME, 2)
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    infinite = "'Infinity'" if "://" in url else "9e999"
    with engine.begin() as connection:
        connection.execute(text(f"update figure set value = {infinite} where run_id = 'one' and metric = 'even'"))
    engine.dispose()
    assert (len(kept(store, "one")), len(kept(store, "two"))) == (0, 3)


def test_what_is_missing_is_made_and_kept(store: Store) -> None:
    record = noisy_run(1, levels=(1, 2))
    store.save(record)
    known = KeptFigures(store).of([record.header.run_id])
    assert kept(store, record.header.run_id, VERSION)
    again = KeptFigures(store).of([record.header.run_id])
    key = repr
    (made,), (read,) = known.values(), again.values()
    assert sorted(made.all, key=key) == sorted(read.all, key=key)


def test_a_run_cut_off_by_a_crash_is_explained_and_nothing_is_kept(store: Store) -> None:
    this = driver_process.this_process()
    gone = replace(this, start_ticks=(this.start_ticks or 0) - 1)
    record = noisy_run(1, levels=(1, 2))
    header = replace(record.header, status="running", driver=gone)
    store.begin(header)
    for each in record.rounds:
        store.append(header.run_id, each)
    assert KeptFigures(store).of([header.run_id])[header.run_id].text("verdict")
    assert kept(store, header.run_id, VERSION) == ()


# --- docs/store.md


def answered(url: str) -> list[list[dict[str, object]]]:
    queries = QUERY.findall(DOCS.read_text("utf-8"))
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    with engine.connect() as connection:
        found = [[dict(row) for row in connection.execute(text(each)).mappings()] for each in queries]
    engine.dispose()
    return found


def test_the_queries_of_the_document_answer(store: Store, url: str) -> None:
    for day in (1, 2, 3):
        record = noisy_run(day, uneven=1.6 if day == 3 else 1.0, started_at=f"2026-11-0{day}T04:30:00+00:00",
                           run_id=f"night-{day}", levels=(1, 2, 3, 4))  # fmt: skip
        keep_run(store, record)
    newest, over_time, hosts, uneven, findings = answered(url)
    figures = figures_of(record.header, record.rounds)
    assert [(each["hostname"], each["verdict"], each["headline"]) for each in newest] == [
        ("db1", figures.text("verdict"), figures.text("headline"))
    ]
    assert [each["level"] for each in over_time] == [4, 4, 4]
    assert over_time[-1]["mrows_per_s"] == figures.value("throughput_mrows_per_s", 4, "baseline")
    assert [(each["hostname"], each["vcpus"]) for each in hosts] == [("db1", 4.0)]
    assert (
        {(each["run_id"], each["level"]) for each in uneven}
        == {
            ("night-3", level)
            for level in figures.levels("baseline")
            if figures.text("even", level, "baseline") == "no"
        }
        != set()
    )
    assert {(each["month"], each["finding"]) for each in findings} >= {("2026-11", code) for code in figures.findings()}


def test_the_document_lists_every_metric() -> None:
    lines = ["| metric | of | meaning |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {each.of} | {each.meaning} |" for each in METRICS]
    lines.append("| `finding:CODE` | run | text: what was seen; value: 1 info, 2 warning, 3 problem |")
    made = "\n".join(lines)
    between = DOCS.read_text("utf-8").partition("<!-- metrics -->\n")[2].partition("\n<!-- end of metrics -->")[0]
    assert between == made
