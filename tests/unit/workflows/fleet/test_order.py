"""Whatever targets, groups, limits and results: the order keeps its limits, and every target has its turn."""

import random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dbcpu.store.campaigns import DONE, PLANNED, REFUSED, RUNNING, STATES
from dbcpu.workflows.fleet.order import Queued, StartLimits, Step, lasts_s, min_duration_s, next_step

groups = st.sampled_from(["", "rack-1", "rack-2", "licences"])


@st.composite
def fleets(draw: st.DrawFn, states: st.SearchStrategy[str]) -> list[Queued]:
    many = draw(st.integers(1, 40))
    made = [
        Queued(f"db-{at}", draw(groups), draw(states), draw(st.floats(0, 600)))
        for at in range(many)
    ]  # fmt: skip
    seen: set[str] = set()
    for at, each in enumerate(made):  # what runs was started by these rules
        if each.state == RUNNING and each.group and each.group in seen:
            made[at] = replace(each, state=DONE)
        seen |= {each.group} if each.state == RUNNING else set()
    return made


@given(fleets(st.sampled_from(STATES)), st.integers(1, 30), st.floats(0, 1))
def test_no_step_breaks_a_limit(targets: list[Queued], at_once: int, failures: float) -> None:
    step = next_step(targets, StartLimits(at_once, failures))
    by_name = {each.name: each for each in targets}
    running = [each for each in targets if each.state == RUNNING]
    assert len(set(step.start)) == len(step.start)
    assert all(by_name[name].state == PLANNED for name in step.start)
    if step.start:
        assert len(running) + len(step.start) <= at_once
        assert not step.stop
    shared = [each.group for each in (*running, *(by_name[name] for name in step.start)) if each.group]
    assert len(set(shared)) == len(shared)


def test_what_failed_before_is_tried_again_after_those_never_tried() -> None:
    refused, new = Queued("refused", "rack-1", again=True), Queued("new")
    assert next_step((refused, new), StartLimits(1)) == Step(("new",))
    assert next_step((refused, replace(new, state=DONE)), StartLimits(1)) == Step(("refused",))


@given(fleets(st.just(PLANNED)), st.integers(1, 20), st.integers(0, 2**32))
def test_every_target_gets_its_turn_once_whatever_ends_first(targets: list[Queued], at_once: int, seed: int) -> None:
    chance = random.Random(seed)
    started: list[str] = []
    at = {each.name: number for number, each in enumerate(targets)}
    while True:
        step = next_step(targets, StartLimits(at_once))
        started += step.start
        for name in step.start:
            targets[at[name]] = replace(targets[at[name]], state=RUNNING)
        running = [each.name for each in targets if each.state == RUNNING]
        if not running:
            break
        assert len(running) <= at_once
        ended = chance.choice(running)
        targets[at[ended]] = replace(targets[at[ended]], state=chance.choice([DONE, REFUSED]))
    assert sorted(started) == sorted(at)


@given(st.integers(2, 200), st.integers(1, 64))
def test_one_host_comes_first_and_then_at_most_twice_as_many(many: int, at_once: int) -> None:
    targets, widths = [Queued(f"db-{at}") for at in range(many)], []
    while start := next_step(targets, StartLimits(at_once)).start:
        widths.append(len(start))
        targets = [replace(each, state=DONE) if each.name in start else each for each in targets]
    full = [min(2**wave, at_once) for wave in range(len(widths))]
    assert widths[:-1] == full[:-1]
    assert 1 <= widths[-1] <= full[-1]


@given(st.integers(1, 100), st.integers(0, 100), st.floats(0, 1))
def test_it_stops_above_the_failures_that_are_accepted_and_not_before(many: int, failed: int, share: float) -> None:
    failed = min(failed, many)
    targets = [Queued(f"bad-{at}", state=REFUSED) for at in range(failed)]
    targets += [Queued(f"db-{at}") for at in range(many - failed)]
    step = next_step(targets, StartLimits(1, share))
    allowed = 0 if share == 0 else max(1, int(share * many))
    if failed == many:
        assert step == Step()
    else:
        assert bool(step.stop) == (failed > allowed)
        assert bool(step.start) != bool(step.stop)
    assert not next_step(targets, StartLimits(1, share, forgiven=failed)).stop


@given(fleets(st.just(PLANNED)), st.floats(0, 600))
def test_nothing_starts_when_the_longest_measurement_left_does_not_fit_the_window(
    targets: list[Queued], left_s: float
) -> None:
    step = next_step(targets, StartLimits(4, left_s=left_s))
    assert bool(step.start) == (max(each.lasts_s for each in targets) <= left_s)


def test_the_largest_group_comes_first() -> None:
    targets = [
        Queued("alone"),
        Queued("a-1", "a"),
        Queued("b-1", "b"),
        Queued("b-2", "b"),
        Queued("done", state=DONE),
    ]
    assert next_step(targets, StartLimits(2)).start == ("b-1", "a-1")


def test_the_time_of_all_is_that_of_the_order_with_its_turns() -> None:
    alone, pair = Queued("a", lasts_s=60.0), [Queued(f"p-{at}", "rack", lasts_s=100.0) for at in range(2)]
    assert lasts_s([alone, *pair], StartLimits(8)) == 200.0  # the group first, alone; the third beside its second
    assert lasts_s([replace(each, group="") for each in (alone, *pair)], StartLimits(8)) == 160.0  # one first, then two
    assert lasts_s([alone, *pair], StartLimits(1)) == 260.0


@given(fleets(st.just(PLANNED)), st.integers(1, 20))
def test_no_order_is_shorter_than_its_longest_turns_or_longer_than_one_by_one(targets: list[Queued], most: int) -> None:
    found, one_by_one = lasts_s(targets, StartLimits(most)), sum(each.lasts_s for each in targets)
    groups_s = [sum(each.lasts_s for each in targets if each.group == group) for group in ("rack-1", "rack-2")]
    assert max([*groups_s, *(each.lasts_s for each in targets)]) <= found * (1 + 1e-9)
    assert one_by_one / most <= min_duration_s(targets, most) * (1 + 1e-9)
    shortest_s = min_duration_s(targets, most)
    assert max(groups_s) <= shortest_s * (1 + 1e-9)
    assert shortest_s <= found * (1 + 1e-9)
    assert found <= one_by_one * (1 + 1e-9)
