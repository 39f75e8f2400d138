"""A remedy has the options of the command, or of the script, that measured the run."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.answer_findings import LEVELS_SHOW
from dbcpu.analysis.conclusions.remedy_commands import _SCRIPTS, _TIMES, measuring_command, with_own_options
from dbcpu.analysis.explain import explain
from dbcpu.record.findings import ENTRIES
from dbcpu.record.header import ANONYMOUS, Driver, Header, Party
from dbcpu.record.rounds import RunRecord
from dbcpu.record.run_findings import QUIETER
from support.builders.record import record, solos

DBCPU_ALONE = {
    "noise-floor", "moves-unseen", "trace-incomplete", "driver-on-host", "no-migration-count", "smt-unknown",
    "data-guard-standby", "true-cache", "pluggable-read-only",
}  # fmt: skip
"""Findings that no imported run has: of ``--aa``, of the sampler, of its own cost, and of a look before a run."""
DATABASE_ALONE = {"work-not-done", "temp-spill", "physical-io"}
SCRIPTS = ("increment", "gzip-pipe", "psql", "sqlplus")


def imported(driver: str, run: RunRecord | None = None) -> RunRecord:
    run = run or record(solos())
    database = replace(run.header.database, driver=driver)
    return replace(run, header=replace(run.header, database=database, driver=Driver("db1", 0, None, "")))


@pytest.mark.parametrize(
    ("driver", "longer"),
    [
        ("increment", "longer executions: `increment -s long`; more: `-r 6`, or `-r 10` to compare"),
        ("sqlplus", "longer executions: `sqlplus-fanout -s long`; more: `-r 6`, or `-r 10` to compare"),
        ("", "longer executions; more: 6 rounds of each level, or 10 rounds of each level to compare"),
    ],
)
def test_a_remedy_has_the_options_of_what_measured(driver: str, longer: str) -> None:
    text = "longer executions: `--size long`; more: `--repeats 6`, or `--repeats 10` to compare"
    assert with_own_options(text, imported(driver).header) == longer
    own = record(solos()).header
    assert with_own_options(text, own) == text
    # dbcpu had the script measure: --from shell-kit.
    by_script = replace(imported(driver).header, driver=replace(own.driver, python=""))
    assert with_own_options(text, by_script) == text


@pytest.mark.parametrize(
    ("code", "driver"),
    [
        (code, driver)
        for code in sorted(ENTRIES.keys() - DBCPU_ALONE)
        for driver in (*SCRIPTS, "")
        if code not in DATABASE_ALONE or driver in ("psql", "sqlplus")
    ],
)
def test_no_remedy_of_an_imported_run_has_an_option_of_dbcpu_run(code: str, driver: str) -> None:
    remedy = with_own_options(ENTRIES[code].remedy, imported(driver).header)
    found = re.search(r"--(size|executions|seconds|for|repeats|sessions|workload|hz)\b|measure again: `dbcpu", remedy)
    assert not found, f"{remedy}: say in remedy_commands what stands for it where a script measured"


@pytest.mark.parametrize("text", [QUIETER, LEVELS_SHOW])
@pytest.mark.parametrize("driver", [*SCRIPTS, ""])
def test_no_other_sentence_of_one_has_either(text: str, driver: str) -> None:
    assert "--" not in with_own_options(text, imported(driver).header)


def test_a_remedy_that_was_reworded_is_noticed_here() -> None:
    """Every phrase that is replaced stands in some text."""
    texts = " ".join([QUIETER, LEVELS_SHOW, *(each.remedy for each in ENTRIES.values())])
    for origin in (*_SCRIPTS.values(), _TIMES):
        for phrase in origin.words:
            assert phrase in texts, phrase


@pytest.mark.parametrize(("driver", "words"), [("increment", "`increment -s long`"), ("", "longer executions.")])
def test_an_imported_count_is_not_given_the_options_of_a_run(driver: str, words: str) -> None:
    run = record([*solos(1), *solos(1, 2.7), *solos(1, 1.7), *solos(1, 2.9)])
    run = replace(run, rounds=tuple(replace(each, order=at, repeat=at) for at, each in enumerate(run.rounds)))
    found = explain(imported(driver, run))
    assert words in ". ".join([*(each.remedy for each in found.findings), ""])
    assert not [each for each in found.findings if "--size" in each.remedy or "--repeats" in each.remedy]
    assert "--size" not in found.verdict


def measured(target: str, **plan: Any) -> Header:
    header = record(solos()).header
    return replace(header, plan=replace(header.plan, **{"target": target, "levels": (1, 3), "for_s": None, **plan}))


@pytest.mark.parametrize(
    ("header", "typed"),
    [
        (measured("sqlite", variants=("baseline", "cpus:0", "policy:idle")),
         "dbcpu vary sqlite --variants baseline,cpus:0,policy:idle --sessions 1,3"),
        (measured("sqlite", variants=("ncpus:1", "ncpus:2"), repeats=6),
         "dbcpu vary sqlite --variants ncpus:1,ncpus:2"),
        (measured("postgresql://dba@db1/postgres", experiment="soak", for_s=600.0),
         "dbcpu soak postgresql://dba@db1/postgres --sessions 3 --for 600s"),
        (measured("db1", experiment="pool", pieces=40, blocking=20, block_s=0.5),
         "dbcpu pool db1 --work 40 --active 1,3 --blocking 20 --block-for 0.5s --repeats 6"),
        (measured("db1"), "dbcpu run db1"),
        (measured("embedded"), "dbcpu run"),
        (measured("postgresql://dba:s3cret@db1/postgres"), "dbcpu run TARGET"),
        (measured("postgresql://dba:***@db1/postgres"), "dbcpu run TARGET"),
        (measured("a; reboot"), "dbcpu run TARGET"),
    ],
    ids=lambda found: found if isinstance(found, str) else "",
)  # fmt: skip
def test_a_run_is_measured_again_with_its_target_and_options(header: Header, typed: str) -> None:
    header = replace(header, plan=replace(header.plan, workload=replace(header.plan.workload, size="short")))
    assert measuring_command(header) == typed
    nobody = replace(header, run_id=f"x{ANONYMOUS}")
    assert header.plan.target not in measuring_command(nobody) or header.plan.target == "embedded"


@pytest.mark.parametrize(
    ("parties", "typed"),
    [
        ([("db1", 2, ()), ("postgresql://dba@db2/postgres", 2, ())], "db1 postgresql://dba@db2/postgres --together"),
        ([("embedded-1", 4, (0, 1)), ("embedded-2", 4, (2, 3))],
         "embedded embedded --together --sessions 4 --cpus 0-1 --cpus 2-3"),
        ([("db-1", 2, ()), ("a; reboot", 6, ())], "db-1 B --together --sessions 2:6"),
    ],
)  # fmt: skip
def test_targets_together_are_measured_again_with_their_names(
    parties: list[tuple[str, int, tuple[int, ...]]], typed: str
) -> None:
    header = measured("together", experiment="together", repeats=4)
    made = [Party(name, header.database, header.plan.workload, many, cpus) for name, many, cpus in parties]
    header = replace(header, plan=replace(header.plan, parties=tuple(made)))
    assert measuring_command(header) == f"dbcpu run {typed} --size medium --repeats 4"
    nobody = measuring_command(replace(header, run_id=f"x{ANONYMOUS}"))
    assert nobody.startswith("dbcpu run A B --together")


def test_the_sizes_of_a_soak_are_named() -> None:
    header = measured("db1", experiment="soak", for_s=12.0)
    work = header.plan.workload
    plan = replace(header.plan, workload=replace(work, size="tiny"), sizes=(replace(work, size="medium"),))
    assert measuring_command(replace(header, plan=plan)) == "dbcpu soak db1 --sessions 3 --for 12s --sizes tiny,medium"
