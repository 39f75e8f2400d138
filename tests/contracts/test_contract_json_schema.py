"""docs/schema says what a record and an analysis look like; every committed one, and every kind of run, is so.

``pytest tests/contracts/test_contract_json_schema.py --update-golden`` writes the schemas anew.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats import json as json_format
from dbcpu.simulator import preset, simulate
from dbcpu.store import codec, record_file
from plugins import runs
from support.builders import example, experiments
from support.json_schemas import SCHEMAS, closed, text_of
from support.paths import EXAMPLES, ROOT, TESTS

FOLDER = ROOT / "docs" / "schema"
RECORD, ANALYSIS = SCHEMAS
RECORDS = sorted([*(TESTS / "runs").glob("schema-*.json"), *EXAMPLES.rglob("*.json.gz")])
ANALYSES = sorted(path for path in (TESTS / "golden").rglob("json.json") if "levels" in json.loads(path.read_text()))


@cache
def validator(name: str, *, strict: bool = False) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return jsonschema_rs.Draft202012Validator(closed(schema) if strict else schema)


def faults(name: str, data: Any, *, strict: bool = False) -> list[str]:
    """Where something does not fit, and why."""
    found = validator(name, strict=strict).iter_errors(data)
    return ["/".join(map(str, each.instance_path)) + f": {each.message[:200]}" for each in found]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_made_from_the_code(name: str, request: pytest.FixtureRequest) -> None:
    path, made = FOLDER / f"{name}.json", SCHEMAS[name]()
    jsonschema_rs.meta.validate(made)
    if request.config.getoption("--update-golden"):
        path.write_text(text_of(made), "utf-8", newline="\n")
    assert path.read_text("utf-8") == text_of(made), f"{path.name} differs; look, then run pytest --update-golden"


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_committed_record_fits(path: Path) -> None:
    assert faults(RECORD, codec.loads(record_file.content_of(path), path.name)) == []


def test_the_runs_of_a_committed_store_fit() -> None:
    with closing(sqlite3.connect(f"file:{TESTS / 'runs' / 'store-1.db'}?mode=ro&immutable=1", uri=True)) as store:
        runs_of_it = store.execute("select run_id, header from run").fetchall()
        assert runs_of_it
        for run_id, header in runs_of_it:
            bodies = store.execute('select body from round where run_id = ? order by "order"', (run_id,)).fetchall()
            assert bodies
            rounds = [json.loads(zlib.decompress(body)) for (body,) in bodies]
            assert faults(RECORD, json.loads(header) | {"rounds": rounds}) == []


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.parent.name)
def test_every_committed_analysis_fits(path: Path) -> None:
    assert faults(ANALYSIS, json.loads(path.read_text("utf-8"))) == []


def test_what_is_checked_is_there() -> None:
    assert len(RECORDS) > 5
    assert len(ANALYSES) >= 2


def data_of(record: RunRecord) -> Any:
    """What its file holds. The validator takes no bytes that are no text, which a record may have in a name."""
    return json.loads("".join(codec.json_pieces(record.header, record.rounds)).replace(r"\udcff", "?"))


def test_a_record_with_every_field_fits_and_has_no_other() -> None:
    assert faults(RECORD, data_of(runs.full_record()), strict=True) == []


KINDS: dict[str, Callable[[], RunRecord]] = {
    "uneven": example.three_on_two,
    "variants": example.two_settings,
    "soak": lambda: experiments.soak(lambda *_: 2.0, segments=4),
    "pool": lambda: experiments.pool({1: 10.0, 2: 5.0}),
    "together": lambda: experiments.together((2.0, 2.0), (2.0, 4.0)),
    "toggling": lambda: simulate(replace(preset("this-vm"), toggle=1.8), (1, 2, 3), seed=1, size="short", seconds=2.0),
    "without rounds": lambda: RunRecord(runs.header(), ()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_analysis_of_every_kind_of_run_fits_and_has_no_other_member(kind: str) -> None:
    record = KINDS[kind]()
    shown = json.loads(json_format.render(document(record, explain(record))))
    assert faults(ANALYSIS, shown, strict=True) == []
    assert faults(RECORD, data_of(record), strict=True) == []


def without(data: Any, *path: str | int) -> Any:
    """The same, and what is at ``path`` is left out."""
    changed = deepcopy(data)
    part = changed
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return changed


def test_what_does_not_fit_is_noticed() -> None:
    data = data_of(runs.full_record())
    assert faults(RECORD, without(data, "schema")) == [': "schema" is a required property']
    assert faults(RECORD, without(data, "rounds", 0, "sessions", 0, "server")) != []
    assert faults(RECORD, data | {"run_id": "last"}) != []
    assert faults(RECORD, data | {"status": "done"}) != []
    assert faults(RECORD, data | {"schema": 2}) != []
    assert faults(RECORD, data | {"later": 1}) == [], "more may be added"
    assert faults(RECORD, data | {"later": 1}, strict=True) != []
    levels = deepcopy(data)
    levels["plan"]["levels"] = ["1"]
    assert faults(RECORD, levels) == ['plan/levels/0: "1" is not of type "integer"']
