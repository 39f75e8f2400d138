"""Logs that others wrote: cputoolkit's report and the gzip test of the 2017 articles become runs, or are refused."""

from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.cli import main
from dbcpu.errors import RecordFormatError
from dbcpu.store.imported_logs import as_csv
from dbcpu.workflows.import_runs import read_run

TOOLKIT = """\
TM               ,      EXEC,      LIOS,   CPUSECS,  ELAPSECS,CPU_WAIT_SECS,  CPU_EXEC, ELAP_EXEC,CPU_WAIT_EXEC, LIOS_EXEC, LIOS_ELAP
-----------------,----------,----------,----------,----------,-------------,----------,----------,-------------,----------,----------
12/11/12 08:41:47,       609, 178422501,    597.76,    598.82,         1.06,       .98,       .98,            0, 292976.19, 297956.96
12/11/12 08:51:48,      1197, 343892161,   1191.77,   1193.34,         1.57,         1,         1,            0, 287295.04, 288175.48
12/11/12 09:11:54,      2431, 647484970,   2347.19,   2350.65,         3.47,       .97,       .97,            0, 266345.11, 275449.17
12/11/12 09:52:24,      2914, 675167093,   4295.13,   4604.66,       309.54,      1.47,      1.58,          .11,  231697.7, 146626.88
"""  # noqa: E501 - as the tool writes it
GZIP = """\
        Running 1 parallel gzip
        2147483648 bytes (2.1 GB) copied, 15.7105 s, 137 MB/s
        Running 2 parallel gzip
        2147483648 bytes (2.1 GB) copied, 15.9782 s, 134 MB/s
2147483648 bytes (2.1 GB, 2.0 GiB) copied, 16.0045 s, 134 MB/s
"""


def test_steps_of_cputoolkit_are_rates_of_all_sessions(tmp_path: Path) -> None:
    file = tmp_path / "report_sqldetail.txt"
    file.write_text(f"# sessions: 1,2,4,8\n# cpus: 8\n# cores: 4\n{TOOLKIT}")
    record, warning = read_run(str(file))
    assert warning == ""
    assert (record.header.database.kind, record.header.plan.workload.unit) == ("oracle", "executions/s")
    levels = {each.level: each for each in explain(record).levels}
    assert sorted(levels) == [1, 2, 4, 8]
    assert levels[4].throughput == pytest.approx(4 * 2431 / 2350.65, rel=1e-3)
    assert levels[8].slowdown_median == pytest.approx((4604.66 / 2914) / (598.82 / 609), rel=1e-3)


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("", "has 4 steps of cputoolkit and does not say how many sessions each had"),
        ("# sessions: 1-3\n", "has 4 steps of cputoolkit, and # sessions names 3: 1-3"),
        ("# sessions: many\n", "the line # sessions:"),
    ],
)
def test_steps_without_their_sessions_are_refused(before: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence) as refused:
        as_csv(before + TOOLKIT, "report.txt")
    assert "\n" not in str(refused.value)


def test_a_step_without_an_execution_is_refused() -> None:
    with pytest.raises(RecordFormatError, match="the step of 1 sessions has no execution that ended"):
        as_csv(f"# sessions: 1,2,4,8\n{TOOLKIT.replace('       609', '         0')}", "report.txt")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "598.82",
            "2.0.3",
            r"report.txt, line 4: ELAPSECS '2\.0\.3' is no time from 0 to 1e\+09 s; the log",
        ),
        ("598.82", ".", r"line 4: ELAPSECS '\.' is no time"),
        ("598.82", "9" * 400, r"line 4: ELAPSECS '9{40}' is no time"),
        ("2431", "9" * 400, r"line 6: EXEC '9{40}' is no number of executions; the log is damaged there"),
        ("2431", "9" * 5000, r"line 6: EXEC '9{40}' is no number of executions"),
    ],
)
def test_a_damaged_step_is_named_by_its_line(old: str, new: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence) as refused:
        as_csv(f"# sessions: 1,2,4,8\n{TOOLKIT.replace(old, new)}", "report.txt")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Running 2", f"Running {'9' * 5000}", r"gzip.log, line 3: '9{40}' is no number of processes from 1 to 10000"),
        ("16.0045", "16.00.45", r"gzip.log, line 5: copied in '16\.00\.45' is no time from 0 to 1e\+09 s"),
        ("2147483648 bytes (2.1 GB)", f"{'9' * 5000} bytes", "processes copied 2147483648 and 9{40} bytes"),
    ],
)
def test_a_damaged_gzip_log_is_refused_by_its_line(old: str, new: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence) as refused:
        as_csv(GZIP.replace(old, new, 2), "gzip.log")
    assert len(str(refused.value)) < 200


def test_the_command_says_what_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    file = tmp_path / "report.txt"
    file.write_text(f"# sessions: 1,2,4,8\n{TOOLKIT.replace('598.82', '2.0.3')}")
    for command in (["import", str(file)], ["compare", str(file), str(file)]):
        assert main(command) == 3
        said = capsys.readouterr().err
        assert "line 4: ELAPSECS '2.0.3' is no time" in said
        assert "internal error" not in said


def test_the_gzip_test_gives_the_seconds_of_each_process(tmp_path: Path) -> None:
    file = tmp_path / "gzip.log"
    file.write_text(f"# label: c4.4xlarge\n{GZIP}{GZIP}")
    record, _ = read_run(str(file))
    assert record.header.label == "c4.4xlarge"
    assert [(each.level, each.repeat) for each in record.rounds] == [(1, 0), (2, 0), (1, 1), (2, 1)]
    seconds = [session.executions[0].elapsed_s for each in record.rounds[1:2] for session in each.sessions]
    assert seconds == [15.9782, 16.0045]


def test_a_process_that_did_not_end_is_noticed() -> None:
    with pytest.raises(RecordFormatError, match="2 processes were started and 1 lines say `copied`"):
        as_csv("\n".join(GZIP.splitlines()[:-1]), "gzip.log")


def test_processes_that_did_other_work_are_refused() -> None:
    with pytest.raises(RecordFormatError, match="copied 500000 and 2147483648 bytes; only equal work"):
        as_csv(GZIP.replace("2147483648", "500000", 1), "gzip.log")


def test_a_decimal_comma_is_read_and_a_report_needs_no_header() -> None:
    assert as_csv(GZIP.replace("copied, 15.7105 s", "copied, 15,7105 s"), "gzip.log") == as_csv(GZIP, "gzip.log")
    rows = "".join(line + "\n" for line in TOOLKIT.splitlines() if line.lstrip()[:1].isdigit())
    made = as_csv(f"# sessions: 1,2,4,8\n{rows}", "report.txt")
    assert made == as_csv(f"# sessions: 1,2,4,8\n{TOOLKIT}", "report.txt")
    assert as_csv(rows, "report.txt") is None


def test_other_texts_are_left_alone() -> None:
    assert as_csv("n,repeat,rate\n1,1,2\n", "x") is None
    assert as_csv("", "x") is None
