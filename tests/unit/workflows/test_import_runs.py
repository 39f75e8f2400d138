"""A file is read by what is in it, or the user learns where it belongs."""

import gc
import gzip
import os
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbcpu.cli import group, main
from dbcpu.errors import DbcpuError
from dbcpu.record.rounds import RunRecord
from dbcpu.store import record_file
from dbcpu.store.database import open_store
from dbcpu.workflows.import_runs import read_run, read_runs
from plugins import runs
from support.paths import ROOT

RATES = "n,repeat,rate\n" + "".join(f"{n},{repeat},{n * 10 + repeat / 10}\n" for n in (1, 2) for repeat in range(6))
TIMES = "n,repeat,session,seconds\n1,1,1,2.5\n2,1,1,2.5\n2,1,2,2.75\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, and a folder to be in."""
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, catch_exceptions=False)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence with which the command is refused."""
    assert main(list(arguments)) in (2, 3)
    (sentence,) = capsys.readouterr().err.splitlines()
    return sentence


@pytest.mark.parametrize("text", [RATES, TIMES])
def test_csv_of_a_run_is_kept_shown_compared_and_exported(here: Path, text: str) -> None:
    (here / "old.csv").write_text(text)
    (here / "new.csv").write_text(text.replace("2.5", "2.625").replace("10.1", "10.2"))
    old, new = (run("import", name, "--workload", "loop").stdout.strip() for name in ("old.csv", "new.csv"))
    assert "imported" in run("show", old).stdout
    for form in ("json", "csv", "markdown", "metrics"):
        assert run("show", old, "--format", form).exit_code == 0
    assert run("report", old, "--out", "report", "--format", "html").exit_code == 0
    assert "not checked" in (here / "report" / "report.html").read_text("utf-8")
    assert "compared with" in run("compare", old, new).stdout
    assert "loop" in run("list", "--history").stdout
    assert run("check", old).exit_code in (0, 1)
    run("export", old, "run.json")
    assert record_file.read("run.json").header.run_id == old
    assert "already in the store" in run("import", "old.csv", "--workload", "loop").stderr


def test_compressed_csv_is_read_too(here: Path) -> None:
    (here / "run.csv.gz").write_bytes(gzip.compress(RATES.encode()))
    assert run("import", "run.csv.gz").stdout.startswith("imported-")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(), st.text().map(str.encode), st.binary().map(lambda b: gzip.compress(b))))
@example(b"\x1f\x8b\x08")
@example(b"[1]")
@example(b" {")
@example(b"dbcpu-lines 1\nrun started=1\n")
def test_any_file_is_read_or_refused(here: Path, content: bytes) -> None:
    file = here / "any"
    file.write_bytes(content)
    try:
        read_run(str(file))
    except DbcpuError as error:
        assert "\n" not in str(error)


def test_unknown_columns_are_a_warning_beside_the_result(here: Path) -> None:
    (here / "run.csv").write_text("n,repeat,rate,mood\n1,1,3,good\n")
    result = run("import", "run.csv")
    assert result.stderr == "warning: run.csv: passed over column 'mood'\n"
    assert result.stdout.startswith("imported-")


def test_work_that_nobody_named_is_not_taken_for_the_same(here: Path) -> None:
    (here / "old.csv").write_text(RATES)
    (here / "new.csv").write_text(RATES.replace("10.1", "10.2"))
    names = [run("import", name).stdout.strip() for name in ("old.csv", "new.csv")]
    unnamed = " ".join(run("compare", *names).stdout.split())
    assert "the work differs (workload unnamed work " in unnamed
    assert "`dbcpu import --workload NAME`, names it" in unnamed
    units = [run("import", "old.csv", "--workload", "x", "--unit", unit).stdout.strip() for unit in ("a/s", "b/s")]
    compared = " ".join(run("compare", *units).stdout.split())
    assert "unit" in compared
    assert "so speed is not compared" in compared
    assert "names it" not in compared


def test_published_figures_belong_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "reports" / "examples" / "published" / "ec2-2017.csv")
    assert "give it to dbcpu compare" in refused(capsys, "import", file)
    assert run("compare", file).exit_code == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "x.csv is empty"),
        (b"\n \n", "x.csv is empty"),
        (b"hello", "x.csv is no run; give a record"),
        (b"a,b\n1,2\n", "with the columns n,repeat,session,seconds or n,repeat,rate"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        (b"n,repeat,rate\n", "no line of figures"),
        (b'{"schema": 1}', "x.csv holds no run"),
    ],
)
def test_what_is_no_run_is_refused_in_one_sentence(
    here: Path, content: bytes, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "x.csv").write_bytes(content)
    assert sentence in refused(capsys, "import", "x.csv")


def test_one_file_that_is_none_keeps_all_others_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "good.csv").write_text(RATES)
    (here / "bad.csv").write_text("n,repeat,rate\n1,1,x\n")
    refused(capsys, "import", "good.csv", "bad.csv")
    with open_store() as store:
        assert store.list() == ()


def test_facts_are_for_csv_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_file.write_record(here / "run.json", runs.record("a"))
    assert "says itself what was measured" in refused(capsys, "import", "run.json", "--cpus", "4")
    (here / "run.csv").write_text(RATES)
    assert "no process numbers" in refused(capsys, "import", "run.csv", "--samples", "run.json")
    assert "has the samples of its run in it" in refused(capsys, "import", "run.json", "--samples", "gone.lines")
    assert "could not be read" in refused(capsys, "import", "gone.csv")


def test_other_commands_say_where_csv_belongs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run.csv").write_text(RATES)
    (here / "empty.csv").write_text("")
    assert "import it: dbcpu import ./run.csv" in refused(capsys, "show", "./run.csv")
    with open_store() as store:
        store.save(runs.record("a"))
    assert "begins with 'run.csv'; if the file run.csv is meant: dbcpu import run.csv; " in refused(
        capsys, "show", "run.csv"
    )
    said = refused(capsys, "compare", "empty.csv")
    assert "empty.csv is neither a run nor a table of published figures" in said
    assert "n,repeat,session,seconds" in said


def test_a_comparison_reads_runs_in_csv_as_an_import_does(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = "# cpus: 2\n# cores: 2\n# workload: loop\n# unit: loops/s\n# cpu: 2\n"
    (here / "old.csv").write_text(facts + RATES)
    (here / "rds.csv").write_text(facts + RATES.replace(",20.", ",19."))
    compared = run("compare", "old.csv", "there=rds.csv", "--size-for", "2")
    assert compared.exit_code == 0
    assert "there against old: " in compared.stdout
    assert "2 busy cores of old are 3 vCPUs of there" in " ".join(compared.stdout.split())
    assert "loops/s in total at N = vCPUs" in compared.stdout
    assert "Mrows" not in run("compare", "old.csv", "there=rds.csv", "--format", "html").stdout
    assert "Mrows" not in compared.stdout + run("compare", "old.csv", "there=rds.csv", "--format", "json").stdout
    assert compared.stderr.count("'cpu' (did you mean 'cpus'?)") == 2
    assert not (here / "runs.db").exists(), "nothing is kept"
    (old,) = run("import", "old.csv").stdout.split()
    assert "there against old: " in run("compare", f"old={old}", "there=rds.csv").stdout
    (here / "published.csv").write_text("label,configuration,n,metric,value\na,b,1,TPS,2\n")
    assert "loops/s, all sessions" in run("compare", "published.csv", "old.csv").stdout
    (here / "bad.csv").write_text("n,repeat,rate\n1,1,x\n")
    assert "bad.csv, line 2: rate 'x' is not a number" in refused(capsys, "compare", "bad.csv", "old.csv")
    assert "could not be read" in refused(capsys, "compare", "gone.csv", "old.csv")


def test_several_files_are_imported_together_and_none_where_one_is_broken(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        record_file.write_record(here / f"{name}.json", runs.record(name))
    (here / "c.json").write_text("{}")
    assert "c.json" in refused(capsys, "import", "a.json", "b.json", "c.json")
    assert not (here / "runs.db").exists()
    assert run("import", "a.json", "b.json").output.split() == ["a", "b"]
    with open_store() as store:
        assert {each.run_id for each in store.list()} == {"a", "b"}


def test_sessions_that_samples_did_not_see_are_a_warning(here: Path) -> None:
    (here / "lines").write_text(
        """dbcpu-lines 2
workload name=cartesian size=tiny n=20 rows=160000 answer=160000 executions=1
run started=2026-01-02T03:04:00 host=app version=15.3 kind=postgresql workers=psql
round order=0 level=2 repeat=0 released=1767323050
session order=0 ordinal=0 reported=100
execution order=0 ordinal=0 start=1767323050 end=1767323052 answer=160000
session order=0 ordinal=1 reported=101
execution order=0 ordinal=1 start=1767323050 end=1767323052 answer=160000
end status=complete
"""
    )
    (here / "samples").write_text(
        """dbcpu-lines 2
samples host=db1 interval_s=0.25
seen pid=100 at=1767323050 cpu=0 state=R run_ns=0 delay_ns=0
seen pid=100 at=1767323052 cpu=0 state=R run_ns=2000000000 delay_ns=0
process pid=100 command=postgres
end status=complete
"""
    )
    done = run("import", "lines", "--samples", "samples")
    assert done.exit_code == 0
    assert done.stderr.startswith("warning: sample-psr did not see 1 of 2 sessions, or only in part, in 1 of 1 round")
    run("export", done.stdout.strip(), "run.json")
    assert record_file.read("run.json").header.notes[-1] == done.stderr.removeprefix("warning: ").strip()


def test_lines_that_were_cut_short_are_imported_with_a_warning(here: Path) -> None:
    """Three rounds of 24 were imported without a word."""
    rounds = "".join(
        f"round order={order} level=1 repeat={order} released={at}\n"
        f"session order={order} ordinal=0 reported=100\n"
        f"execution order={order} ordinal=0 start={at} end={at + 2} answer=160000\n"
        for order, at in enumerate((1767323050, 1767323060, 1767323070))
    )
    (here / "lines").write_text(
        "dbcpu-lines 2\nworkload name=cartesian size=tiny n=20 rows=160000 answer=160000 executions=1\n"
        f"run started=2026-01-02T03:04:00 host=app version=15.3 kind=postgresql workers=psql\n{rounds}"
    )
    done = run("import", "lines")
    assert done.exit_code == 0
    assert done.stderr == (
        "warning: lines has not the whole run: it was stopped, or the file was cut short; 2 rounds of it are imported\n"
    )
    with (here / "lines").open("a") as whole:
        whole.write("end status=complete\n")
    assert run("import", "lines").stderr == ""


def test_records_are_in_memory_one_at_a_time_but_for_what_can_be_read_once(here: Path) -> None:
    """A record that nobody holds any more is gone; a pipe gives its content once."""
    pipe = here / "pipe.json"
    os.mkfifo(pipe)
    record_file.write_record(here / "b.json", runs.record("b"))
    content = (here / "b.json").read_bytes().replace(b'"b"', b'"a"')
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    found = read_runs([str(pipe), "b.json"])
    writer.join()
    assert not any(isinstance(each, RunRecord) and each.header.run_id == "b" for each in gc.get_objects())
    assert [record.header.run_id for record, _ in found] == ["a", "b"]
