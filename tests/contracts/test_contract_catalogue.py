"""Every file of sql/oracle/catalogue is one statement with its header, and the only place such text stands."""

import re
from decimal import Decimal, localcontext
from importlib.resources import files

import pytest

from dbcpu.measure import workloads
from dbcpu.targets.oracle import privileges, statements

every_statement = pytest.mark.parametrize("name", statements.names())


@every_statement
def test_a_statement_says_what_it_needs_and_where_it_is_documented(name: str) -> None:
    header = statements.header(name)
    for key in ("what", "needs", "source"):
        assert header.get(key), f"{name}.sql: no '-- {key}:'"


@every_statement
def test_a_statement_is_one_and_without_its_terminator(name: str) -> None:
    text = statements.text(name)
    if text.lower().startswith(("begin", "declare")):
        assert text.endswith("end;")
    else:
        assert ";" not in text


@every_statement
def test_each_bind_is_explained(name: str) -> None:
    text, header = statements.text(name), statements.header(name)
    outside_quotes = text if header.get("template") else re.sub(r"'[^']*'", "", text)
    marks = set(re.findall(r"(?<![:\w]):([a-z]\w*)", outside_quotes))
    whole = (files("dbcpu") / "sql" / "oracle" / "catalogue" / f"{name}.sql").read_text("utf-8")
    comments = " ".join(line for line in whole.splitlines() if line.startswith("--"))
    for mark in marks:
        assert re.search(rf"\b{mark}\b", comments), f"{name}.sql: :{mark} is not explained"


@every_statement
def test_every_view_that_is_read_is_named_among_the_needs(name: str) -> None:
    views = {view.upper() for view in re.findall(r"\bg?v_\$\w+", statements.text(name).lower())}
    assert views == set(re.findall(r"G?V_\$\w+", statements.header(name)["needs"]))


OF_SYS = re.compile(
    r"(?<!sys\.)\b(g?v_?\$\w+|dbms_\w+|utl_\w+|dual|(?:all|dba|user|cdb)_\w+|nls_\w+_parameters|session_privs|product_component_version)\b"
)
PUBLISHED = "cartesian_cte.sql"
"""Its text is that of an article, word for word."""


def texts_for_oracle() -> dict[str, str]:
    """Every statement for Oracle without comments and quoted text, by file."""
    folder = files("dbcpu") / "sql" / "oracle"
    paths = [*folder.iterdir(), *(folder / "catalogue").iterdir(), files("dbcpu") / "shell" / "sqlplus-fanout"]
    texts = {path.name: path.read_text("utf-8").replace("\\$", "$") for path in paths if path.is_file()}
    return {
        name: re.sub(r"(?m)^\s*(--|#).*$|'[^'\n]*'", "", text).lower()
        for name, text in texts.items()
        if name != PUBLISHED
    }


def test_every_object_of_sys_is_qualified() -> None:
    """A synonym or object of that name in the schema of the session would win over the public synonym.

    Source: Oracle Database SQL Language Reference, "How Oracle Database Resolves Schema Object References".
    """
    texts = texts_for_oracle()
    assert {"cartesian.sql", "run.sql", "sqlplus-fanout"} <= texts.keys()
    assert {name: found for name, text in texts.items() if (found := OF_SYS.findall(text))} == {}
    assert all("sys.v$" not in text for text in texts.values()), "v$ names are public synonyms, SYS has v_$"


def test_no_other_file_of_the_package_holds_sql_for_oracle() -> None:
    for file in (files("dbcpu") / "targets" / "oracle").iterdir():
        if file.name.endswith(".py"):
            found = re.findall(r"\bselect\b.*\bfrom\b|\bfrom v\$", file.read_text("utf-8"))
            assert not found, f"{file.name}: {found}"


def test_all_grants_are_documented() -> None:
    document = (files("dbcpu") / ".." / ".." / "docs" / "oracle.md").read_text("utf-8")
    for each in privileges.every():
        assert f"sys.{each.lower()}" in document, each


def test_the_page_of_privileges_counts_the_views() -> None:
    numbers = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen")
    document = (files("dbcpu") / ".." / ".." / "docs" / "privileges.md").read_text("utf-8")
    of_one = sum(not each.startswith("GV_") for each in privileges.every())
    assert len(privileges.every()) - of_one == 2
    assert f"`SELECT` on {numbers[of_one - 10]} `V$` and two `GV$` views" in document


def test_a_template_takes_numbers_only() -> None:
    assert statements.filled("end_session", sid=12, serial=345) == "alter system kill session '12,345' immediate"
    with pytest.raises(ValueError, match="invalid literal"):
        statements.filled("end_session", sid="1' --", serial=2)  # type: ignore[arg-type]


def test_a_block_keeps_its_semicolons_and_is_one_statement() -> None:
    workload = workloads.load("oracle", "arithmetic")
    assert len(workload.statements) == 1
    assert workload.statements[0].endswith("end;")
    work = workloads.parse(
        "oracle", "x", HEADER + "select 1 from dual;\nbegin\n  a;\n  b;\nend;\n/\nselect :n from dual;\n"
    )
    assert work.statements == ("select 1 from dual", "begin\n  a;\n  b;\nend;", "select :n from dual")


HEADER = "-- what: x\n-- answer: n\n-- rows: n\n-- sizes: tiny=1\n-- memory: 1\n"


def test_the_checksums_of_arithmetic_are_those_of_decimal_arithmetic() -> None:
    """n := mod(n, 999999) + sqrt(f): the sum of all roots but the last, modulo 999999, and the last."""
    workload = workloads.load("oracle", "arithmetic")
    for size, n in workload.sizes.items():
        assert workload.work(size).answer == str(checksum(n)), size
    assert checksum(300) == step_by_step(300)


def step_by_step(iterations: int) -> Decimal:
    with localcontext() as context:
        context.prec = 40
        n = Decimal(0)
        for f in range(1, iterations + 1):
            n = n % 999999 + Decimal(f).sqrt()
        return round(n, 2)


def checksum(iterations: int) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return round(sum_of_roots(iterations - 1) % 999999 + Decimal(iterations).sqrt(), 2)


def sum_of_roots(n: int) -> Decimal:
    """By Euler and Maclaurin from the hundredth root on; the first term left out is below 1e-20."""
    first = 100
    low, high = Decimal(first), Decimal(n)
    total = sum((Decimal(f).sqrt() for f in range(1, first)), Decimal(0))
    total += Decimal(2) / 3 * (high**3).sqrt() - Decimal(2) / 3 * (low**3).sqrt()
    total += (high.sqrt() + low.sqrt()) / 2

    def derivative(x: Decimal, order: int) -> Decimal:
        factor = Decimal(1)
        for k in range(order):
            factor *= Decimal(1) / 2 - k
        return factor * x.sqrt() / x**order

    for numerator, denominator, order in ((1, 12, 1), (-1, 720, 3), (1, 30240, 5), (-1, 1209600, 7), (1, 47900160, 9)):
        total += Decimal(numerator) / denominator * (derivative(high, order) - derivative(low, order))
    return total
