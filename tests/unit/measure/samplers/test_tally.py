"""What is made of the lines of the kernel's trace, and of filters of its events."""

from typing import Any

import pytest

from dbcpu.measure.samplers import _tally
from dbcpu.measure.samplers._tally import MAX_FILTER, Tally, merged, switches_on, wakes_of


def switch(cpu: int, at_s: float, leaves: str, state: str, enters: str) -> str:
    """A line of the trace; processes are ``NAME-PID``."""
    (before, pid), (after, next_pid) = (each.rsplit("-", 1) for each in (leaves, enters))
    return (
        f"{before:>16}-{pid}  [{cpu:03}] d..2. {at_s:.6f}: sched_switch: prev_comm={before} prev_pid={pid} "
        f"prev_prio=120 prev_state={state} ==> next_comm={after} next_pid={next_pid} next_prio=120\n"
    )


def wake(at_s: float, process: str, cpu: int) -> str:
    name, pid = process.rsplit("-", 1)
    return f"  <idle>-0  [000] d.h4. {at_s:.6f}: sched_wakeup: comm={name} pid={pid} prio=120 target_cpu={cpu:03}\n"


def migrate(at_s: float, process: str, to: int) -> str:
    name, pid = process.rsplit("-", 1)
    return (
        f"  m-17  [000] d..3. {at_s:.6f}: sched_migrate_task: comm={name} pid={pid} prio=120 orig_cpu=0 dest_cpu={to}\n"
    )


def tally(*lines: str, until_s: float, **states: tuple[str, int]) -> dict[str, Any]:
    """``states``: of session 0 as ``s10``, of session 1 as ``s11``, from second 1 on."""
    watched = {int(name[1:]): int(name[1:]) - 10 for name in states}
    made = Tally(watched, 1.0, {int(name[1:]): state for name, state in states.items()})
    for line in "".join(lines).split("\n"):
        made.take(line)
    return made.sum_up(until_s, 0)


def rounded(rows: list[list[Any]]) -> list[list[Any]]:
    return [[round(value, 4) if isinstance(value, float) else value for value in row] for row in rows]


def test_two_that_take_turns_wait_for_each_other_and_for_a_third() -> None:
    told = tally(
        wake(1.1, "pg-10", 0),
        switch(0, 1.1, "swapper/0-0", "R", "pg-10"),
        wake(1.2, "pg-11", 0),
        switch(0, 1.3, "pg-10", "R+", "pg-11"),
        switch(0, 1.5, "pg-11", "R", "a b (c)-77"),
        switch(0, 1.6, "a b (c)-77", "S", "pg-10"),
        switch(0, 1.7, "pg-10", "S", "pg-11"),
        until_s=2.0,
        s10=("S", 0),
        s11=("S", 0),
    )
    one, other = told["sessions"]
    assert rounded(one["stretches"]) == [
        [0, "S", 1.0, 1.1, 0.0, 0.0], [0, "R", 1.1, 1.7, 0.3, 0.3], [0, "S", 1.7, 2.0, 0.0, 0.0],
    ]  # fmt: skip
    assert rounded(one["instead"]) == [[11, "pg", 0.2, 1], [77, "a b (c)", 0.1, None]]
    assert rounded(other["instead"]) == [[10, "pg", 0.2, 0], [77, "a b (c)", 0.1, None]]
    assert rounded(other["stretches"])[-1] == [0, "R", 1.2, 2.0, 0.5, 0.3]
    assert [round(value, 4) for value in other["woken"]] == [1, 0.1, 0.1, 0.1, 0.1]
    assert (told["events"], told["lost"], told["why"]) == (7, 0, "")


def test_a_move_while_waiting_is_counted_and_ends_the_stretch() -> None:
    told = tally(
        switch(0, 1.2, "pg-10", "R", "x-5"),
        migrate(1.3, "pg-10", 3),
        switch(3, 1.4, "y-6", "R", "pg-10"),
        until_s=1.5,
        s10=("R", 0),
    )
    session = told["sessions"][0]
    assert rounded(session["stretches"]) == [[0, "R", 1.0, 1.3, 0.2, 0.1], [3, "R", 1.3, 1.5, 0.1, 0.1]]
    assert session["migrations"] == 1
    assert rounded(session["instead"]) == [[5, "x", 0.1, None], [6, "y", 0.1, None]]


def test_runnable_at_the_start_it_waits_until_it_is_seen_to_run() -> None:
    told = tally(switch(0, 1.4, "x-5", "S", "pg-10"), until_s=2.0, s10=("R", 0))
    assert rounded(told["sessions"][0]["stretches"]) == [[0, "R", 1.0, 2.0, 0.6, 0.4]]


def test_a_switch_that_the_kernel_left_out_costs_no_more_than_the_time_since_the_one_before() -> None:
    told = tally(
        switch(0, 1.1, "pg-10", "R", "agent-75"),
        switch(0, 1.6, "pg-10", "S", "swapper/0-0"),
        until_s=2.0,
        s10=("R", 0),
    )
    assert rounded(told["sessions"][0]["stretches"])[0] == [0, "R", 1.0, 1.6, 0.6, 0.0]


def test_an_idle_cpu_is_nobody() -> None:
    told = tally(wake(1.2, "pg-10", 0), switch(0, 1.5, "swapper/0-0", "R", "pg-10"), until_s=2.0, s10=("S", 0))
    assert told["sessions"][0]["instead"] == []


@pytest.mark.parametrize(
    "line",
    [
        "CPU:1 [LOST 12 EVENTS]\n",
        switch(0, 1.1, "a-1", "S", "b-2").replace("==>", "=>"),
        wake(1.1, f"{'x' * 2000}-10", 0),
    ],
)
def test_what_cannot_be_read_is_lost(line: str) -> None:
    assert tally("# tracer: nop\n", "\n", line, until_s=2.0, s10=("S", 0))["lost"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "a\nb",
        "x ==> y:1 [0]\n|",
        "\n",
        "\n\n#\n",
        " next_prio=1\n2",
        "[0] d 1.1: sch\n",
        "\n[0] d 1.1: ",
        ":\nCPU:1 [LOST 1",
    ],
)
def test_a_name_with_line_breaks_hides_no_event(name: str) -> None:
    """Any user may give a process such a name, by prctl."""
    lines = [
        wake(1.1, "pg-10", 0),
        switch(0, 1.2, f"{name}-77", "R", "pg-10"),
        switch(0, 1.5, "pg-10", "R", f"{name}-77"),
        switch(0, 1.6, f"{name}-77", "S", "pg-10"),
        f"{name:>16}-77  [001] d.h4. 1.650000: sched_wakeup: comm={name} pid=77 prio=120 target_cpu=001\n",
        migrate(1.7, f"{name}-77", 1),
    ]
    told = tally(*lines, until_s=2.0, s10=("S", 0))
    assert (told["events"], told["lost"]) == (6, 0)
    (session,) = told["sessions"]
    assert rounded(session["instead"]) == [[77, name, 0.2, None]]
    assert rounded(session["stretches"])[-1] == [0, "R", 1.1, 2.0, 0.7, 0.2]


@pytest.mark.parametrize("cut_at", ["b prev_pid", " prev_state", " next_pid"])
def test_an_event_without_its_end_is_lost(cut_at: str) -> None:
    """And takes nothing of the one after it."""
    lines = [wake(1.1, "pg-10", 0), switch(0, 1.2, "a\nb-77", "S", "pg-10").partition(cut_at)[0] + "\n"]
    assert tally(*lines, until_s=2.0, s10=("S", 0))["lost"] == 1
    told = tally(*lines, switch(0, 1.5, "a\nb-77", "S", "pg-10"), until_s=2.0, s10=("S", 0))
    assert told["lost"] == 1
    assert rounded(told["sessions"][0]["stretches"])[-1] == [0, "R", 1.1, 2.0, 0.5, 0.4]


def test_those_that_ran_less_are_added_up() -> None:
    lines = [wake(1.0, "pg-10", 0)]
    for at in range(12):
        lines.append(switch(0, 1.1 + at / 100, f"p{at}-{100 + at}", "S", f"p{at + 1}-{101 + at}"))
    instead = tally(*lines, until_s=2.0, s10=("S", 0))["sessions"][0]["instead"]
    assert [row[:2] for row in instead if row[0] == 0] == [[0, "other processes"]]
    assert len(instead) == _tally.MAX_NAMED + 1
    assert sum(row[2] for row in instead) == pytest.approx(1.0)


def test_a_short_sleep_makes_no_stretch_and_no_cpu_time() -> None:
    parts = [(0, "run", 1.0, 1.2), (0, "S", 1.2, 1.201), (0, "run", 1.201, 1.3), (0, "S", 1.3, 1.5)]
    assert rounded(merged(parts)) == [[0, "R", 1.0, 1.3, 0.299, 0.0], [0, "S", 1.3, 1.5, 0.0, 0.0]]


# --- filters


@pytest.mark.parametrize(
    ("cpus", "online", "filter_"),
    [
        ((0, 1, 2, 3, 8), 16, "(CPU>=0 && CPU<=3) || (CPU>=8 && CPU<=8)"),
        ((5, 5), 2, "(CPU>=5 && CPU<=5)"),
        ((0, 1), 2, "0"),
        ((), 2, "0"),
        (range(0, 1000, 2), 1024, "0"),
    ],
)
def test_switches_are_traced_where_sessions_may_run(cpus: tuple[int, ...], online: int, filter_: str) -> None:
    assert switches_on(cpus, online) == filter_


def test_wake_ups_of_more_processes_than_a_filter_holds_are_all_traced() -> None:
    assert wakes_of([12, 3]) == "pid==3 || pid==12"
    assert wakes_of([]) == wakes_of(range(MAX_FILTER)) == "0"
