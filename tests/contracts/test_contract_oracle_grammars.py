"""Every SQL and PL/SQL text that is sent to Oracle, held against three grammars of Oracle that others wrote.

Queries and table statements are parsed by all three: sqlfluff, sqlglot and sqlparser-rs (as the package sqloxide).
Blocks and ALTER SESSION rest on sqlfluff alone; ALTER SYSTEM, of which sqlglot takes any text, on none. What a grammar
lacks is listed with the page of Oracle's documentation that has it, and the list is held against the grammars, too: a
gap that was closed is to be struck out. None of them proves that a text runs.
"""

import logging
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
import sqloxide

from dbcpu.measure import workloads
from dbcpu.targets.oracle import statements

if TYPE_CHECKING:  # The grammars take a second to load: only where they are used, not wherever tests are collected.
    from sqlfluff.core import Linter

_SQL = "https://docs.oracle.com/en/database/oracle/oracle-database/19/sqlrf"
_PLSQL = "https://docs.oracle.com/en/database/oracle/oracle-database/19/lnpls"
ALTER_SYSTEM = f"{_SQL}/ALTER-SYSTEM.html"
CALLS_WITHOUT_PARENTHESES = f"{_PLSQL}/plsql-subprograms.html"
"""Parentheses of a call without parameters may be left out."""
SQLFLUFF_LACKS: Mapping[str, str] = {
    "cancel_statement": ALTER_SYSTEM,
    "cancel_statement_cluster": ALTER_SYSTEM,
    "clear_resource_plan": ALTER_SYSTEM,
    "end_session": ALTER_SYSTEM,
    "end_session_cluster": ALTER_SYSTEM,
    "set_cpu_count": ALTER_SYSTEM,
    "set_resource_plan": ALTER_SYSTEM,
    "run": CALLS_WITHOUT_PARENTHESES,
}


def is_block(text: str) -> bool:
    return text.lstrip().lower().startswith(("begin", "declare"))


def workload_texts() -> dict[str, str]:
    """Each statement of each workload, with its size filled in."""
    works = {name: workloads.load("oracle", name).work("short") for name in workloads.names("oracle")}
    return {f"{name}.{at}": sql for name, work in works.items() for at, sql in enumerate((*work.setup, work.sql))}


def catalogue_texts() -> dict[str, str]:
    """Each statement of the catalogue; templates with a number for each mark."""
    return {
        name: re.sub(r":\w+", "1", statements.text(name)) if "template" in statements.header(name) else text
        for name in statements.names()
        for text in (statements.text(name),)
    }


TEXTS = workload_texts() | catalogue_texts()
BLOCKS = {name for name, text in TEXTS.items() if is_block(text)}


@pytest.fixture(scope="module")
def linter() -> "Linter":
    from sqlfluff.core import FluffConfig, Linter

    return Linter(config=FluffConfig.from_kwargs(dialect="oracle"))


def unparsed(linter: "Linter", text: str) -> list[str]:
    """What sqlfluff cannot make sense of."""
    ending = "\n/\n" if is_block(text) else ";\n"
    return [each.desc() for each in linter.parse_string(text + ending).violations]


@pytest.mark.parametrize("name", sorted(set(TEXTS) - set(SQLFLUFF_LACKS)))
def test_sqlfluff_parses_it(name: str, linter: "Linter") -> None:
    assert unparsed(linter, TEXTS[name]) == []


@pytest.mark.parametrize("name", sorted(SQLFLUFF_LACKS))
def test_what_sqlfluff_lacks_is_still_lacking(name: str, linter: "Linter") -> None:
    assert unparsed(linter, TEXTS[name]), f"sqlfluff parses {name} now: strike it out of SQLFLUFF_LACKS"


@pytest.mark.parametrize("name", sorted(set(TEXTS) - BLOCKS))
def test_sqlglot_parses_it_as_one_statement(name: str, caplog: pytest.LogCaptureFixture) -> None:
    import sqlglot

    caplog.set_level(logging.ERROR, "sqlglot")
    (tree,) = sqlglot.parse(TEXTS[name], read="oracle")
    assert isinstance(tree, sqlglot.exp.Command) == TEXTS[name].lower().startswith("alter "), (
        "only ALTER is taken unparsed"
    )


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_sqlglot_has_no_plsql(name: str) -> None:
    """So each block rests on sqlfluff alone, and on no list of exceptions but the one above."""
    import sqlglot

    with pytest.raises(sqlglot.errors.ParseError):
        sqlglot.parse(TEXTS[name], read="oracle")


def parsed_by_sqlparser(text: str) -> int:
    """How many statements there are; raises ValueError where there is no statement."""
    return len(sqloxide.parse_sql(sql=text, dialect="oracle"))


PLAIN = {name for name in set(TEXTS) - BLOCKS if not TEXTS[name].lower().startswith("alter ")}


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_sqlparser_parses_it_as_one_statement(name: str) -> None:
    assert parsed_by_sqlparser(TEXTS[name]) == 1


@pytest.mark.parametrize("name", sorted(set(TEXTS) - PLAIN))
def test_sqlparser_has_neither_plsql_nor_alter_session(name: str) -> None:
    with pytest.raises(ValueError, match="Query parsing failed"):
        parsed_by_sqlparser(TEXTS[name])


@pytest.mark.parametrize("text", ["select count(* from dual", "select from where", "begin a := ; end;"])
def test_the_grammars_refuse_what_is_no_sql(text: str, linter: "Linter") -> None:
    import sqlglot

    assert unparsed(linter, text)
    with pytest.raises(sqlglot.errors.ParseError):
        sqlglot.parse(text, read="oracle")
    with pytest.raises(ValueError, match="Query parsing failed"):
        parsed_by_sqlparser(text)


@pytest.mark.parametrize("name", [name for name in workloads.names("oracle") if name != "cartesian_cte"])
def test_the_hints_of_a_workload_are_hints(name: str) -> None:
    """A comment behind SELECT is one only with the plus, and only there."""
    found = re.findall(r"select\s+/\*\+\s*(.*?)\*/", workloads.load("oracle", name).work("short").sql, re.DOTALL)
    if found:
        words = {word for hints in found for word in re.findall(r"[a-z_]+(?=\s|\(|$)", hints)}
        assert {"no_parallel", "no_result_cache", "no_monitor", "leading", "cardinality"} <= words
        assert "use_nl" in words or "no_use_nl" in words


@pytest.mark.parametrize("name", workloads.names("oracle"))
def test_the_way_to_try_a_workload_by_hand_sends_hints_with_numbers(name: str) -> None:
    """A bind within a hint makes it none: the plan would be another one than dbcpu measures."""
    text = (files("dbcpu") / "sql" / "oracle" / f"{name}.sql").read_text("utf-8")
    header, _, body = text.partition("\n--\n")
    if re.search(r"/\*\+[^*]*:n\b", body):
        assert "variable n" not in header
        (size,) = re.findall(rf"sed 's/:n/(\d+)/g' sql/oracle/{name}\.sql", header)
        assert int(size) in workloads.load("oracle", name).sizes.values()


def test_the_procedure_that_the_documentation_offers_is_plsql(linter: "Linter") -> None:
    """In place of ALTER SYSTEM for the measured user."""
    page = (files("dbcpu") / ".." / ".." / "docs" / "oracle.md").read_text("utf-8")
    (procedure,) = re.findall(r"```sql\n(create or replace procedure .*?\n/\n)```", page, re.DOTALL)
    assert [each.desc() for each in linter.parse_string(procedure).violations] == []
    assert "username = sys_context('userenv', 'session_user')" in procedure, "others' sessions are not ended"
