"""``dbcpu fleet report`` on campaigns of simulated hosts: planted slow hosts are found, and hardly any other."""

import csv
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.fleet.ranking import ranking
from dbcpu.analysis.fleet.report import FleetReport
from dbcpu.analysis.fleet.twins import twins
from dbcpu.cli import main
from dbcpu.config.rules import SizingRules
from dbcpu.reports.documents import fleet
from dbcpu.reports.documents.quoted import cores_words, evenness_words
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store.campaigns import PARTIAL, REFUSED, Item
from dbcpu.store.database import open_store
from dbcpu.workflows.list_verdicts import verdicts
from support.builders.campaigns import keep_campaign
from support.builders.fleets import host as fleet_host

HOSTS, SLOW = 80, (3, 40, 61, 79)
FEW = 12
GONE = Item("gone", state=REFUSED, why="the host key changed")
HALF = Item("half", state=PARTIAL, why="the connection was lost")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of four campaigns of few hosts, and of fewer."""
    file = str(tmp_path_factory.mktemp("fleet") / "runs.db")
    with open_store(file) as opened:
        for seed in range(1, 5):
            items = (GONE, HALF) if seed == 1 else ()
            keep_campaign(opened, f"small-{seed}", FEW, seed=seed, slow={5: 1.25}, items=items)
        keep_campaign(opened, "three", 3, seed=9)
        keep_campaign(opened, "sizes", 4, seed=11, slow={3: 1.5}, sizes={2: "short", 3: "short"})
        keep_campaign(opened, "quota", 7, seed=12, quotas={3: 1.0})
        keep_campaign(opened, "none", 0, items=(GONE,))
    return file


class Shown(Struct, frozen=True, dict=True):
    exit_code: int
    output: str


def _report(store: str, *given: str) -> Shown:
    """Standard output; of a refusal standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["fleet", "report", *given, "--store", store])
    return Shown(code, out.getvalue() if code == 0 else err.getvalue())


def _data(store: str, name: str, *given: str) -> Any:
    found = _report(store, name, "--format", "json", *given)
    assert found.exit_code == 0, found.output
    return json.loads(found.output)


@pytest.mark.slow
def test_planted_slow_hosts_are_found_and_hardly_any_other(tmp_path: Path) -> None:
    """80 hosts with noise and run effects of 2 %: 4 that are 20 % slower."""
    store = str(tmp_path / "runs.db")
    with open_store(store) as opened:
        keep_campaign(opened, "q4", HOSTS, slow=dict.fromkeys(SLOW, 1.2))
    found = {each["host"] for each in _data(store, "q4")["unlike"]}
    planted = {f"db-{at}" for at in SLOW}
    assert planted <= found
    assert len(found - planted) <= 1


def test_of_several_small_campaigns_few_names_are_false(store: str) -> None:
    names = [{each["host"] for each in _data(store, f"small-{seed}")["unlike"]} for seed in range(1, 5)]
    assert sum("db-5" in each for each in names) >= 3
    assert mean(len(each - {"db-5"}) for each in names) <= 0.5


def test_who_failed_and_why(store: str) -> None:
    found = _data(store, "small-1")["failures"]
    assert [(each["name"], each["state"], each["why"]) for each in found] == [
        ("gone", "refused", "the host key changed"), ("half", "partial", "the connection was lost")
    ]  # fmt: skip
    assert "2 targets failed: 1 refused and 1 partial." in _report(store, "small-1").output


def test_three_hosts_are_too_few_and_said_to_be(store: str) -> None:
    found = _report(store, "three").output
    assert "3 hosts: none has the 5 twins that a comparison takes" in found
    assert "Too few to compare" in found


def test_only_hosts_that_did_the_same_work_are_ranked_together(store: str) -> None:
    ranked = [each["host"] for each in _data(store, "sizes")["ranking"]]
    assert ranked[:2] == ["db-2", "db-3"], "the slowest host is not behind those of another size"
    text = " ".join(_report(store, "sizes").output.split())
    first, second = (f"Ranking by the speed of a session: cartesian {size} on simulated" for size in ("short", "tiny"))
    assert text.index(first) < text.index("db-3", text.index(first)) < text.index(second)
    assert "The hosts did 2 kinds of work; only those of the same SQL and size are ranked together." in text
    assert "kinds of work" not in _report(store, "three").output


def test_a_campaign_of_failures_alone_is_reported(store: str) -> None:
    found = _report(store, "none")
    assert found.exit_code == 0, found.output
    assert "the host key changed" in found.output


def test_one_run_a_host_decides_not_whether_hosts_differ_and_two_may(store: str) -> None:
    once = _data(store, "small-1")["groups"][0]["spreads"]["alone"]
    assert (once["answer"], once["between"]) == ("undecided", None)
    more = _data(store, "small-1", *(word for seed in (2, 3, 4) for word in ("--with", f"small-{seed}")))
    assert {len(each["runs"]) for each in more["hosts"]} == {4}
    spread = more["groups"][0]["spreads"]["alone"]
    assert spread["between_interval"]["low"] <= spread["between"] <= spread["between_interval"]["high"]


def test_every_target_is_a_row_of_the_csv(store: str, tmp_path: Path) -> None:
    rows = list(csv.DictReader(_report(store, "small-1", "--format", "csv").output.splitlines()))
    assert len(rows) == FEW + 2
    assert "db-5" in {row["target"] for row in rows if "alone" in row["unlike"]}
    assert rows[-1]["why"]


def test_the_pair_of_each_host_is_that_of_the_list_in_every_format(store: str) -> None:
    with open_store(store) as opened:
        runs = opened.list(None, None, None)
        known = verdicts(opened, runs)
    pairs = {f"db-{at}": known[f"three-9-{at}"].quote for at in range(3)}
    assert all(each.usable_cores and each.evenness for each in pairs.values())
    hosts = {each["name"]: each for each in _data(store, "three")["hosts"]}
    rows = csv.DictReader(_report(store, "three", "--format", "csv").output.splitlines())
    of_csv = {row["target"]: row for row in rows}
    metrics = _report(store, "three", "--format", "metrics").output.splitlines()
    texts = [" ".join(_report(store, "three", "--format", form).output.split()) for form in ("table", "html")]
    markdown = _report(store, "three", "--format", "markdown").output
    for name, pair in pairs.items():
        assert hosts[name]["usable_cores"] == pytest.approx(pair.usable_cores, abs=1e-5)
        assert (hosts[name]["even"], hosts[name]["evenness_level"]) == (pair.even, pair.evenness_level)
        assert float(of_csv[name]["evenness"]) == pytest.approx(pair.evenness, abs=1e-5)
        assert of_csv[name]["even"] == pair.even
        (ratio,) = (
            each for each in metrics if each.startswith(f'dbcpu_fleet_evenness_ratio{{campaign="three",host="{name}"')
        )
        assert float(ratio.split()[-1]) == pytest.approx(pair.evenness)
        assert any(each.startswith(f'dbcpu_fleet_usable_cores{{campaign="three",host="{name}"') for each in metrics)
        assert f"| {name} | {cores_words(pair)} | {evenness_words(pair)} |" in markdown
        for text in texts:
            assert cores_words(pair) in text
            assert evenness_words(pair) in text


def test_a_quota_stands_beside_the_vcpus_that_it_leaves(store: str) -> None:
    """The page showed a host with fewer vCPUs among its twins, and said that twins have the same."""
    found = _data(store, "quota")
    hosts = {each["name"]: each for each in found["hosts"]}
    assert [(hosts[name]["vcpus"], hosts[name]["host_vcpus"]) for name in ("db-2", "db-3")] == [(2, 2), (1, 2)]
    assert {each["kind"]["vcpus"] for each in found["compared"]} == {2}
    (region,) = (each for each in found["groups"] if each["value"] == "us")
    assert "db-3" in region["hosts"]
    assert region["spreads"]["alone"]["why"] != "several kinds of CPU"
    markdown = _report(store, "quota", "--format", "markdown").output
    (row,) = (line for line in markdown.splitlines() if line.startswith("| db-3 | m5.large |"))
    assert row.split(" | ")[2:4] == ["1", "1 of 2 vCPUs"]
    assert "a CPU quota is a setting" in " ".join(_report(store, "quota", "--format", "html").output.split())
    assert "CPU quota |" not in _report(store, "three", "--format", "markdown").output


def test_a_host_that_its_own_quota_held_is_not_called_busy() -> None:
    """``a quiet host is faster`` was said of it."""
    made = []
    for at, words in enumerate((("throttling",), ("throttling", "steal"))):
        host = fleet_host(f"db-{at}", [20.0])
        made.append(replace(host, runs=(replace(host.runs[0], disturbed=words),)))
    report = FleetReport("q", tuple(made), (), twins(made), ranking(made, SizingRules()), ())
    front = fleet.document(report).front
    assert front is not None
    (busy,) = (each for each in front.caveats if "lost CPU to others" in each)
    assert "(db-1)" in busy


def test_of_a_host_with_several_runs_the_pair_is_that_of_its_newest(store: str) -> None:
    found = _report(store, "small-1", "--with", "small-2")
    assert "Both are of the newest run of a host." in " ".join(found.output.split())
    assert "newest run" not in _report(store, "small-1").output


@pytest.mark.parametrize("form", ["table", "markdown", "json", "html"])
def test_what_limits_the_answer_is_said_in_every_format(store: str, form: str) -> None:
    found = " ".join(_report(store, "small-1", "--format", form).output.split())
    assert re.search(r"differences below about [0-9.]+ % are not reliably found", found)
    assert "12 hosts measured once: whether the host or the hour is odd is inconclusive" in found


def test_metrics_and_files(store: str, tmp_path: Path) -> None:
    metrics = _report(store, "small-1", "--format", "metrics").output
    assert 'dbcpu_fleet_failed{campaign="small-1",state="refused"} 1' in metrics
    assert 'dbcpu_fleet_unlike{campaign="small-1",host="db-5",speed="alone"} 1' in metrics
    assert _report(store, "small-1", "--out", str(tmp_path / "out")).exit_code == 0
    assert {"fleet.html", "fleet.svg", "fleet.md", "fleet.csv", "fleet.json"} <= {
        each.name for each in (tmp_path / "out").iterdir()
    }


def test_parquet_has_the_runs_of_the_campaign(store: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    found = _report(store, "three", "--parquet", str(tmp_path / "data"))
    assert found.exit_code == 0, found.output
    tables = list((tmp_path / "data").glob("run*.parquet"))
    assert duckdb.sql(f"select count(*) from '{tables[0]}'").fetchall() == [(3,)]


def test_the_inventory_is_sized_on_a_new_shape(store: str) -> None:
    run = _data(store, "three")["hosts"][0]["runs"][0]["run_id"]
    sizing = _data(store, "small-1", "--size-on", f"new={run}")["sizing"]
    assert len(sizing["rows"]) == 12
    (total,) = sizing["totals"]
    assert (total["shape"], total["hosts"]) == ("new", 12)
    assert total["vcpus"] == sum(each["needs"][0]["vcpus"] for each in sizing["rows"])
    assert (total["licences"], total["per_year"]) == (None, None)  # no rule was given
    assert all(each["assumed"] for each in sizing["rows"])


def test_a_shape_says_what_its_levels_know(store: str) -> None:
    shape = SimulatedHost(cores=8, threads=2, smt_yield=0.3)
    stolen = replace(shape, steal=0.3)
    runs = {
        "ends": simulate(shape, (1, 16), repeats=3, seed=2),
        "stolen": simulate(stolen, (1, 4, 8, 9, 12, 16), repeats=6, seed=6),
        "hidden": simulate(replace(shape, hidden_smt=True), (1, *range(2, 17)), repeats=6, seed=6),
    }
    ids = {}
    with open_store(store) as opened:
        for name, run in runs.items():
            ids[name] = f"shape-{name}"
            opened.save(replace(run, header=replace(run.header, run_id=ids[name])))
    refused = _report(store, "three", "--size-on", f"ends={ids['ends']}")
    assert (refused.exit_code, "ends was not measured between N=1 and its cores" in refused.output) == (2, True)
    both = [f"--size-on={each}={ids[each]}" for each in ("ends", "hidden")]
    assert [each["shape"] for each in _data(store, "three", *both)["sizing"]["totals"]] == ["hidden"]
    assert "Not sized: ends was not measured between" in " ".join(_report(store, "three", *both).output.split())
    (total,) = _data(store, "three", "--size-on", f"stolen={ids['stolen']}")["sizing"]["totals"]
    assert total["at_least"]
    shown = " ".join(_report(store, "three", "--size-on", f"stolen={ids['stolen']}").output.split())
    assert f"at least {total['min_vcpus']}" in shown
    assert "stolen: shares are equal only up to 1 session on its 16 vCPUs" in shown
    (total,) = _data(store, "three", "--size-on", f"hidden={ids['hidden']}")["sizing"]["totals"]
    shown = " ".join(_report(store, "three", "--size-on", f"hidden={ids['hidden']}").output.split())
    assert 1.2 * total["min_vcpus"] < total["vcpus"] <= 1.5 * total["min_vcpus"]  # each of few hosts in whole cores
    assert f"{total['min_vcpus']} to {total['vcpus']}" in shown
    assert "hidden scales like 8 cores behind its 16 vCPUs" in shown


def test_a_shape_in_a_file_is_refused_with_what_to_do(store: str, tmp_path: Path) -> None:
    file = tmp_path / "new.json.gz"
    file.write_bytes(b"")
    refused = _report(store, "three", "--size-on", f"new={file}")
    assert refused.exit_code == 2
    assert f"`dbcpu import {file}` stores it" in refused.output


@pytest.mark.parametrize("name,said", (("nothing", "nothing"), ("small", "small-1")))
def test_an_unknown_campaign_is_one_sentence(store: str, name: str, said: str) -> None:
    found = _report(store, name)
    assert found.exit_code == 2
    assert said in found.output
    assert "Traceback" not in found.output
