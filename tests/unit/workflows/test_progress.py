"""What a run says while it goes: what is left, figures of each round, and a log with the time."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.errors import UsageError
from dbcpu.formatting import duration
from dbcpu.measure import workloads
from dbcpu.measure.preview import Preview
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Execution, Round
from dbcpu.workflows.progress import LiveFigures, ProgressWatcher
from plugins import runs

WORK = workloads.load("postgresql", "cartesian").work("tiny")


def preview(rounds: int, duration_s: float) -> Preview:
    """Of rounds of a second each."""
    return Preview(
        target="embedded", private=True, database=runs.record(rounds=1).header.database, work=WORK, levels=(1,),
        rounds=rounds, executions=1, duration_s=duration_s, cpu_s=duration_s, memory_bytes=0, findings=(),
    )  # fmt: skip


def lasting(level: int, *times_s: float, variant: str = "baseline") -> Round:
    """A round whose sessions execute once, and take so long; a time of 0 is a session that failed."""
    done = runs.record(rounds=1).rounds[0]
    sessions = tuple(
        replace(done.sessions[0], ordinal=at, executions=(Execution(0.0, time_s),) if time_s else (),
                error=None if time_s else "lost")
        for at, time_s in enumerate(times_s)
    )  # fmt: skip
    return replace(done, level=level, variant=variant, sessions=sessions)


def test_figures_of_a_level_are_medians_of_its_rounds_so_far() -> None:
    figures = LiveFigures()
    assert figures.add(lasting(2, 0.5, 0.6)) == (
        "2 sessions: median 550 ms per execution, slowest over fastest 1.20x",
        "",  # not yet known how long a single session takes
    )
    assert figures.add(lasting(1, 0.4)) == ("1 session: median 400 ms per execution", "")
    line, last = figures.add(lasting(2, 0.7, 0.7))
    assert line.endswith("slowest over fastest 1.00x, so far 1.56x of a single session")
    assert last == "N=2: 1.56x so far"


def test_a_variant_is_held_against_its_own_single_session() -> None:
    figures = LiveFigures()
    for done in (lasting(1, 0.4), lasting(1, 0.8, variant="pack")):
        figures.add(done)
    assert figures.add(lasting(2, 0.8, 0.8, variant="pack"))[1] == "N=2: 1.00x so far"
    assert figures.add(lasting(2, 0.8, 0.8, variant="spread"))[1] == "N=2: 2.00x so far"


def test_failed_sessions_are_counted() -> None:
    figures = LiveFigures()
    assert figures.add(lasting(2, 0.5, 0.0))[0].endswith("; 1 session failed")
    assert figures.add(lasting(2, 0.0, 0.0))[0] == "2 sessions: nothing was measured; 2 sessions failed"


def watched(capsys: pytest.CaptureFixture[str], **given: object) -> str:
    watcher = ProgressWatcher(lambda _: None, quiet=bool(given.pop("quiet", False)), **given)  # type: ignore[arg-type]
    watcher.begun(RoundSpec(1, 0, "baseline", 0))
    watcher.finished(lasting(1, 0.4))
    watcher.begun(RoundSpec(2, 0, "baseline", 1))
    watcher.finished(lasting(2, 0.8, 0.8))
    watcher.close()
    return capsys.readouterr().err


def test_figures_are_said_on_request_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert "of a single session" not in watched(capsys)
    assert "2 sessions: median 800 ms per execution" in watched(capsys, verbose=True)
    assert watched(capsys, verbose=True, quiet=True) == ""


def test_an_anchor_has_no_number_among_the_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = ProgressWatcher(lambda _: None, quiet=False)
    watcher.begun(RoundSpec(1, 60, "baseline", 0, anchor=True))
    said = capsys.readouterr().err
    assert "1 session, to see drift" in said
    assert "repeat" not in said


def test_how_long_a_run_lasts_is_said_as_a_dry_run_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = ProgressWatcher(lambda _: None, quiet=False)
    watcher.agree(preview(rounds=100, duration_s=100.0))
    watcher.begun(RoundSpec(1, 0, "baseline", 0))
    said = capsys.readouterr().err
    assert "; 100 CPU-seconds, " in said
    assert f"on a quiet host the rounds take about {duration(100.0)}\n" in said
    assert f"about {duration(100.0)} left" in said


def test_a_log_has_the_time_and_the_figures_whatever_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text("of yesterday\n")
    assert watched(capsys, quiet=True, log_file=log) == ""
    before, *lines = log.read_text().splitlines()
    assert before == "of yesterday"
    assert [bool(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line)) for line in lines] == [True] * 4
    assert lines[0].endswith("round 1 of 1: 1 session, repeat 1; about 1 s left")
    assert lines[3].endswith("so far 2.00x of a single session")


def test_a_log_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--log-file .*nowhere/run.log cannot be written: No such file or directory"):
        ProgressWatcher(lambda _: None, quiet=True, log_file=tmp_path / "nowhere" / "run.log")


def test_a_full_disk_under_the_log_stops_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    said = watched(capsys, log_file=Path("/dev/full"))
    assert "round 2 of" in said
    assert said.count("--log-file could not be written: No space left on device; ") == 1
    assert watched(capsys, quiet=True, log_file=Path("/dev/full")).startswith("--log-file could not be written: ")


@pytest.mark.parametrize(("took_s", "least_s", "most_s"), [(1.0, 18, 22), (3.0, 40, 62), (0.5, 9, 15)])
def test_time_left_follows_what_the_rounds_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], took_s: float, least_s: int, most_s: int
) -> None:
    """Forty rounds of a second each were foreseen, and twenty are done."""
    now_s = [100.0]
    monkeypatch.setattr("dbcpu.workflows.progress.time.monotonic", lambda: now_s[0])
    watcher = ProgressWatcher(lambda _: None, quiet=False)
    watcher.agree(preview(rounds=40, duration_s=40.0))
    for order in range(20):
        watcher.begun(RoundSpec(1, order, "baseline", order))
        now_s[0] += took_s
        watcher.finished(lasting(1, took_s))
    watcher.begun(RoundSpec(1, 20, "baseline", 20))
    left = re.findall(r"about (\d+) s left", capsys.readouterr().err)[-1]
    assert least_s <= int(left) <= most_s


def test_rounds_beyond_those_of_a_plan_that_follows_from_results_are_not_counted_against_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watcher = ProgressWatcher(lambda _: None, quiet=False)
    watcher.agree(replace(preview(rounds=1, duration_s=1.0), at_most=True))
    watcher.begun(RoundSpec(1, 0, "baseline", 0))
    watcher.finished(lasting(1, 0.4))
    watcher.begun(RoundSpec(2, 0, "baseline", 1))
    watcher.close()
    said = capsys.readouterr().err
    assert ", 1 round or fewer, " in said
    assert "round 1 of 1 or fewer: 1 session" in said
    assert "round 2, to decide what is inconclusive: 2 sessions" in said
