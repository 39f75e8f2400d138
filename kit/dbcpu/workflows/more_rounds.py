"""``dbcpu more``: rounds added to a stored run, under the same plan, on the same host and database.

An interrupted run goes on with what its plan still had. A complete one gets the rounds that would probably decide its
undecided levels, or as many of the requested levels; one session alone is measured again among them, so that
rounds of another hour have a baseline of that hour. Rounds of anything else than what the run measured are refused.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dbcpu.analysis.adaptive_plan import adaptive
from dbcpu.analysis.conclusions.remedy_commands import measuring_command
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.level_losses import level_losses
from dbcpu.analysis.levels.rounds_needed import open_levels, why_no_more
from dbcpu.config.request import Request
from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.measure.experiments.sweep import SweepShape
from dbcpu.record import plan
from dbcpu.record.header import SWEEP, Header
from dbcpu.record.plan import NextRound, Planner, RoundSpec
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from dbcpu.workflows.launch import Confirm, Delivery
from dbcpu.workflows.measure_run import Choices, run
from dbcpu.workflows.same_run import EarlierRun


class Asked(Struct, frozen=True):
    """``rounds`` of each of the levels ``sessions``; by default what would decide. ``host``: as for ``dbcpu run``."""

    rounds: int | None = None
    sessions: str | None = None
    host: str | None = None


class Addition(Struct, frozen=True):
    """The rounds to add: in their order, or, of an adaptive run that goes on, at most, chosen by ``planner``."""

    specs: tuple[RoundSpec, ...]
    planner: Planner | None = None


class AddedRounds(SweepShape):
    """A sweep whose rounds are known beforehand. ``most``: the levels of the whole run, for which it was set up."""

    def __init__(self, specs: tuple[RoundSpec, ...], most: tuple[int, ...]) -> None:
        self._specs, self._most = specs, most

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        return self._most

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        return self._specs


def add_rounds(name: str, target: str | None, asked: Asked, delivery: Delivery, confirm: Confirm) -> int:
    """Measure, keep and show the whole run; returns the exit code.

    ``target``: by default as the run names it. Raises as ``measure_run.run``.
    """
    with open_store(delivery.store, create=False) as store:
        record = store.load(store.resolve(name))
        header = record.header
        check_more_possible(header)
        added = addition(record, asked)
        experiment = AddedRounds(added.specs, header.plan.levels)
        watcher = delivery.watcher(confirm)
        try:
            run(
                _request(header, target), choices_of(record, asked.host), store, watcher, forced=delivery.yes,
                planner=added.planner, experiment=experiment, earlier=EarlierRun(record),
            )  # fmt: skip
        finally:
            watcher.close()
        return delivery.present(store, header.run_id, lambda: store.rounds(header.run_id))


def check_more_possible(header: Header) -> None:
    """Raises UsageError where rounds cannot be added to the run; of one of several variants with what to do instead."""
    why, made = why_no_more(header), header.plan
    if not why:
        return
    instead = ""
    if made.experiment == SWEEP and len(made.variants) > 1 and header.driver.python:
        repeats = next((each for each in (plan.NORMAL, plan.COMPARE) if each > made.repeats), 2 * made.repeats)
        instead = f"; measure all again with more: `{measuring_command(header, repeats)}`"
    raise UsageError(f"no rounds can be added to run {header.run_id}: {why}{instead}")


def _request(header: Header, target: str | None) -> Request:
    """Under the name that the run has: what differs is found out by looking, not by the name."""
    return resolve(target or header.plan.target).named(header.plan.target)


def choices_of(record: RunRecord, host: str | None) -> Choices:
    """The options with which the run was measured. A witness is there, at the same rate, if it was in its rounds."""
    made, seen = record.header.plan, [each.witness for each in record.rounds if each.witness]
    return Choices(
        sessions="auto" if made.rounds is None else ranges(made.levels),
        workload=made.workload.name,
        size=made.workload.size,
        executions=made.executions,
        for_s=made.for_s,
        repeats=made.repeats,
        sampler=made.sampler,
        hz=made.hz,
        pace=seen[-1].hz if seen else 0.0 if record.rounds else None,
        vcpus=made.vcpus if made.vcpus_source == "--vcpus" else None,
        label=record.header.label,
        seed=made.seed,
        host=host,
    )


# --- which rounds


def addition(record: RunRecord, asked: Asked) -> Addition:
    """What to measure. Raises UsageError where nothing is left to do, or a level is new to the run."""
    if asked.rounds is None and asked.sessions is None:
        rest = rest_of_plan(record)
        if rest is not None:
            return rest
    wanted = _asked(record, asked.rounds, asked.sessions)
    done = [each.level for each in record.rounds]
    specs: list[RoundSpec] = []
    first = max((each.order for each in record.rounds), default=-1) + 1
    for level in _in_turn(wanted):
        repeat = done.count(level)
        anchor = level == 1 and repeat >= record.header.plan.repeats
        specs.append(RoundSpec(level, repeat, record.header.plan.variants[0], first + len(specs), anchor))
        done.append(level)
    return Addition(tuple(specs))


def rest_of_plan(record: RunRecord) -> Addition | None:
    """What the plan of an interrupted run still has; None of a complete one, or where nothing is left."""
    made, done = record.header.plan, record.rounds
    if record.header.status == "complete":
        return None
    specs = plan.rounds(made.levels, made.repeats, made.seed, made.variants)
    rest = specs[len(done) :]
    if made.rounds is not None:
        pairs = zip(done, specs, strict=False)
        followed = all((each.level, each.repeat) == (one.level, one.repeat) for each, one in pairs)
        return Addition(rest) if rest and followed else None
    if adaptive(record.header)(done) is None:
        return None

    def goes_on(header: Header) -> NextRound:
        following = adaptive(header)
        return lambda new: following((*done, *new))

    last = RoundSpec(1, made.repeats, made.variants[0], len(done), True)
    return Addition((*rest, last), goes_on)


def _asked(record: RunRecord, rounds: int | None, sessions: str | None) -> tuple[tuple[int, int], ...]:
    """(level, rounds), one session alone first."""
    found, run_id = explain(record), record.header.run_id
    more = found.more_rounds
    last = max((each.level for each in record.rounds), default=1)
    if sessions is None:
        losses = level_losses(found.first_levels, found.vcpus, found.levels_lost)
        open_ = sorted({*(each.level for each in open_levels(losses, found.levels_lost)), *found.levels_lost})
        if more is None and not open_ and not losses.alone_undecided:
            raise UsageError(
                f"nothing is inconclusive in run {run_id}; to measure levels more precisely name them: "
                f"--sessions {last} --rounds 6"
            )
        if more is None:
            raise UsageError(
                f"it is not known how many rounds would decide run {run_id}: `dbcpu show {run_id}` says what is "
                f"inconclusive; name the levels to measure again: --sessions {ranges(open_ or [last])} --rounds 6"
            )
        return more.added if rounds is None else tuple((level, rounds) for level, _ in more.added)
    levels = plan.parse_levels(sessions, record.header.plan.vcpus or 1)
    measured = {each.level for each in record.rounds}
    if other := [level for level in levels if level not in measured]:
        raise UsageError(
            f"run {run_id} has no level {ranges(other)}, only {ranges(sorted(measured))}; measure others by dbcpu run"
        )
    count = rounds or record.header.plan.repeats
    return tuple((level, count) for level in sorted({1, *levels}))


def _in_turn(wanted: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Every level once in turn, as long as it has rounds left."""
    for turn in range(max(count for _, count in wanted)):
        yield from (level for level, count in wanted if turn < count)
