"""Grafana's dashboards: each query on a store set up as contrib/grafana says; each metric is one that is written."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

import psycopg
import pytest
import yaml
from msgspec.structs import replace
from sqlalchemy import make_url

from dbcpu.analysis.explain import explain
from dbcpu.api import simulate
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.formats.metrics import exposition
from dbcpu.store.database import open_store, upgrade_store
from dbcpu.workflows.kept_figures import keep_run
from support.paths import ROOT
from support.servers.postgresql import connect

FOLDER = ROOT / "contrib" / "grafana"
STORE, METRICS = (
    json.loads((FOLDER / "dashboards" / name).read_text("utf-8")) for name in ("store.json", "metrics.json")
)
QUERIES = [(panel["title"], target) for panel in STORE["panels"] for target in panel["targets"]]
ROLES = ("dbcpu_grafana", "dbcpu_reader", "dbcpu_writer", "dbcpu_owner")
OWNER, READER = "the-owner's", "reader's-'own'"
NIGHTS, TARGETS = 3, ("new-box", "old-box")


def nights() -> Iterator[RunRecord]:
    levels, stolen = (1, 2, 8, 16), {"steal": 0.1}
    for target, night in product(TARGETS, range(1, NIGHTS + 1)):
        made = simulate("c4.4xlarge", levels=levels, repeats=3, executions=4, seed=night, changes=stolen)
        at, plan = f"2026-11-{night:02}T04:30:00+00:00", replace(made.header.plan, target=target)
        yield replace(made, header=replace(made.header, run_id=f"{target}-{night}", started_at=at, plan=plan))


@pytest.fixture(scope="module")
def reader_url(postgres_url: str) -> Iterator[str]:
    """Of Grafana's user: roles by the script of compose.yaml, tables by their owner, runs by its superuser."""
    if shutil.which("psql") is None:
        pytest.skip("this machine has no psql")
    url, database = make_url(postgres_url), "dashboards"
    with connect(postgres_url) as connection:
        connection.execute(f"create database {database}")
    try:
        given = {
            "POSTGRES_USER": str(url.username),
            "POSTGRES_DB": database,
            "PGHOST": str(url.host),
            "PGPORT": str(url.port),
            "PGPASSWORD": str(url.password),
            "DBCPU_OWNER_PASSWORD": OWNER,
            "DBCPU_READER_PASSWORD": READER,
        }
        script = str(FOLDER / "roles.sh")
        done = subprocess.run([script], env=os.environ | given, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        ours = url.set(database=database)
        owner = ours.set(username="dbcpu_owner", password=OWNER).render_as_string(hide_password=False)
        upgrade_store(owner)
        with open_store(owner) as store:
            for each in nights():
                keep_run(store, each)
        yield ours.set(drivername="postgresql", username="dbcpu_grafana", password=READER).render_as_string(
            hide_password=False
        )
    finally:
        with connect(postgres_url) as connection:
            connection.execute(f"drop database {database} with (force)")
            for role in ROLES:
                connection.execute(f"drop role if exists {role}")


def filled(query: str, **variables: str) -> str:
    """As Grafana fills in macros and variables; none is left."""
    query = re.sub(r"\$__timeFilter\((.*?)\)", r"\1 between '2026-11-01T00:00:00Z' and '2026-11-30T00:00:00Z'", query)
    for name, value in variables.items():
        query = query.replace(f"${{{name}:sqlstring}}", value).replace(f"${{{name}}}", value)
    assert "$" not in query
    return query


def rows(url: str, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(query.encode())
        return [column.name for column in cursor.description or ()], cursor.fetchall()


def variables_of(url: str) -> dict[str, str]:
    """All that each variable offers, in the order of the dashboard, as a query may ask for one before it."""
    found: dict[str, str] = {}
    for variable in STORE["templating"]["list"]:
        if variable["type"] == "query":
            offered = [row[0] for row in rows(url, filled(variable["query"], **found))[1]]
            assert offered, variable["name"]
            quoted = [f"'{each}'" if isinstance(each, str) else str(each) for each in offered]
            found[variable["name"]] = ",".join(quoted) if variable["multi"] else quoted[0]
    return found


@pytest.mark.postgres
@pytest.mark.parametrize(("title", "target"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_panel_of_the_store_shows_its_runs(title: str, target: dict[str, Any], reader_url: str) -> None:
    variables = variables_of(reader_url)
    assert variables["target"] == "'new-box','old-box'"
    columns, found = rows(reader_url, filled(target["rawSql"], **variables))
    if target["format"] == "time_series":
        assert columns == ["time", "metric", "value"]
        assert [row[0] for row in found] == sorted(row[0] for row in found)
        assert len(found) == NIGHTS * len(TARGETS)
        assert all(isinstance(row[2], float) for row in found)
    else:
        assert {row[columns.index("target")] for row in found} == set(TARGETS) if "target" in columns else found
    only = rows(reader_url, filled(target["rawSql"], **variables | {"target": "'old-box'"}))[1]
    assert 0 < len(only) < len(found)


@pytest.mark.postgres
def test_the_newest_run_of_a_target_is_shown_with_its_answer(reader_url: str) -> None:
    (query,) = [target["rawSql"] for title, target in QUERIES if title == "The newest run of each target"]
    columns, found = rows(reader_url, filled(query, **variables_of(reader_url)))
    assert [row[columns.index("run")] for row in found] == [f"{target}-{NIGHTS}" for target in TARGETS]
    assert {row[columns.index("verdict")] for row in found} <= {"equal", "partly", "unequal", "slower", "inconclusive"}


@pytest.mark.postgres
def test_figures_of_a_newer_analysis_of_one_run_hide_no_other_run(reader_url: str, postgres_url: str) -> None:
    """A host that was upgraded first writes to the same store."""
    (query,) = [target["rawSql"] for title, target in QUERIES if title == "The newest run of each target"]
    asked = filled(query, **variables_of(reader_url))
    admin = make_url(postgres_url).set(drivername="postgresql", database=make_url(reader_url).database)
    with psycopg.connect(admin.render_as_string(hide_password=False)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "insert into figure select run_id, analysis + 1, metric, level, variant, value, low, high, text "
            "from figure where run_id = %s", [f"old-box-{NIGHTS}"]
        )  # fmt: skip
        assert cursor.rowcount > 0
        cursor.execute(asked.encode())
        assert {row[0] for row in cursor.fetchall()} == set(TARGETS)
        connection.rollback()


@pytest.mark.postgres
@pytest.mark.parametrize("title", ["The newest run of each target", "Equal shares by level, newest run of each target"])
def test_the_newest_run_is_found_without_a_look_at_all_runs_for_each(
    title: str, reader_url: str, postgres_url: str
) -> None:
    """With ten thousand runs that took two minutes."""
    (query,) = [target["rawSql"] for known, target in QUERIES if known == title]
    asked = filled(query, **variables_of(reader_url))
    admin = make_url(postgres_url).set(drivername="postgresql", database=make_url(reader_url).database)
    with psycopg.connect(admin.render_as_string(hide_password=False)) as connection, connection.cursor() as cursor:
        cursor.execute("select * from run limit 0")
        names = [column.name for column in cursor.description or ()]
        copied = ", ".join("run_id || '-' || copy" if name == "run_id" else name for name in names)
        many = "from run cross join generate_series(1, 100) copy"
        cursor.execute(f"insert into run ({', '.join(names)}) select {copied} {many}".encode())
        copies = "from figure cross join generate_series(1, 100) copy where metric in ('verdict', 'even')"
        cursor.execute(
            "insert into figure select run_id || '-' || copy, analysis, metric, level, variant, value, low, high, text "
            f"{copies}".encode()
        )
        cursor.execute("analyze run, figure")
        cursor.execute("select count(*) from run")
        ((runs,),) = cursor.fetchall()
        cursor.execute(f"explain (analyze, timing off, format json) {asked}".encode())
        ((plan,),) = cursor.fetchall()
        assert _looked_at(plan[0]["Plan"], "run") <= 2 * runs
        connection.rollback()


def _looked_at(node: dict[str, Any], table: str) -> float:
    """Rows of the table that a plan has read, those that it left out included."""
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) if node.get("Relation Name") == table else 0
    return float(node["Actual Loops"] * rows) + sum(_looked_at(each, table) for each in node.get("Plans", ()))


@pytest.mark.postgres
def test_variants_of_a_run_are_series_of_their_own(reader_url: str, postgres_url: str) -> None:
    (query,) = [target["rawSql"] for title, target in QUERIES if title.startswith("Slowest session at")]
    asked = filled(query, **variables_of(reader_url))
    admin = make_url(postgres_url).set(drivername="postgresql", database=make_url(reader_url).database)
    with psycopg.connect(admin.render_as_string(hide_password=False)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "insert into figure select run_id, analysis, metric, level, 'smt_off', value, low, high, text "
            "from figure where run_id = 'old-box-1' and metric = 'slowdown_max_x'"
        )
        cursor.execute(asked.encode())
        found = {row[1] for row in cursor.fetchall() if row[1].startswith("old-box")}
        (plain,) = [each for each in found if not each.endswith(" (smt_off)")]
        assert found == {plain, f"{plain} (smt_off)"}
        connection.rollback()


@pytest.mark.postgres
def test_the_user_of_grafana_may_change_nothing(reader_url: str) -> None:
    with psycopg.connect(reader_url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("delete from run")
        connection.execute("set default_transaction_read_only = off")
        for statement in (
            "delete from run",
            "update figure set value = 0",
            "create table mine (id int)",
            "drop table run",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


@pytest.mark.postgres
def test_the_query_for_otava_gives_a_number_for_each_metric(reader_url: str) -> None:
    made = yaml.safe_load((ROOT / "contrib" / "otava" / "otava.yaml").read_text("utf-8"))
    template = made["templates"]["figures"]
    ((target, test),) = made["tests"].items()
    (host,) = rows(reader_url, "select distinct hostname from run")[1][0]
    columns, found = rows(reader_url, test["query"].replace("%{BRANCH}", f"'{host}'"))
    assert set(columns) == {template["time_column"], *template["attributes"], *template["metrics"]}
    assert [row[columns.index("run")] for row in found] == [f"{target}-{night}" for night in range(1, NIGHTS + 1)]
    assert all(isinstance(row[columns.index(name)], float) for row in found for name in template["metrics"])


def test_every_metric_of_the_other_dashboard_is_written_with_its_labels() -> None:
    record = next(nights())
    nightly = (ROOT / "shell" / "nightly").read_text("utf-8")
    text = exposition(record, explain(record)) + "\n".join(
        re.findall(r"^dbcpu_nightly\w+\{.*$", nightly, re.MULTILINE)
    ).replace("$labels", 'target="",host=""')
    written: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(dbcpu_\w+)\{(.*?)\} ", text, re.MULTILINE):
        written.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    asked = [target["expr"] + target["legendFormat"] for panel in METRICS["panels"] for target in panel["targets"]]
    asked += [variable["definition"] for variable in METRICS["templating"]["list"] if variable["type"] == "query"]
    for each in asked:
        (name,) = set(re.findall(r"dbcpu_\w+", each))
        used = set(chain(re.findall(r"(\w+)(?:=~|!=)", each), re.findall(r"\{\{(\w+)\}\}", each)))
        used |= set(re.findall(r"label_values\(\w+, (\w+)\)", each))
        assert name in written, each
        assert used <= written[name], each


@pytest.mark.parametrize("dashboard", [STORE, METRICS], ids=["store", "metrics"])
def test_panels_are_numbered_apart_and_none_lies_on_another(dashboard: dict[str, Any]) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_compose_takes_passwords_from_its_environment_and_listens_here_alone() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        for name, value in service["environment"].items():
            assert not name.endswith("PASSWORD") or re.fullmatch(r"\$\{\w+_PASSWORD:\?set it in \.env\}", value)
    mounted = [
        volume.split(":")[0] for service in services.values() for volume in service["volumes"] if volume[0] == "."
    ]
    assert mounted and all((FOLDER / path).exists() for path in mounted)
    store, _ = yaml.safe_load((FOLDER / "provisioning/datasources/dbcpu.yaml").read_text("utf-8"))["datasources"]
    assert (store["user"], store["secureJsonData"]["password"]) == ("dbcpu_grafana", "$DBCPU_READER_PASSWORD")
    asked = set(re.findall(r"\$\{(\w+):\?", (FOLDER / "compose.yaml").read_text("utf-8")))
    assert asked == set(re.findall(r"^(\w+)=$", (FOLDER / "env.example").read_text("utf-8"), re.MULTILINE))


def test_compose_gives_each_dashboard_a_data_source_of_its_kind() -> None:
    grafana = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]["grafana"]
    (provider,) = yaml.safe_load((FOLDER / "provisioning/dashboards/dbcpu.yaml").read_text("utf-8"))["providers"]
    assert f"./dashboards:{provider['options']['path']}:ro" in grafana["volumes"]
    sources = yaml.safe_load((FOLDER / "provisioning/datasources/dbcpu.yaml").read_text("utf-8"))["datasources"]
    asked = {
        variable["query"]
        for dashboard in (STORE, METRICS)
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "datasource"
    }
    assert {source["type"] for source in sources} == asked
    named = re.findall(r"\$(\w+)", "".join(map(str, sources)))
    assert set(named) <= set(grafana["environment"])
