"""From the command line to what is measured: every option arrives under its own name."""

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from dbcpu import registry
from dbcpu.cli import main
from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.hosts.quiesce import Quiet
from dbcpu.measure.experiments.base import ExperimentShape
from dbcpu.measure.experiments.pool import PoolShape
from dbcpu.measure.experiments.soak import SoakShape
from dbcpu.measure.rounds import RoundSetup
from dbcpu.record.plan import Planner
from dbcpu.store.database import Store, open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.launch import Delivery, launch_pool, split_options
from dbcpu.workflows.launch_run import launch_run
from dbcpu.workflows.measure_run import Choices, Watcher
from plugins import runs
from support.busy import fail_unless_busy
from support.driving import Drive

WATCHING = (
    "--workload", "arithmetic", "--size", "long", "--host", "none", "--sampler", "none", "--hz", "9",
    "--vcpus", "5", "--label", "L", "--seed", "4",
)  # fmt: skip
WATCHED: dict[str, Any] = {
    "workload": "arithmetic", "size": "long", "host": "none", "sampler": "none", "hz": 9.0,
    "vcpus": 5, "label": "L", "seed": 4,
}  # fmt: skip
Launched = list[tuple[Choices, ExperimentShape | None]]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Launched:
    """What would have been measured."""
    seen: Launched = []

    def run(
        request: object, choices: Choices, store: Store, *_: object, experiment: ExperimentShape | None, **__: object
    ) -> str:
        seen.append((choices, experiment))
        store.begin(runs.header(f"run-{len(seen)}"))
        return f"run-{len(seen)}"

    monkeypatch.setattr("dbcpu.workflows.launch.run", run)
    monkeypatch.setattr("dbcpu.workflows.present.present", lambda *_, **__: 0)
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path_factory.mktemp("store") / "runs.db"))
    return seen


def test_the_options_of_run_arrive(launched: Launched) -> None:
    assert main(["run", "sqlite", "--sessions", "1,2", "--executions", "3", "--repeats", "7", "--aa", *WATCHING]) == 0
    assert main(["run", "sqlite", "--seconds", "2"]) == 0
    assert main(["run", "sqlite", "--for", "3s"]) == 0
    assert [choices for choices, _ in launched] == [
        Choices(sessions="1,2", executions=3, repeats=7, aa=True, **WATCHED),
        Choices(seconds=2.0),
        Choices(for_s=3.0),
    ]


def test_levels_that_are_not_given_are_planned_by_the_analysis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first: list[int] = []

    def run(*_: object, planner: Planner, **__: object) -> str:
        chosen = planner(runs.header("run-1"))(())
        assert chosen is not None
        first.append(chosen.level)
        raise UsageError("enough")

    monkeypatch.setattr("dbcpu.workflows.launch.run", run)
    assert main(["run", "sqlite", "--store", str(tmp_path / "runs.db")]) == 2
    assert main(["run", "sqlite", "--store", "-"]) == 2
    assert first == [1, 1]


def test_the_options_of_soak_arrive(launched: Launched) -> None:
    assert main(["soak", "sqlite", "--sessions", "6", "--for", "20s", *WATCHING]) == 0
    assert main(["soak", "sqlite", "--sizes", "tiny,medium"]) == 0
    (choices, shape), (in_turns, turns) = launched
    assert choices == Choices(sessions="6", for_s=20.0, **WATCHED)
    assert isinstance(shape, SoakShape)
    assert (shape.for_s, shape.sizes) == (20.0, ("long",))
    assert isinstance(turns, SoakShape)
    assert (in_turns.size, in_turns.for_s, turns.sizes) == ("tiny", 600.0, ("tiny", "medium"))


@pytest.mark.parametrize(
    "words", [["soak", "sqlite", "--sizes", "tiny,huge"], ["run", "sqlite", "sqlite", "--together", "--size", "huge"]]
)
def test_an_unknown_size_is_refused_before_anything_is_opened(
    launched: Launched, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 2
    assert "no size of workload 'cartesian' is called 'huge'; there are: " in capsys.readouterr().err
    assert launched == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sqlite", "shell"], "workload 'cartesian' is none of shell, and targets together run the same work; none is"),
        (["shell", "sqlite"], "workload 'increment' is none of sqlite, and"),
        (["sqlite", "embedded", "--workload", "mixed"], "none of sqlite, and targets together run the same work; "
         "give --workload arithmetic or cartesian"),
    ],
)  # fmt: skip
def test_targets_without_the_same_workload_are_refused_before_anything_is_opened(
    launched: Launched, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["run", *words, "--together", "--yes"]) == 2
    assert says in capsys.readouterr().err
    assert launched == []
    assert main(["run", "sqlite", "embedded", "--together", "--workload", "arithmetic", "--yes"]) == 0


def test_the_options_of_pool_arrive(launched: Launched) -> None:
    assert main(["pool", "sqlite", "--work", "9", "--active", "2,3", "--repeats", "4", *WATCHING]) == 0
    ((choices, shape),) = launched
    assert choices == Choices(sessions="2,3", repeats=4, **WATCHED)
    assert isinstance(shape, PoolShape)
    assert shape.pieces == 9


def test_calls_one_at_a_time_need_connections_and_no_more_sessions_than_these(
    launched: Launched, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pool", "sqlite", "--work", "20", "--one-at-a-time"]
    assert main([*words, "--active", "2,3"]) == 2
    assert "--one-at-a-time needs --connections; give their number" in capsys.readouterr().err
    assert main([*words, "--connections", "4", "--active", "2,5"]) == 2
    assert "--active 5 is more than the 4 connections: with one call at a time" in capsys.readouterr().err
    assert launched == []
    assert main([*words, "--connections", "4", "--active", "2,4"]) == 0
    ((_, shape),) = launched
    assert isinstance(shape, PoolShape)
    assert (shape.connections, shape.one_at_a_time) == (4, True)


@pytest.mark.parametrize("name", ["run", "soak", "pool"])
def test_an_option_has_a_place_of_its_own(name: str) -> None:
    command = registry.load("cli", name).command
    assert isinstance(command, click.Command)
    options = {str(parameter.name) for parameter in command.params}
    assert command.callback is not None
    own = {parameter for parameter in inspect.signature(command.callback).parameters if parameter != "given"}
    launches: dict[str, Callable[..., Any]] = {"run": launch_run, "pool": launch_pool}
    own |= set(inspect.signature(launches[name]).parameters) if name in launches else set()
    places = own | {name for kind in (Choices, Delivery) for name in kind.__struct_fields__}
    assert options <= places


def test_an_option_that_nobody_knows_is_an_error() -> None:
    kept: dict[str, Any] = {
        "store": None,
        "out": None,
        "formats": (),
        "json_file": None,
        "fail_on": "never",
        "yes": True,
        "quiet": True,
    }
    choices, delivery = split_options(sessions="4", **kept)
    assert (choices, delivery.yes) == (Choices(sessions="4"), True)
    with pytest.raises(TypeError, match="session"):
        split_options(session="4", **kept)
    with pytest.raises(TypeError, match="quiet"):
        split_options(**{name: value for name, value in kept.items() if name != "quiet"})


@pytest.mark.slow
def test_a_pool_of_shells_shares_its_pieces(drive: Drive) -> None:
    arguments = ("pool", "shell", "--work", "4", "--active", "1,2", "--repeats", "1", "--size", "tiny", "--yes")
    code, _, err = drive(*arguments, DBCPU_SETTLE_S="0").finish()
    assert code == 0, err
    pools = [round_ for round_ in drive.last().rounds if not round_.anchor]
    assert sorted(round_.level for round_ in pools) == [1, 2]
    for round_ in pools:
        assert sum(len(session.executions) for session in round_.sessions) == 4
        assert all(session.answer_ok and session.error is None for session in round_.sessions)


@pytest.mark.slow
def test_what_goes_before_the_first_release_is_no_part_of_a_soak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that settles late took the last of the segments that were announced."""

    def late(setting: RoundSetup) -> Quiet:
        time.sleep(1.2)
        return Quiet(True, 0.0, 1.2)

    monkeypatch.setenv("DBCPU_SETTLE_S", "0")
    monkeypatch.setattr("dbcpu.measure.experiments.soak.MIN_SEGMENT_S", 0.5)
    monkeypatch.setattr("dbcpu.measure.experiments._segments.settled", late)
    choices = Choices(sessions="1", workload="increment", size="tiny", for_s=2.0)
    with open_store(str(tmp_path / "runs.db")) as store:
        shape = SoakShape(2.0, ("tiny",))
        record = store.load(
            measure_run.run(Request("shell", "shell"), choices, store, Watcher(), forced=True, experiment=shape)
        )
    segments = [round_ for round_ in record.rounds if not round_.anchor]
    # Where an execution takes longer than a segment, one of them may have none that ended in it.
    ends_s = [
        round_.released_monotonic_s + each.start_s + each.elapsed_s
        for round_ in segments
        for each in round_.sessions[0].executions
    ]
    assert max(ends_s) >= segments[0].released_monotonic_s + 1.8


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["increment", "gzip_pipe"])
def test_a_soak_of_shells_goes_on_from_segment_to_segment(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_SETTLE_S", "0")
    monkeypatch.setattr("dbcpu.measure.experiments.soak.MIN_SEGMENT_S", 0.5)
    choices = Choices(sessions="2", workload=workload, size="tiny", for_s=2.0)
    with open_store(str(tmp_path / "runs.db")) as store:
        shape = SoakShape(2.0, ("tiny",))
        record = store.load(
            measure_run.run(Request("shell", "shell"), choices, store, Watcher(), forced=True, experiment=shape)
        )
    segments = [round_ for round_ in record.rounds if not round_.anchor]
    pids = {session.server.pid for round_ in segments for session in round_.sessions}
    assert len(pids) == 2, "the sessions stay the same"
    for round_ in segments:
        assert round_.error is None
        assert all(session.answer_ok for session in round_.sessions if session.executions)
        assert not any(session.error for session in round_.sessions)
    if not all(session.executions for round_ in segments[:2] for session in round_.sessions) or len(segments) < 2:
        fail_unless_busy("of two segments each session has executed something")
