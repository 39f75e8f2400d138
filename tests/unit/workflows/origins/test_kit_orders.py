"""Which script of the shell kit measures a target, and what it is given: words that sh reads as they were meant."""

import shlex
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbcpu.errors import UsageError
from dbcpu.hosts.shell_routes import transport_of
from dbcpu.workflows.measure_run import Choices
from dbcpu.workflows.origins.far_target import FarTarget, kit_files
from dbcpu.workflows.origins.kit_orders import kit_orders, look_orders

POSTGRESQL = "postgresql+psycopg://bench@db1:5433/postgres?sslmode=require"
ORACLE = "oracle+oracledb://bench@db1:1522/?service_name=orclpdb1"


def target(url: str, table: Mapping[str, str] | None = None) -> FarTarget:
    kind = url.partition(":")[0].partition("+")[0]
    return FarTarget("db", kind, url, "shell-kit", "exec:sh -s", transport_of("exec:sh -s"), table or {})


@pytest.mark.parametrize(
    ("url", "table", "choices", "last"),
    [
        (POSTGRESQL, {}, Choices(repeats=2),
         "start shell/psql-fanout -r 2 -s short -o result -n 1,2 -w cartesian -e 1 "
         "'postgresql://bench@db1:5433/postgres?sslmode=require'"),
        ("postgresql", {}, Choices(executions=4),
         "start shell/psql-fanout -r 3 -s short -o result -n 1,2 -w cartesian -e 4 "),
        (ORACLE, {"password_file": "~/pw"}, Choices(workload="mixed"),
         "start shell/sqlplus-fanout -r 3 -s short -o result -n 1,2 -w mixed -e 1 "
         '-p "$path" bench@//db1:1522/orclpdb1'),
        ("oracle", {}, Choices(), "start shell/sqlplus-fanout -r 3 -s short -o result -n 1,2 -w cartesian -e 1 /"),
        ("shell", {}, Choices(for_s=9.2, size="tiny"), "start shell/increment -r 3 -s tiny -o result 1,2 10 "),
    ],
)  # fmt: skip
def test_the_script_and_its_words(url: str, table: Mapping[str, str], choices: Choices, last: str) -> None:
    orders = kit_orders(target(url, table), choices, (1, 2))
    assert orders.lines[-1] == last
    assert f"shell/{orders.script}" in kit_files(*orders.files)
    assert any(name.startswith("sql/") for name in orders.files)


@pytest.mark.parametrize(
    ("url", "table", "choices", "said"),
    [
        ("sqlite", {}, Choices(), "measures oracle, postgresql, shell"),
        (POSTGRESQL, {}, Choices(aa=True, for_s=1.0), "no --aa and no --for for postgresql"),
        ("shell", {}, Choices(workload="gzip_pipe"), "no --workload gzip_pipe"),
        (ORACLE, {"password_env": "PW"}, Choices(), "use password_file, or a wallet"),
        (POSTGRESQL, {"password_env": "A; rm -rf /"}, Choices(), "is no name of a variable"),
    ],
)
def test_what_it_cannot_is_refused(url: str, table: Mapping[str, str], choices: Choices, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        kit_orders(target(url, table), choices, (1,))


def test_options_that_say_how_a_run_is_watched_are_noted() -> None:
    assert kit_orders(target("shell"), Choices(), (1,)).notes == ()
    (note,) = kit_orders(target("shell"), Choices(hz=5.0, seed=3), (1,)).notes
    assert note.endswith("do not have --hz, --seed")


@given(st.text(st.characters(blacklist_categories=["C"]), min_size=1, max_size=20))
def test_no_text_of_a_target_is_a_command(text: str) -> None:
    url = f"postgresql://bench@db1/{text}"
    for orders in (kit_orders(target(url, {"password_file": text}), Choices(), (1,)), look_orders(target(url))):
        assert shlex.split(orders.lines[-1])[-1] == url
    oracle = kit_orders(target(ORACLE, {"password_file": text}), Choices(), (1,))
    assert shlex.split(oracle.lines[1]) == ["at_home", text]
