"""Each finding appears when its reason is there, and a clean run has none."""

import inspect
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions import (
    answer_findings,
    database_findings,
    host_findings,
    measurement_findings,
    session_findings,
)
from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.conclusions.measurement_findings import incomplete_finding
from dbcpu.analysis.conclusions.remedy_commands import with_own_options
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.rounds_needed import why_no_more
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.config.origins import NOTES, THERE
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import ENTRIES, Finding, noted
from dbcpu.record.rounds import UNLISTED, CgroupUse, CpuPressure, Execution, Foreign, KitCost, Round, RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos, unsampled, workload


def pair(**options: object) -> Round:
    return round_of([session(0), session(1)], **options)  # type: ignore[arg-type]


def found(run: RunRecord) -> dict[str, Finding]:
    return {each.code: each for each in explain(run).findings}


def codes(rounds: Sequence[Round], **options: object) -> set[str]:
    return set(found(record([*solos(), *rounds], **options)))  # type: ignore[arg-type]


def test_a_clean_run_has_no_findings() -> None:
    assert codes([pair(repeat=at) for at in range(5)]) == set()


def test_one_round_of_a_level_is_no_answer() -> None:
    assert codes([pair()]) == {"inconclusive"}


def test_wrong_answers_and_failed_sessions() -> None:
    wrong = round_of([session(0), session(1, answer_ok=False)])
    failed = round_of([session(0), session(1, answer_ok=None, error="terminated")], repeat=1)
    seen = found(record([*solos(), wrong, failed]))
    assert seen["wrong-answer"].level is Level.PROBLEM
    assert "terminated" in seen["failed-session"].seen
    assert seen["failed-session"].level is Level.PROBLEM, "no round of the level is whole"
    beside = found(record([*solos(), pair(), failed]))
    assert beside["failed-session"].level is Level.WARNING


def test_a_failed_round_is_told_once_not_per_session() -> None:
    assert codes([round_of([session(0), session(1)], error="17 of 32 connected")]) == {"failed-round"}


def test_incomplete_runs_say_how_far_they_came() -> None:
    seen = found(record([*solos(), pair()], status="interrupted", planned=15))
    assert seen["incomplete-run"].seen == "the run is interrupted with 4 of 15 rounds"
    assert "`dbcpu more " in seen["incomplete-run"].remedy
    assert "incomplete-run" not in codes([pair()], status="complete")


@pytest.mark.parametrize(
    ("experiment", "variants", "again"),
    [
        ("soak", ("baseline",), "dbcpu soak --sessions 2 --for 60s --size medium"),
        ("pool", ("baseline",), "dbcpu pool --work 20 --active 1-2 --size medium --repeats 6"),
        ("together", ("a", "b", "together"), "dbcpu run A B --together"),
        ("sweep", ("aa1", "aa2"), "dbcpu run --aa --size medium --repeats 6"),
        ("sweep", ("baseline", "cpus:0-1,3"), "dbcpu vary --variants baseline,cpus:0-1,3 --sessions 1-2 --size medium"),
        ("sweep", ("baseline", "odd `name`"), "dbcpu vary"),
    ],
)
def test_what_cannot_be_continued_is_measured_again_by_its_own_command(
    experiment: str, variants: tuple[str, ...], again: str
) -> None:
    made = record([*solos(), pair()], status="interrupted", planned=15)
    plan = replace(made.header.plan, experiment=experiment, variants=variants)
    plan = replace(plan, for_s=60.0 if experiment == "soak" else None, pieces=20 if experiment == "pool" else None)
    header = replace(made.header, plan=plan, driver=replace(made.header.driver, python="3.11.2"))
    seen = incomplete_finding(header, 4)
    assert seen is not None
    assert seen.remedy.startswith("no rounds can be added to it (")
    assert seen.remedy.endswith(f"); measure again: `{again}`")
    assert "dbcpu more" not in seen.remedy


def test_a_simulated_run_gets_no_rounds_and_the_command_that_makes_another() -> None:
    header = simulate(SimulatedHost(cores=2, threads=1), (1, 2), 1, seed=1).header
    assert why_no_more(header) == "it is simulated; `dbcpu simulate` with larger `--repeats` makes another"


@pytest.mark.parametrize("status", ["interrupted", "complete"])
def test_no_rounds_are_advised_for_a_run_that_the_dbcpu_of_another_host_measured(status: str) -> None:
    """Nothing of it is kept there, and here it is not continued."""
    made = record([*solos(), pair()], status=status, planned=4 if status == "complete" else 15)
    driver = replace(made.header.driver, python="3.11.2")
    header = replace(made.header, driver=driver, notes=(f"{NOTES[THERE]}dbcpu on db1 drove it, through ssh:db1",))
    seen = found(RunRecord(header, made.rounds))
    assert why_no_more(header).startswith("the dbcpu of another host measured it")
    assert not any("dbcpu more" in each.remedy for each in seen.values())
    assert ("incomplete-run" in seen) is (status == "interrupted")


def test_a_run_that_may_still_be_measured_is_waited_for() -> None:
    made = record([*solos(), pair()], status="running", planned=15)
    assert (
        found(made)["incomplete-run"].remedy
        == "wait until it has ended; if it was killed, measure again: `dbcpu run --size medium`"
    )


def test_not_sampled_says_why() -> None:
    blind = round_of([unsampled(session(0)), unsampled(session(1))], not_sampled="the database is in a container")
    assert "in a container" in found(record([*solos(), blind]))["not-sampled"].seen


def test_moves_that_no_poll_saw() -> None:
    moved = replace(session(0), migrations=5, migrations_seen=3)
    assert "2 of 5 migrations" in found(record([*solos(), round_of([moved, session(1)])]))["moves-unseen"].seen


def test_short_rounds_are_polled_too_rarely() -> None:
    assert "few-polls" in codes([pair(cost=KitCost(0.2, 0.0, 0.0, polls=4, hz=20.0))])


def test_polls_that_were_asked_for_and_never_made_do_not_count() -> None:
    assert "few-polls" not in codes([pair(cost=KitCost(2.0, 0.0, 0.0, polls=41, hz=20.0))])
    assert "few-polls" in codes([pair(cost=KitCost(2.0, 0.0, 0.0, polls=7, hz=20.0))])


def test_skew_counts_against_the_length_of_the_round() -> None:
    assert "gate-skew" in codes([pair(skew_s=0.05)])
    assert "gate-skew" not in codes([pair(skew_s=0.01)])


def test_the_driver_counts_only_on_the_measured_host() -> None:
    busy = pair(cost=KitCost(1.8, 0.2, 0.02, polls=36, hz=20.0))
    assert "driver-on-host" in codes([busy])
    assert "driver-on-host" not in codes([busy], driver_on_host=False)


def test_anchors_that_drift_beyond_the_tolerance() -> None:
    late = round_of([session(0, SOLO_S * 1.2)], anchor=True)
    assert codes([pair(), late]) >= {"solo-drift"}


def test_a_noisy_reference_says_what_it_hides() -> None:
    rounds = [round_of([session(0, value)]) for value in (1.7, 1.8, 1.9, 1.6, 1.8)]
    assert "noisy-reference" in found(record(rounds))


def test_an_unsteady_cpu_is_told_from_sessions_that_waited() -> None:
    elapsed_s = (1.7, 1.8, 2.1, 1.5, 1.8)
    needed = found(record([round_of([session(0, value)]) for value in elapsed_s]))
    waited = found(record([round_of([session(0, 1.4, gap_s=value - 1.4)]) for value in elapsed_s]))
    assert needed["unsteady-cpu"].seen.startswith("the CPU time for the same work varies by 8.2 % between")
    assert "noisy-reference" in waited
    assert "unsteady-cpu" not in waited
    assert "unsteady-cpu" not in found(record([*solos(), pair()]))


def test_an_unsteady_cpu_shows_in_rounds_that_share_nothing_too() -> None:
    """A few solo sessions may agree by luck."""
    side_by_side = [
        round_of([session(0, first), session(1, second)], order=order)
        for order, (first, second) in enumerate(((1.5, 2.1), (2.2, 1.6), (1.7, 1.3), (1.9, 2.5), (1.4, 1.9)), 3)
    ]
    alone = [round_of([session(0, value)], order=order) for order, value in enumerate((1.73, 1.75, 1.80))]
    assert "unsteady-cpu" in found(record([*alone, *side_by_side]))
    waiting = [
        round_of([session(0, 1.5, gap_s=gap_s), session(1, 1.5)], order=order)
        for order, gap_s in enumerate((0.2, 0.9, 0.4, 0.6, 0.1), 3)
    ]
    assert "unsteady-cpu" not in found(record([*alone, *waiting]))


def test_processes_that_ended_before_their_round_are_foreign_load_too() -> None:
    """Each compiles one file: no list at the end of the round has them, and the CPUs were busy."""
    sessions = [session(0), session(1)]
    quiet = round_of(sessions, order=10, busy_s={0: SOLO_S, 1: SOLO_S})
    assert "foreign-load" not in codes([quiet])
    loaded = round_of(sessions, order=10, busy_s={0: 1.3 * SOLO_S, 1: 1.1 * SOLO_S})
    loaded = replace(loaded, timeline_s=(0.0, 2 * SOLO_S))
    seen = found(record([*solos(), loaded]))["foreign-load"].seen
    assert "up to 9.9 % of all vCPUs (in 1 of 4 rounds), most of it by processes that no list names: " in seen


def test_interrupts_and_dbcpu_itself_are_no_foreign_load() -> None:
    sessions = [session(0), session(1)]
    loaded = round_of(sessions, order=10, busy_s={0: 1.3 * SOLO_S, 1: 1.3 * SOLO_S})
    of_dbcpu = KitCost(SOLO_S, 0.2 * SOLO_S, 0.2 * SOLO_S, witness_cpu_s=0.2 * SOLO_S)
    by_irq = [replace(each, irq_s=(0.1 * SOLO_S,), softirq_s=(0.2 * SOLO_S,)) for each in loaded.cpu_timeline]
    assert "foreign-load" in codes([loaded])
    assert "foreign-load" not in codes([replace(loaded, cost=of_dbcpu)])
    assert "foreign-load" not in codes([replace(loaded, cpu_timeline=tuple(by_irq))])


def test_load_on_cpus_that_sessions_may_not_use_is_found_only_in_the_list() -> None:
    """What CPUs were busy counts where sessions may run: a neighbour beside a cpuset is no short-lived process."""
    beside = round_of([session(0), session(1)], order=10, busy_s={0: SOLO_S, 1: SOLO_S, 2: SOLO_S, 3: SOLO_S})
    assert "foreign-load" not in codes([beside])
    unknown = [replace(each, allowed_cpus=()) for each in beside.sessions]
    assert "foreign-load" in codes([replace(beside, sessions=tuple(unknown))])


def test_foreign_load_names_the_process() -> None:
    seen = found(record([*solos(), pair(foreign=(Foreign(7, "gzip\x1b[31m", 0.9, (0,)),))]))
    assert "gzip [31m (pid 7" in seen["foreign-load"].seen
    assert "foreign-load" not in codes([pair(foreign=(Foreign(7, "cron", 0.1, (0,)),))])


@pytest.mark.parametrize(
    ("foreign", "said"),
    [
        (
            (("python", 1, 0.41), ("sh", 2, 0.40), ("sh", 3, 0.40)),
            "most of it sh (2 processes: 800 ms at N=2), then python (pid 1: 410 ms)",
        ),
        (
            (("python", 1, 0.4), ("sh", 2, 0.3), ("gzip", 3, 0.3)),
            "the largest part of it python (pid 1: 400 ms at N=2), then sh (pid 2: 300 ms) and gzip (pid 3: 300 ms)",
        ),
        (
            (("python", 1, 1.2), ("sh", 2, 0.41), ("gzip", 3, 0.39)),
            "most of it python (pid 1: 1.20 s at N=2), then sh (pid 2: 410 ms)",
        ),
        (
            (("python", 1, 0.4), ("other processes", UNLISTED, 0.3)),
            "most of it python (pid 1: 400 ms at N=2)",
        ),
    ],
)
def test_who_used_most_of_it_is_who_used_more_than_half(foreign: Sequence[tuple[str, int, float]], said: str) -> None:
    busy = tuple(Foreign(pid, command, cpu_s, (0,)) for command, pid, cpu_s in foreign)
    assert found(record([*solos(), pair(foreign=busy)]))["foreign-load"].seen.endswith(said)


def test_who_used_most_is_added_up_over_the_rounds_with_such_load() -> None:
    rounds = [
        pair(foreign=(Foreign(1, "python", 0.5, (0,)), Foreign(2, "sh", 0.4, (0,)))),
        pair(foreign=(Foreign(2, "sh", 0.6, (0,)),)),
    ]
    assert "most of it sh (pid 2: 1.00 s in these rounds)" in found(record([*solos(), *rounds]))["foreign-load"].seen


def test_others_use_no_more_than_all_cpus_they_ran_on_where_sessions_are_held_on_one() -> None:
    """Both CPUs busy beside sessions that may use CPU 0 alone were 200 % of all vCPUs."""
    busy = (Foreign(7, "gzip", 1.8, (0,)), Foreign(8, "xz", 1.8, (1,)))
    seen = found(record([*solos(), round_of([session(0)], order=20, foreign=busy)], vcpus=1))
    assert "up to 100 % of all vCPUs" in seen["foreign-load"].seen


def test_interrupts_are_those_of_the_cpu_that_has_most() -> None:
    quiet, loaded = (pair(busy_s={0: 1.8, 1: 1.8}) for _ in range(2))
    first, *others = loaded.cpu_timeline
    taken = tuple(0.2 * (end - begin) for begin, end in pairwise(loaded.timeline_s))
    loaded = replace(loaded, cpu_timeline=(replace(first, softirq_s=taken), *others))
    assert "interrupts" not in codes([quiet])
    said = found(record([*solos(), loaded]))["interrupts"].seen
    assert said.startswith("interrupts took up to 20 % of CPU 0 (N=2), in 1 of 4 rounds")


@pytest.mark.parametrize(("lasted_s", "told"), [(0.04, False), (0.2, True)])
def test_a_tick_of_interrupts_in_a_short_round_is_chance(lasted_s: float, told: bool) -> None:
    """They are counted in ticks of 10 ms: one was said to take 26 % of a CPU, and of a single session."""

    def alone(order: int) -> Round:
        made = round_of([session(0, run_s=lasted_s)], order=order, repeat=order, busy_s={0: lasted_s, 1: 0.0})
        first, *others = made.cpu_timeline
        return replace(made, cpu_timeline=(replace(first, irq_s=(0.25 * lasted_s,)), *others))

    run = record([alone(order) for order in range(4)])
    (level,) = explain(run).levels
    assert ("interrupts" in found(run)) == told
    assert (level.counted_cause == Cause.IRQ) == told
    assert (level.full_speed is Answer.NO) == told


def test_steal_and_throttling() -> None:
    stolen = pair(busy_s={0: 1.8, 1: 1.8}, steal_s={0: 0.1})
    assert "steal" in codes([stolen])
    assert "throttled" in codes([pair(cgroups=(CgroupUse("/pod", 1.5, 20, 9, 0.4, (0, 1)),))])


def test_a_quota_that_is_not_seen_shows_as_work_without_a_cpu() -> None:
    stalled = CpuPressure("/pod", 2.0, 1.5, 0.8, (0, 1))
    sampled = replace(pair(busy_s={0: 0.9, 1: 0.9}), pressure=(stalled,))
    seen = found(record([*solos(), sampled]))
    assert seen["hidden-quota"].seen.startswith("the control group /pod had work and no CPU for 40 % of the time (N=2)")
    explained: tuple[dict[str, Any], ...] = (
        {"cgroups": (CgroupUse("/pod", 1.5, 20, 9, 0.4, (0, 1)),)},
        {"foreign": (Foreign(7, "gzip", 0.9, (0,)),)},
        {"pressure": (replace(stalled, full_s=0.01),)},
        {"pressure": (replace(stalled, full_s=None),)},
        {"pressure": (replace(stalled, sessions=(0,)),)},
        {"pressure": (replace(stalled, path=""),)},
    )
    for change in explained:
        assert "hidden-quota" not in codes([replace(sampled, **change)])
    assert "hidden-quota" not in codes([replace(sampled, cpu_timeline=())]), "nothing is known of other processes"


def test_settling_repeats_and_client_clocks() -> None:
    assert "not-settled" in codes([pair(settled=False)])
    assert "quick-run" in codes([pair()], repeats=3)
    bare = round_of([session(0, server_stamps=False), session(1, server_stamps=False)])
    assert "client-clock" in codes([bare])


def test_the_fewest_repeats_of_a_level_are_told_not_those_of_each() -> None:
    """An adaptive run has as many rounds of a level as it needed: three single sessions, seven pairs."""
    pairs = [pair(repeat=at) for at in range(7)]
    assert found(record([*solos(), *pairs], repeats=3))["quick-run"].seen == "N=1 has 3 repeats, the fewest"
    assert found(record([*solos(), *pairs[:3]], repeats=3))["quick-run"].seen == "3 repeats of each level"
    assert "quick-run" not in found(record([], repeats=1))


@pytest.mark.parametrize(
    ("experiment", "remedy", "few"),
    [
        ("sweep", "`--repeats 6`, or `--repeats 10` to compare hosts", "more `--executions`, or a longer `--size`"),
        ("pool", "`--repeats 6`, or `--repeats 10` to compare hosts", "more `--work`, or a longer `--size`"),
        ("soak", "a longer `--for`", "a longer `--for`"),
    ],
)
def test_a_remedy_has_options_that_the_command_of_this_run_has(experiment: str, remedy: str, few: str) -> None:
    made = record([*solos(), pair()])
    header = replace(made.header, plan=replace(made.header.plan, experiment=experiment))
    assert with_own_options(noted("quick-run", "seen").remedy, header) == remedy
    assert with_own_options(noted("few-polls", "seen").remedy, header) == f"make rounds longer: {few}"
    typed = [with_own_options(each.remedy, header) for each in ENTRIES.values()]
    assert any("--executions" in each for each in typed) is (experiment == "sweep")


def test_parallel_plans_and_spills_are_problems() -> None:
    spilled = round_of([replace(session(0), db={"temp_bytes": 7.3e6}), session(1)])
    seen = found(record([*solos(), spilled], work=workload(plan_shape="Finalize Aggregate, Gather")))
    assert {seen["parallel-plan"].level, seen["temp-spill"].level} == {Level.PROBLEM}


def test_uneven_sessions_are_a_warning_with_the_levels() -> None:
    uneven = round_of([session(0, 1.8), session(1, 1.8, 1.8, cpu=0), session(2, 1.8, 1.8, cpu=0)])
    seen = found(record([*solos(), pair(), uneven]))["uneven-sessions"]
    assert seen.level is Level.WARNING
    assert "N=3" in seen.seen
    assert "2 of 3" in seen.seen


def test_equally_slow_sessions_are_seen_only_through_the_reference() -> None:
    slow = round_of([session(i, SOLO_S * 1.5, cpu=i) for i in range(4)])
    seen = found(record([*solos(), slow], host(cores=8), vcpus=8))
    assert "1.50x" in seen["slow-together"].seen
    assert "uneven-sessions" not in seen
    assert "hypervisor" not in seen["slow-together"].meaning
    guest = replace(host(cores=8), hypervisor="kvm")
    assert "SMT hidden by the hypervisor" in found(record([*solos(), slow], guest, vcpus=8))["slow-together"].meaning


def test_the_gravest_comes_first() -> None:
    run = record([*solos(), pair(settled=False), round_of([session(0), session(1, answer_ok=False)])], repeats=3)
    levels = [each.level for each in explain(run).findings]
    assert levels == sorted(levels, reverse=True)


@pytest.mark.parametrize("rounds", [[], [round_of([], level=4, error="nothing connected")]])
def test_a_run_of_nothing_can_be_explained(rounds: list[Round]) -> None:
    analysis = explain(record(rounds, status="failed"))
    assert (analysis.levels, analysis.sessions, analysis.telling_order) == ((), (), None)
    assert analysis.verdict.startswith("Nothing was measured")


def stamped(times_s: Sequence[float]) -> Round:
    """One session whose executions took these times by the database's clock."""
    executions = tuple(Execution(sum(times_s[:at]), each, sum(times_s[:at]), each) for at, each in enumerate(times_s))
    return round_of([replace(session(0), executions=executions)])


@pytest.mark.parametrize(
    ("times_s", "step"),
    [
        ([0.010 + 0.001 * at for at in range(9)], "1.0 ms"),
        ([0.046875 + 0.015625 * at for at in range(9)], "16 ms"),
        ([0.0102 + 0.0011 * at for at in range(9)], None),
        ([0.010 + 0.001 * at for at in range(4)], None),
        ([0.5 + 0.001 * at for at in range(9)], None),
    ],
)
def test_a_clock_of_whole_milliseconds_is_told_where_executions_are_short(
    times_s: list[float], step: str | None
) -> None:
    seen = found(record([*solos(run_s=1.875), stamped(times_s)])).get("coarse-clock")
    assert (seen is not None and f"multiples of {step}" in seen.seen) == (step is not None)


def clocked(*of: tuple[float, float]) -> Round:
    """Two sessions, of which the second has (server's start, server's time) as its stamps of executions of a second."""
    executions = tuple(Execution(at, 1.0, start_s, took_s) for at, (start_s, took_s) in enumerate(of))
    return round_of([session(0), replace(session(1), executions=executions)], repeat=3)


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (((0.0, 1.0), (1.0, -1.17)), "set back"),
        (((0.0, 1.0), (1.0, 2.1)), "set forward while it ran: 3.10 s by it, 2.00 s by the driver's"),
        (((0.0, 1.0), (1.0, 1.03)), ""),
        (((0.0, 0.4), (1.0, 0.4)), ""),
    ],
    ids=["back", "forward", "slewed", "late driver"],
)
def test_a_servers_clock_that_was_set_makes_no_times(of: Sequence[tuple[float, float]], why: str) -> None:
    seen = found(record([*solos(), pair(), clocked(*of)]))
    assert (why in seen["failed-session"].seen) if why else ("failed-session" not in seen)


@pytest.mark.parametrize(
    "module", [measurement_findings, database_findings, host_findings, answer_findings, session_findings]
)
def test_every_finder_that_is_written_is_run(module: ModuleType) -> None:
    """One that nobody calls finds nothing, and no other test would miss it."""
    written = {
        each
        for name, each in vars(module).items()
        if not name.startswith("_") and inspect.isfunction(each) and each.__module__ == module.__name__
        and each.__annotations__ == {"given": FindingInput, "return": Finding | None}
    }  # fmt: skip
    assert written, "finders take a FindingInput and give a Finding or None"
    assert written - {*module.FINDERS} == set(), f"add these to FINDERS at the end of {module.__name__}"
