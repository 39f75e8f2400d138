"""Every command that a document shows is understood, and is run: here with stand-ins, by a test that is named, or not
here, with the reason. A new command of a document needs no edit where it looks at stored runs."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from dbcpu.cli import group, main
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store import record_file
from dbcpu.store.database import open_store
from dbcpu.workflows.kept_figures import keep_run
from support.builders.comparison import aa_run, noisy_run, with_variants
from support.documented_commands import DocumentedCommand, documented_commands
from support.paths import ROOT

COMMANDS = documented_commands()

RUN_BY = {
    r"simulate .*--(soak|pool|together|workload) .*": "tests/unit/simulator/test_experiments.py",
    r"simulate .*--(variants baseline,node|steal|yield|quota|turbo|threads 2).*": "tests/unit/cli/test_simulate.py",
    r"simulate .*--sessions.*|simulate 2x20x2.*": "tests/contracts/test_contract_documented_code.py",
    r"export .*(--(parquet|csv) \w+|pftrace.*|trace\.json)": "tests/contracts/test_contract_documented_code.py",
    r"compare .*--out \w+": "tests/unit/reports/documents/test_comparison.py",
    r"run .*--together.*": "tests/server/test_experiments.py",
    r"run .*--dry-run.*": "tests/unit/workflows/test_foresee.py",
    r"run .*--sampler trace": "tests/server/test_run.py",
    r"run --aa": "tests/unit/workflows/test_measure_run.py",
    r"run( embedded)?|run( embedded)? --(sessions|for|label|repeats|size) .*": "tests/server/test_run.py",
    r"run shell.*": "tests/unit/targets/test_shell.py",
    r"run 'oracle.*|doctor 'oracle.*": "tests/server/test_oracle_cli.py",
    r"run postgresql://dba@db1/postgres": "tests/server/test_turns.py",
    r"(run|doctor|topology) .*--host ssh:.*": "tests/server/test_ssh_host.py",
    r"(run|doctor|topology) .*--host '?(k8s|docker|exec):.*": "tests/server/test_container_host.py",
    r"doctor .*--host sql": "tests/server/test_sql_host.py",
    r"doctor": "tests/server/test_run.py",
    r"soak .*|pool .*": "tests/server/test_experiments.py",
    r"vary .*": "tests/server/test_vary.py",
    r"more .*": "tests/unit/workflows/test_more_rounds.py",
    r"restore": "tests/server/test_vary.py",
    r"fleet report .*": "tests/unit/workflows/fleet/test_report.py",
    r"fleet (check|run) .*": "tests/server/test_fleet.py",
    r"store figures --scheduler .*": "tests/unit/workflows/test_store_figures.py",
    r"store upgrade .*|list --history --store postgresql.*": "tests/server/test_store_shared.py",
    r"shell/nightly .*": "tests/unit/shell/test_nightly.py",
    r"shell/(increment|gzip-pipe|sample-psr) .*": "tests/shell/test_sessions.py",
    r"shell/cpu-set .*": "tests/shell/test_cpu_set.py",
    r"shell/smt .*": "tests/shell/test_smt.py",
    r"shell/psql-fanout .*": "tests/server/test_psql_fanout.py",
    r"shell/sqlplus-fanout .*": "tests/server/test_sqlplus_fanout.py",
    r"import (run --samples samples|old-box\.txt)": "tests/unit/store/shell_kit/test_line_file.py",
}
"""Pattern of a command (without ``dbcpu``) -> the test that runs its like; the first that fits counts."""
PAGES_RUN_BY = {"docs/stories.md": "tests/contracts/test_contract_stories.py"}
"""Page -> the test that runs all of it."""
NOT_HERE = {
    r"fleet status .*--watch": "it goes on until the campaign has ended; tests/server/test_fleet.py runs it without",
    r"shell/test.*": "it is what runs this test",
    r"shell/(lab|bench).*": "minutes of the whole machine; their short forms are in tests/lab and tests/unit/bench",
}
"""Pattern of a command -> why no test runs it."""
STAND_INS = {
    "compare reports/examples/published/virtual-partitions.csv 1A=RUN1 4A=RUN2:embedded-1+together": (
        "compare reports/examples/published/virtual-partitions.csv 1A=RUN1 4A=RUN2"
    ),
    "compare RUN": "compare VARIED",
    "compare RUN:baseline RUN:spread": "compare VARIED:baseline VARIED:spread",
    "compare label:before after=RUN5,RUN6,RUN7,RUN8": "compare label:before after=RUN2,RUN3,RUN4,RUN5",
    "compare last yesterday --aa RUN": "compare RUN1 RUN2 --aa SAME",
    "compare label:old label:new --levels-per core": "compare RUN1 RUN2 --levels-per core",
    "compare OLD NEW NEW_SMT_OFF --size-for 12": "compare RUN1 RUN2 RUN3 --size-for 12",
}
"""Documented commands with runs of a certain kind, or with names that stand for any run."""


def bare(command: DocumentedCommand) -> str:
    """The command without ``dbcpu``."""
    return command.text.removeprefix("shell/").removeprefix("dbcpu ") if command.is_dbcpu else command.text


def listed(command: DocumentedCommand) -> str:
    """Where it is run, or why it is not; '' for those that are run here."""
    if command.page in PAGES_RUN_BY:
        return PAGES_RUN_BY[command.page]
    rules = (*RUN_BY.items(), *NOT_HERE.items())
    return next((where for pattern, where in rules if re.fullmatch(pattern, bare(command))), "")


def parsed(command: click.Command, words: tuple[str, ...], parent: click.Context | None = None) -> None:
    """As click parses it, values and all; nothing is run. Raises ClickException."""
    if not isinstance(command, click.Group):
        command.make_context(command.name, list(words), parent=parent)
        return
    with command.make_context(command.name, list(words), parent=parent) as context:
        _, below, _ = command.resolve_command(context, list(words))
        assert below is not None
        parsed(below, words[1:], context)


def test_every_command_of_dbcpu_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for inventory in ("hosts.csv", "fleet.toml"):
        Path(inventory).touch()
    wrong = []
    for each in COMMANDS:
        if each.is_dbcpu:
            try:
                parsed(group, each.words[1:])
            except click.ClickException as error:
                wrong.append(f"{each.page}: {each.text}: {error.format_message()}")
    assert wrong == []
    assert sum(each.is_dbcpu for each in COMMANDS) > 100


def test_every_script_has_the_options_that_are_typed() -> None:
    scripts = {each.words[0] for each in COMMANDS if not each.is_dbcpu} - {"shell/test", "shell/lab", "shell/bench"}
    helps = {
        script: subprocess.run(
            ["sh", str(ROOT / script), "--help"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for script in scripts
    }
    for each in COMMANDS:
        for option in (word for word in each.words[1:] if re.fullmatch(r"-[a-zA-Z]", word)):
            if each.words[0] in helps:
                assert re.search(rf"{option}\b", helps[each.words[0]]), f"{each.page}: {each.text}"


def test_where_a_command_is_run_is_a_test_and_no_rule_is_left_over() -> None:
    assert [path for path in (*RUN_BY.values(), *PAGES_RUN_BY.values()) if not (ROOT / path).is_file()] == []
    elsewhere = [each for each in COMMANDS if listed(each) and each.page not in PAGES_RUN_BY]
    used = {next(p for p in (*RUN_BY, *NOT_HERE) if re.fullmatch(p, bare(each))) for each in elsewhere}
    assert used == {*RUN_BY, *NOT_HERE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with four runs of one host and two labels, and the files that the documents name."""
    made = tmp_path_factory.mktemp("typed")
    (made / "reports").symlink_to(ROOT / "reports")
    host = SimulatedHost("box", cores=2, threads=2)
    with pytest.MonkeyPatch.context() as patch, open_store(str(made / "runs.db")) as store:
        patch.chdir(made)
        for at in range(8):
            label = ("before", "after", "sql", "loop", "gzip")[at % 5]
            run = simulate(host, (1, 2, 3, 4), repeats=2, seed=at, run_id=f"RUN{at + 1}", label=label)
            keep_run(store, run)
            record_file.write(f"run-{at + 1}.json.gz", run.header, run.rounds)
        one, two = noisy_run(1), noisy_run(2)
        for run_id, other in (("VARIED", with_variants(one, two, "spread")), ("SAME", aa_run(one, two))):
            keep_run(store, RunRecord(replace(other.header, run_id=run_id), other.rounds))
    managed = replace(run.header, host=None, plan=replace(run.header.plan, vcpus=8, cores=None))
    record_file.write(str(made / "managed.json.gz"), managed, run.rounds)
    for at, name in enumerate(("old-box", "old", "new", "on-prem", "rds", "cloud", "cloud-smt-off")):
        shutil.copy(made / ("managed.json.gz" if name == "rds" else f"run-{at + 1}.json.gz"), made / f"{name}.json.gz")
    text = (ROOT / "docs" / "published.md").read_text("utf-8")
    (loops,) = re.findall(r"^```\n(# label: a loop.*?)^```", text, re.M | re.S)
    for name in (
        "loops.csv",
        "old.csv",
        "rds.csv",
        "counting",
        "counting-smt-off",
        "pipes",
        "on-0",
        "on-0-1",
        "on-0-3",
    ):
        (made / name).write_text(loops.replace("box7", name), "utf-8")
    yield made


RUNS = re.compile(r"\b(?:RUN\d?|OLD\d|NEW\d|\d{8})\b")
HERE = [each for each in COMMANDS if not listed(each)]


def test_all_that_look_at_runs_are_run_here() -> None:
    assert {each.words[1] for each in HERE} == {
        "show", "list", "compare", "export", "import", "topology", "store", "simulate"
    }  # fmt: skip


@pytest.mark.parametrize("command", dict.fromkeys(bare(each) for each in HERE))
def test_a_command_that_looks_at_runs_does_what_it_says(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = iter(range(1, 9))
    typed = [*next(each for each in HERE if bare(each) == command).words[1:]]
    if typed[0] == "compare":
        of_runs = STAND_INS.get(command)
        typed = of_runs.split() if of_runs else [RUNS.sub(lambda _: f"RUN{next(numbers)}", word) for word in typed]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DBCPU_STORE", str(folder / "runs.db"))
    assert main(typed) == 0, f"{typed}: {capsys.readouterr().err}"
