"""The code in docs/python.md, docs/data.md and docs/notebooks does what they show.

``pytest tests/contracts/test_contract_documented_code.py --update-golden`` writes the output that they show anew.
"""

import contextlib
import io
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbcpu.cli import main
from dbcpu.formatting import aligned, bare
from dbcpu.reports.tables.write import TABLES
from dbcpu.store.database import open_store
from dbcpu.store.record_file import read
from dbcpu.workflows.kept_figures import keep_run
from support.data_page import with_columns
from support.page_code import run_page
from support.paths import EXAMPLES, ROOT

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
QUESTIONS = "## Five questions\n"
MADE = {
    "trace.md": {"lanes.pftrace", "three.pftrace", "lanes.trace.json"},
    "data.md": {f"{table.name}.{form}" for table in TABLES for form in ("parquet", "csv")},
}
HAS_PANDAS = find_spec("pandas") is not None and find_spec("pyarrow") is not None


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with the examples of the project, and a store of one of them."""
    (tmp_path / "reports").symlink_to(ROOT / "reports")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    with open_store() as store:
        keep_run(store, read(EXAMPLES / "emulated-smt" / "record.json.gz"))
    yield tmp_path


def python(names: dict[str, Any]) -> Callable[[str], str]:
    """Runs code among the same names, and returns what it prints."""

    def run(code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<document>", "exec"), names)  # noqa: S102 - documents of this project
        return printed.getvalue()

    return run


def test_the_python_page_shows_what_its_code_prints(update: bool) -> None:
    assert run_page(DOCS / "python.md", {"python": python({})}, update=update) == 8


def as_text(found: duckdb.DuckDBPyConnection) -> str:
    headings = [column[0] for column in found.description or ()]
    lines = [[bare(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in found.fetchall()]
    assert lines, "no row answers the question"
    return "\n".join(aligned(headings, lines)) + "\n"


def commands(lines: str) -> str:
    """Runs ``dbcpu`` as a shell would, and returns what it says on standard error."""
    said = io.StringIO()
    for line in lines.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "dbcpu"
        with contextlib.redirect_stderr(said):
            assert main(arguments) == 0, line
    return said.getvalue()


def test_the_data_page_shows_what_its_questions_find(update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBCPU_STORE", "runs-of-the-page.db")
    page = DOCS / "data.md"
    made = with_columns(page.read_text("utf-8"))
    if update:
        page.write_text(made, "utf-8", newline="\n")
    assert page.read_text("utf-8") == made, "the columns differ; look, then run pytest --update-golden"
    with duckdb.connect() as connection:
        runners = {"sh": commands, "sql": lambda query: as_text(connection.execute(query))}
        assert run_page(page, runners, update=update, start=QUESTIONS) == 6


if HAS_PANDAS:  # a large package for one page: dbcpu and its tests do without

    def test_pandas_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
        import ast

        import pandas  # type: ignore[import-untyped, unused-ignore]

        names: dict[str, Any] = {"pandas": pandas}
        found: list[list[tuple[Any, ...]]] = []

        def in_sql(query: str) -> str:
            with duckdb.connect() as connection:
                found.append(connection.execute(query).fetchall())
            return ""

        def in_pandas(code: str) -> str:
            *statements, last = ast.parse(code).body
            exec(compile(ast.Module(statements, []), "<document>", "exec"), names)  # noqa: S102
            assert isinstance(last, ast.Expr)
            frame = eval(compile(ast.Expression(last.value), "<document>", "eval"), names)  # noqa: S307
            rows = [tuple(row) for row in frame.itertuples(index=False)]
            assert len(rows) == len(found[-1])
            for row, expected in zip(rows, found[-1], strict=True):
                assert row == pytest.approx(expected, abs=0.0011), code
            return ""

        monkeypatch.setenv("DBCPU_STORE", "runs-of-the-page.db")
        copy = Path("data.md")
        copy.write_text((DOCS / "data.md").read_text("utf-8"), "utf-8")
        runners = {"sh": commands, "sql": in_sql, "python": in_pandas}
        assert run_page(copy, runners, update=True, start=QUESTIONS) == 11


@pytest.mark.parametrize("page", ["trace.md", "data.md"])
def test_the_commands_that_a_page_begins_with_can_be_typed(page: str, folder: Path) -> None:
    shutil.copy(EXAMPLES / "embedded-2-vcpus" / "record.json.gz", "old-box.json.gz")
    begins = (DOCS / page).read_text("utf-8").partition("```sh\n")[2].partition("```")[0]
    commands(begins)
    made = {path.name for path in folder.rglob("*") if path.suffix in (".pftrace", ".json", ".parquet", ".csv")}
    assert made == MADE[page]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_print(path: Path, update: bool) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    run = python({})
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        source = "".join(cell["source"])
        # What begins with an exclamation mark is for the shell, and its standard error is shown, too.
        printed = commands(source[1:]) if source.startswith("!") else run(source)
        shown = [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}]
        outputs = shown if printed else []
        if update:
            cell["outputs"], cell["execution_count"] = outputs, number
        assert cell["outputs"] == outputs, f"cell {number} shows other output; look, then run pytest --update-golden"
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")
    assert len(cells) > 3


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
