"""A run from the request to its last stored round, without a database."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.adaptive_plan import adaptive
from dbcpu.config.request import Request
from dbcpu.errors import (
    BusyHost,
    ConnectError,
    GateError,
    Interrupted,
    MeasureError,
    ServerError,
    UnknownName,
    UsageError,
)
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.quiesce import Quiet
from dbcpu.measure.preflight import vcpus_of
from dbcpu.measure.preview import MEMORY_SHARE, Preview, check_room, make_room_for_files, preview_of
from dbcpu.record.header import Header, HostInfo, Limits, Topology
from dbcpu.record.plan import NextRound, RoundSpec
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.database import Store, open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.measure_run import Choices, Watcher
from dbcpu.workflows.more_rounds import AddedRounds
from dbcpu.workflows.progress import ProgressWatcher
from dbcpu.workflows.same_run import EarlierRun
from support.builders import record as built
from support.doubles.proc_folder import FakeProc
from support.doubles.target import WORK, FakeSession, FakeTarget

CHOICES = Choices(sessions="1-3", size="tiny", executions=2, repeats=1, seed=7)


class Ear(Watcher):
    """Keeps what it was told; ``at`` is called with each event's name and may raise."""

    def __init__(self, at: Callable[[str], None] = lambda _: None) -> None:
        self.events: list[str] = []
        self.preview: Preview | None = None
        self._at = at

    def agree(self, preview: Preview) -> None:
        self.preview = preview
        self._hear("agree")

    def stage(self, what: str) -> None:
        self._hear(what)

    def begun(self, spec: RoundSpec) -> None:
        self._hear(f"begun {spec.level}")

    def finished(self, done: Round) -> None:
        self._hear(f"finished {done.level}")

    def _hear(self, event: str) -> None:
        self.events.append(event)
        self._at(event)


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with its tables: making them takes longer than a test."""
    path = tmp_path_factory.mktemp("store") / "runs.db"
    open_store(str(path)).close()
    return path


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    shutil.copy(empty_store, tmp_path)
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


@pytest.fixture
def measure(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunRecord]:
    """Run against a fake target; gives the stored run."""
    monkeypatch.setattr("dbcpu.measure.verification.IDLE_LOOK_S", 0.0)

    def run(target: FakeTarget, choices: Choices = CHOICES, watcher: Watcher | None = None, **named: Any) -> RunRecord:
        def open_target(request: Request, guard: Guard) -> FakeTarget:
            return target

        member = SimpleNamespace(open_target=open_target)
        monkeypatch.setattr("dbcpu.targets.base.load_target", lambda kind: member)
        return store.load(measure_run.run(Request("fake", "postgresql"), choices, store, watcher or Ear(), **named))

    return run


def press_ctrl_c(when: str) -> Callable[[str], None]:
    def at(event: str) -> None:
        if event == when:
            raise KeyboardInterrupt

    return at


def host(*, memory_bytes: int | None = None) -> HostInfo:
    return HostInfo("db1", "6.1", "model", Topology(()), Limits((0, 1), memory_available_bytes=memory_bytes))


def preview(*levels: int) -> Preview:
    specs = [RoundSpec(level, 0, "baseline", order) for order, level in enumerate(levels)]
    return preview_of(Request("fake", "postgresql"), FakeTarget(), WORK, specs, 2, None, 0.5, 2, ())


# --- the run


def test_all_rounds_are_measured_and_kept(measure: Callable[..., RunRecord]) -> None:
    ear = Ear()
    record = measure(FakeTarget(), watcher=ear)
    header = record.header
    assert header.status == "complete"
    assert header.plan.levels == (1, 2, 3)
    assert header.plan.rounds == len(record.rounds) == 5
    assert [each.order for each in record.rounds] == list(range(5))
    assert [len(each.sessions) for each in record.rounds] == [each.level for each in record.rounds]
    assert [each.level for each in record.rounds if each.anchor] == [1, 1]
    assert all(len(session.executions) == 2 for each in record.rounds for session in each.sessions)
    assert ear.events[:3] == ["connecting to fake", "measuring the single-session baseline", "agree"]
    assert ear.events[3:] == [f"{what} {each.level}" for each in record.rounds for what in ("begun", "finished")]


def test_same_seed_gives_the_same_order_and_another_seed_another(measure: Callable[..., RunRecord]) -> None:
    choices = replace(CHOICES, sessions="1-6")
    orders = [[each.level for each in measure(FakeTarget(), replace(choices, seed=seed)).rounds] for seed in (7, 7, 8)]
    assert orders[0] == orders[1] != orders[2]


def test_seed_that_was_not_given_is_recorded_and_repeats_the_order(measure: Callable[..., RunRecord]) -> None:
    first = measure(FakeTarget(), replace(CHOICES, sessions="1-6", seed=None))
    again = measure(FakeTarget(), replace(CHOICES, sessions="1-6", seed=first.header.plan.seed))
    assert [each.level for each in again.rounds] == [each.level for each in first.rounds]


def test_seconds_set_the_number_of_executions_and_never_the_size(measure: Callable[..., RunRecord]) -> None:
    record = measure(FakeTarget(), replace(CHOICES, executions=None, seconds=0.01, sessions="1"))
    plan = record.header.plan
    assert plan.executions == 10, "one execution of the fake session takes a millisecond"
    assert (plan.workload.size, plan.workload.n, plan.for_s) == ("tiny", 20, None)


def test_fixed_time_has_no_number_of_executions(measure: Callable[..., RunRecord]) -> None:
    target = FakeTarget()
    record = measure(target, replace(CHOICES, executions=None, for_s=0.25, sessions="2"))
    assert (record.header.plan.executions, record.header.plan.for_s) == (None, 0.25)
    executions, until_s = target.opened[-1].given or (0, 0.0)
    assert executions is None
    assert until_s == pytest.approx(record.rounds[-1].released_monotonic_s + 0.25)


def test_run_without_a_host_says_that_it_is_not_sampled(measure: Callable[..., RunRecord]) -> None:
    record = measure(FakeTarget())
    assert {each.not_sampled for each in record.rounds} == {"the database runs on another machine"}
    assert (record.header.plan.sampler, record.header.plan.vcpus_source) == ("none", "unknown")
    assert any(note.startswith("not-sampled: ") for note in record.header.notes)
    asked = measure(FakeTarget(), replace(CHOICES, sampler="none"))
    assert {each.not_sampled for each in asked.rounds} == {"requested by --sampler none"}


def test_unknown_vcpus_are_never_guessed(measure: Callable[..., RunRecord]) -> None:
    with pytest.raises(UsageError, match=r"vCPUs of the database is unknown; give --vcpus N, or the levels"):
        measure(FakeTarget(), replace(CHOICES, sessions="auto"))
    record = measure(FakeTarget(), replace(CHOICES, sessions="auto", vcpus=2))
    assert (record.header.plan.vcpus, record.header.plan.vcpus_source) == (2, "--vcpus")
    assert record.header.plan.levels == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({"sessions": "0"}, UsageError, "not a range within 1 to 10000"),
        ({"sessions": "1-x"}, UsageError, "'1-x' is no number or range"),
        ({"sessions": "-4"}, UsageError, "is no number or range"),
        ({"sessions": "10001"}, UsageError, "not a range within 1 to 10000"),
        ({"workload": "nothing"}, UnknownName, "no workload for postgresql is called 'nothing'; there are: arithmetic"),
        ({"size": "huge"}, UnknownName, "no size of workload 'cartesian' is called 'huge'; there are: long"),
        ({"repeats": 0}, UsageError, "--repeats 0 is not between"),
    ],
)
def test_impossible_choices_are_told_before_anything_runs(
    measure: Callable[..., RunRecord], store: Store, changed: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        measure(FakeTarget(), replace(CHOICES, **changed))
    assert store.list() == ()


@pytest.mark.parametrize("kind", ["embedded", "postgresql", "oracle", "sqlite", "shell"])
@pytest.mark.parametrize("wrong", [{"size": "huge"}, {"workload": "nothing"}])
def test_an_unknown_size_or_workload_is_refused_before_the_target_is_opened(
    store: Store, monkeypatch: pytest.MonkeyPatch, kind: str, wrong: dict[str, str]
) -> None:
    monkeypatch.setattr("dbcpu.targets.base.load_target", lambda _: pytest.fail("it was opened"))
    with pytest.raises(UnknownName, match=r"is called '(huge|nothing)'; there are: "):
        measure_run.run(Request("fake", kind), replace(CHOICES, **wrong), store, Ear())


# --- how it ends early


def test_refused_confirmation_measures_and_keeps_nothing(measure: Callable[..., RunRecord], store: Store) -> None:
    target = FakeTarget(private=False)
    ear = Ear(press_ctrl_c("agree"))
    with pytest.raises(Interrupted, match=r"^interrupted before the first round; nothing was stored$"):
        measure(target, watcher=ear)
    assert store.list() == ()
    assert len(target.opened) == 1, "only the calibration's"
    assert ear.preview is not None
    assert (ear.preview.private, ear.preview.levels, ear.preview.rounds) == (False, (1, 2, 3), 5)


@pytest.mark.parametrize(("moment", "kept"), [("finished 1", 1), ("begun 2", None)])
def test_ctrl_c_keeps_what_was_finished(
    measure: Callable[..., RunRecord], store: Store, moment: str, kept: int | None
) -> None:
    with pytest.raises(Interrupted, match=r"^interrupted; \d of 5 rounds stored, see: dbcpu show \d{8}-") as stopped:
        measure(FakeTarget(), watcher=Ear(press_ctrl_c(moment)))
    record = store.load("last")
    assert str(stopped.value).endswith(f"; dbcpu more {record.header.run_id} continues it")
    assert record.header.status == "interrupted"
    assert len(record.rounds) >= 1
    assert kept is None or len(record.rounds) == kept


def test_ctrl_c_before_the_first_round_says_that_none_was_finished(
    measure: Callable[..., RunRecord], store: Store
) -> None:
    with pytest.raises(Interrupted, match=r"^interrupted; no round was finished, ") as stopped:
        measure(FakeTarget(), watcher=Ear(press_ctrl_c("begun 1")))
    header = store.load("last").header
    assert header.status == "interrupted"
    assert f"dbcpu more {header.run_id} continues it, dbcpu delete {header.run_id} removes it" in str(stopped.value)
    assert stopped.value.in_campaign == "interrupted; no round was finished"


def test_ctrl_c_while_a_whole_run_is_closed_says_that_it_is_stored(
    measure: Callable[..., RunRecord], store: Store
) -> None:
    class Slow(FakeTarget):
        def __exit__(self, *exception: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        measure(Slow())
    header = store.load("last").header
    assert header.status == "complete"
    said = f"interrupted; run {header.run_id} is stored and complete, see: dbcpu show {header.run_id}"
    assert str(stopped.value) == said


def test_lost_connections_fail_the_run_and_keep_the_rounds_before(
    measure: Callable[..., RunRecord], store: Store
) -> None:
    target = FakeTarget()

    def make(ordinal: int) -> FakeSession:
        if ordinal == 2:
            raise ConnectError("FATAL: sorry, too many clients already")
        return FakeSession(ordinal)

    target._make = make
    with pytest.raises(GateError, match=r"^2 of 3 sessions connected: .*; \d of 5 rounds stored, see: dbcpu show "):
        measure(target)
    record = store.load("last")
    assert record.header.status == "failed"
    assert record.header.notes[-1].startswith("2 of 3 sessions connected")
    assert all(each.level < 3 for each in record.rounds)


class Broken(FakeSession):
    """A session whose server goes away while it runs."""

    def start(self, executions: int | None, until_s: float | None) -> float:
        self._end("FATAL: terminating connection due to administrator command")
        return 0.0


def test_one_lost_session_is_marked_and_the_run_goes_on(measure: Callable[..., RunRecord]) -> None:
    record = measure(FakeTarget(lambda ordinal: (Broken if ordinal == 1 else FakeSession)(ordinal)))
    assert record.header.status == "complete"
    assert len(record.rounds) == 5
    for each in record.rounds:
        errors = [session.error for session in each.sessions]
        assert [bool(error) for error in errors] == [session.ordinal == 1 for session in each.sessions]
        assert each.error is None


def test_round_that_all_sessions_failed_is_kept_and_ends_the_run(
    measure: Callable[..., RunRecord], store: Store
) -> None:
    made: list[FakeSession] = []

    def make(ordinal: int) -> FakeSession:
        made.append(Broken(ordinal) if len(made) >= 2 else FakeSession(ordinal))
        return made[-1]

    with pytest.raises(MeasureError, match=r"^every session failed: FATAL: terminating connection .*; 2 of 5 rounds"):
        measure(FakeTarget(make))
    record = store.load("last")
    assert record.header.status == "failed"
    assert record.rounds[0].error is None
    assert record.rounds[-1].error is not None


def test_session_that_cannot_do_the_work_alone_stops_it_before_it_is_kept(
    measure: Callable[..., RunRecord], store: Store
) -> None:
    with pytest.raises(ServerError, match="a single session could not do the work: FATAL"):
        measure(FakeTarget(Broken))
    assert store.list() == ()


def test_busy_host_is_not_measured_unless_forced(
    measure: Callable[..., RunRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = FakeProc(tmp_path / "root")
    monkeypatch.setattr("dbcpu.workflows.measure_run.settle", lambda host, timeout_s: Quiet(False, 0.8, timeout_s))
    monkeypatch.setenv("DBCPU_SETTLE_S", "2")
    ear = Ear()
    with pytest.raises(
        MeasureError, match=r"80 % of its CPU time went to other work.*; stop it, or measure anyway with --yes"
    ):
        measure(FakeTarget(host=proc.host), watcher=ear)
    assert "other work uses the host: waiting up to 10 s until it is quiet" in ear.events, "nothing was said meanwhile"
    monkeypatch.setenv("DBCPU_SETTLE_S", "0")
    assert measure(FakeTarget(host=proc.host), forced=True).header.status == "complete"


def test_a_busy_host_is_asked_about_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    watcher = ProgressWatcher(asked.append, quiet=True)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(MeasureError, match="host is busy: 80 % of it; stop it, or measure anyway with --yes"):
        watcher.busy("80 % of it")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    watcher.busy("80 % of it")
    assert asked == ["The host is busy: 80 % of it, which may slow the sessions. Measure anyway?"]
    with pytest.raises(BusyHost, match=r"^host busy: 80 % of it; nothing was measured$"):
        ProgressWatcher(asked.append, quiet=True, if_quiet=True).busy("80 % of it")
    assert len(asked) == 1


# --- room


def test_memory_that_does_not_fit_names_the_largest_level_that_does() -> None:
    fits = 10
    memory_bytes = int(fits * WORK.memory_bytes / MEMORY_SHARE) + 1
    check_room(preview(1, fits), host(memory_bytes=memory_bytes), FakeTarget())
    with pytest.raises(UsageError, match=r"cartesian tiny needs 0.1 GB for 11 sessions.*largest possible level is 10$"):
        check_room(preview(1, fits + 1), host(memory_bytes=memory_bytes), FakeTarget())


def test_unknown_memory_is_not_guessed() -> None:
    check_room(preview(10_000), host(), FakeTarget())
    check_room(preview(10_000), None, FakeTarget())


def test_connections_that_do_not_fit_are_told_before_the_first_round() -> None:
    check_room(preview(1, 17), None, FakeTarget(free=17))
    with pytest.raises(UsageError, match=r"17 of 32 sessions can connect: .*lower --sessions to 17 or raise the limit"):
        check_room(preview(1, 32), None, FakeTarget(free=17))


def test_not_even_one_is_told() -> None:
    with pytest.raises(UsageError, match=r"0 of 1 session can connect") as caught:
        check_room(preview(1), None, FakeTarget(free=0))
    assert "lower --sessions to 0" not in str(caught.value), "there is no level 0"
    with pytest.raises(UsageError, match=r"^0 of 1 "):
        check_room(preview(1), None, FakeTarget(free=-2))  # a superuser got one of the reserved ones
    with pytest.raises(UsageError, match=r"use a smaller --size"):
        check_room(preview(1), host(memory_bytes=1_000_000), FakeTarget())


def test_open_files_are_raised_to_what_is_needed_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(256, 5000)]
    monkeypatch.setattr("dbcpu.measure.preview.resource.getrlimit", lambda _: limits[-1])
    monkeypatch.setattr("dbcpu.measure.preview.resource.setrlimit", lambda _, pair: limits.append(pair))
    make_room_for_files(10)
    assert limits == [(256, 5000)]
    make_room_for_files(1000)
    assert limits[1:] == [(4200, 5000)]
    with pytest.raises(UsageError, match=r"2000 sessions need 8200 open files and the limit is 5000; raise the limit"):
        make_room_for_files(2000)


def test_preview_of_fixed_work_grows_with_the_level_beyond_the_cpus() -> None:
    assert preview(1, 2).cpu_s == pytest.approx(3.0), "two executions of half a second in 1 + 2 sessions"
    assert preview(2).duration_s < 2.0 < 4.0 < preview(8).duration_s, "eight on two CPUs take four times as long"
    assert preview(1, 4).memory_bytes == 4 * WORK.memory_bytes


def test_vcpus_of_a_remote_host_are_what_the_database_says() -> None:
    remote: Any = SimpleNamespace(vcpus=lambda: (64, "v$osstat NUM_CPUS"))
    silent: Any = SimpleNamespace(vcpus=lambda: None)
    assert vcpus_of(None, None, remote) == (64, "v$osstat NUM_CPUS")
    assert vcpus_of(8, None, remote) == (8, "--vcpus")
    assert vcpus_of(None, None, silent) == (None, "unknown")


# --- plans that are chosen as results come in, and A/A


def test_a_planner_chooses_the_rounds_of_auto_and_sees_those_so_far(measure: Callable[..., RunRecord]) -> None:
    seen: list[int] = []

    def planner(header: Header) -> NextRound:
        def next_round(done: Sequence[Round]) -> RoundSpec | None:
            seen.append(len(done))
            return RoundSpec(len(done) + 1, 0, header.plan.variants[0], len(done)) if len(done) < 2 else None

        return next_round

    ear = Ear()
    record = measure(FakeTarget(), replace(CHOICES, sessions="auto", vcpus=2), ear, planner=planner)
    assert [each.level for each in record.rounds] == [1, 2]
    assert seen == [0, 1, 2]
    assert (record.header.plan.rounds, record.header.status) == (None, "complete")
    assert ear.preview is not None
    assert (ear.preview.at_most, ear.preview.levels) == (True, (1, 2, 3, 4))


def test_levels_that_were_given_are_all_measured(measure: Callable[..., RunRecord]) -> None:
    def planner(header: Header) -> NextRound:
        raise AssertionError("nobody asked for auto")

    assert measure(FakeTarget(), planner=planner).header.plan.rounds == 5


def test_an_a_a_run_measures_everything_twice_in_turns(measure: Callable[..., RunRecord]) -> None:
    record = measure(FakeTarget(), replace(CHOICES, sessions="2", repeats=2, aa=True))
    assert record.header.plan.variants == ("aa1", "aa2")
    assert [each.variant for each in record.rounds if each.level == 2] == ["aa1", "aa2", "aa2", "aa1"]


def test_the_adaptive_plan_measures_a_target_to_its_end(measure: Callable[..., RunRecord]) -> None:
    record = measure(FakeTarget(), replace(CHOICES, sessions="auto", vcpus=2), planner=adaptive)
    assert {each.level for each in record.rounds} >= {1, 2, 3, 4}
    assert record.rounds[0].level == record.rounds[-1].level == 1


def test_rounds_are_added_to_a_stored_run(measure: Callable[..., RunRecord]) -> None:
    first = measure(FakeTarget(), replace(CHOICES, sessions="1-2"))
    done = len(first.rounds)
    added = tuple(RoundSpec(level, 1, "baseline", done + at) for at, level in enumerate((1, 2)))
    again = measure(
        FakeTarget(),
        replace(CHOICES, sessions="1-2"),
        experiment=AddedRounds(added, first.header.plan.levels),
        earlier=EarlierRun(first),
    )
    assert again.header.run_id == first.header.run_id
    assert again.header.status == "complete"
    assert again.rounds[:done] == first.rounds
    assert [(each.level, each.order) for each in again.rounds[done:]] == [(1, done), (2, done + 1)]
    assert again.header.plan.rounds == done + 2


def test_rounds_of_another_workload_are_not_added(measure: Callable[..., RunRecord]) -> None:
    first = measure(FakeTarget(), replace(CHOICES, sessions="1"))
    more = AddedRounds((RoundSpec(1, 1, "baseline", len(first.rounds)),), (1,))
    with pytest.raises(UsageError, match="the workload was cartesian tiny, n = 20 and is cartesian short"):
        measure(FakeTarget(), replace(CHOICES, sessions="1", size="short"), experiment=more, earlier=EarlierRun(first))


@pytest.mark.parametrize(("database", "counted"), [(1, (1, "cpu_count")), (64, (2, "online"))])
def test_of_host_and_database_the_smaller_number_of_vcpus_counts(database: int, counted: tuple[int, str]) -> None:
    info = built.host(2)
    target: Any = SimpleNamespace(vcpus=lambda: (database, "cpu_count"))
    found, source = vcpus_of(None, info, target)
    assert found == counted[0]
    assert (source == "cpu_count") is (counted[1] == "cpu_count")
