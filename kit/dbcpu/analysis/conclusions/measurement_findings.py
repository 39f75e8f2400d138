"""Was the work done, is the run whole, and was the sampling good enough?"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import replace

from dbcpu.analysis.causes.attribution import not_sampled
from dbcpu.analysis.conclusions.finding_input import FindingInput, level_words
from dbcpu.analysis.conclusions.host_findings import main_disturbance
from dbcpu.analysis.conclusions.remedy_commands import adding_rounds, measuring_command
from dbcpu.analysis.conclusions.session_findings import FULL_SPEED_CORES
from dbcpu.analysis.host_usage.host_counters import covers_all
from dbcpu.analysis.levels.noise import cpu_noise, within_rounds
from dbcpu.analysis.levels.rounds_needed import why_no_more
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE, solo_sessions
from dbcpu.analysis.levels.unfinished_run import is_unfinished, rounds_words
from dbcpu.analysis.placement.residency import poll_hz
from dbcpu.analysis.placement.usable_cpus import core_by_cpu
from dbcpu.analysis.results.run import SPREADS, Analysis, LevelView
from dbcpu.analysis.scaling.topology_check import has_two_kinds
from dbcpu.analysis.sessions.valid_sessions import clock_basis, has_failed, spoils_round
from dbcpu.formatting import listed, percent, plain, plural, seconds, short_ranges, times
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import BASELINE, IMPORTED, SOAK, Header
from dbcpu.record.plan import NORMAL
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.record.run_findings import SHORTER_ROUNDS
from dbcpu.record.service_remedies import not_visible, without_host

SKEW_SHARE = 0.01
FEW_POLLS = 10
FEWEST_SOLOS = 3
SQLPLUS = "sqlplus"
FANOUT_GRANTS = (
    "the plan and DB CPU with `grant select on sys.v_$sql_plan to USER`, the same on `sys.v_$session` and "
    "`sys.v_$sess_time_model`; the rest by `dbcpu run`, which reads the session's own counters"
)
MIN_CPU_PART = 0.5
"""Of the noise of the reference: so much must be CPU time for the CPU to be called unsteady."""
CLOCK_STEPS_S = (0.015625, 0.01, 0.001)
"""Of system clocks, the coarsest first: Windows at its usual 64 ticks per second, hundredths, milliseconds."""
CLOCK_DIGIT_S = 1.5e-6
FINE_ENOUGH = 100
"""Executions of so many steps are timed to a per cent."""
FEW_TIMES = 8
IN_COURSE = "executions that ended before count in the course of the soak, and in no slowdown"
BESIDE_OTHERS = (
    "other processes ran meanwhile: a session is slower while one of them runs on another thread of its core, shown or "
    "not; or the clock frequency may change"
)


def wrong_answers(given: FindingInput) -> Finding | None:
    if False not in map(attrgetter("session.answer_ok"), given.sessions):
        return None
    wrong = [each for each in given.sessions if each.session.answer_ok is False]
    if not wrong:
        return None
    return noted(
        "wrong-answer",
        f"{plural(len(wrong), 'session')} gave a wrong answer at {level_words(each.round for each in wrong)}",
    )


def work_not_done(given: FindingInput) -> Finding | None:
    idle = [each for each in given.sessions if each.undone]
    if not idle:
        return None
    reasons = dict.fromkeys(plain(each.why) for each in idle)
    many = f"{len(idle)} of {plural(len(given.sessions), 'session')} at {level_words(each.round for each in idle)}"
    return noted("work-not-done", f"{many}: {next(iter(reasons))}")


def failed_sessions(given: FindingInput) -> Finding | None:
    failed = [each for each in given.sessions if has_failed(each.why, each.session) and not each.undone]
    failed = [each for each in failed if not each.round.error]
    if not failed:
        return None
    reasons = dict.fromkeys(plain(each.why) for each in failed)
    lost = {each.round.order for each in given.sessions if spoils_round(each.why)}
    whole = {(each.level, each.variant) for each in given.rounds if each.order not in lost and not each.error}
    invalid = any((each.round.level, each.round.variant) not in whole for each in failed)
    where, why = level_words(e.round for e in failed), "; ".join(list(reasons)[:3])
    return noted(
        "failed-session",
        f"{plural(len(failed), 'session')} failed at {where}: {why}",
        level=Level.PROBLEM if invalid else Level.WARNING,
    )


def failed_rounds(given: FindingInput) -> Finding | None:
    failed = [each for each in given.rounds if each.error]
    if not failed:
        return None
    seen = f"{plural(len(failed), 'round')} failed at {level_words(failed)}: {plain(failed[0].error or '')}"
    found = noted("failed-round", seen)
    return replace(found, meaning=IN_COURSE) if given.record.header.plan.experiment == SOAK else found


def incomplete_run(given: FindingInput) -> Finding | None:
    return incomplete_finding(given.record.header, len(given.rounds))


def incomplete_finding(header: Header, done: int) -> Finding | None:
    """The finding of a run that is not whole: ``done`` are all of its rounds, ``header`` is that of all variants."""
    if not is_unfinished(header, done) or (header.status == "running" and header.plan.rounds is None):
        return None
    level = Level.PROBLEM if header.status == "failed" else Level.WARNING
    is_part = len(header.plan.variants) == 1 and header.plan.variants != (BASELINE,)
    words = f"{plural(done, 'round')} of this part" if is_part else rounds_words(header, done)
    found = noted("incomplete-run", f"the run is {header.status} with {words}", level=level)
    why = why_no_more(header) or ("it is a part of a run" if is_part else "")
    again = f"measure again: `{measuring_command(header)}`"
    if not header.driver.python:
        return found
    if header.status == "running":
        return replace(found, remedy=f"wait until it has ended; if it was killed, {again}")
    if why:
        return replace(found, remedy=f"no rounds can be added to it ({why}); {again}")
    return replace(found, remedy=f"go on with it {adding_rounds(header)}, or {again}")


def of_whole_run(analysis: Analysis, header: Header, done: int) -> Analysis:
    """The analysis of a part of a run, whose finding about missing rounds is that of the whole."""
    whole = incomplete_finding(header, done)
    found = [each for each in analysis.findings if each.code != "incomplete-run"]
    if len(found) == len(analysis.findings) and whole is None:
        return analysis
    return replace(
        analysis, findings=tuple(sorted((*found, *([whole] if whole else [])), key=lambda each: -each.level))
    )


def no_reference(given: FindingInput) -> Finding | None:
    if given.reference is not None or not given.rounds:
        return None
    return noted("no-solo-round", "there is no valid single-session round")


def noisy_reference(given: FindingInput) -> Finding | None:
    ref = given.reference
    if ref is None or ref.limit <= 1 + MIN_TOLERANCE:
        return None
    seen = f"times of sessions that share nothing vary by {percent(ref.spread)} (robust SD)"
    if ref.noise_range is None:
        seen = f"a single session was measured only once: its spread is not known, {percent(ref.spread)} is assumed"
        return replace(noted("noisy-reference", seen, tolerance=times(ref.limit)), remedy="more rounds (`--repeats 3`)")
    return noted(
        "noisy-reference",
        seen,
        tolerance=times(ref.limit),
    )


def unsteady_cpu(given: FindingInput) -> Finding | None:
    """The CPU time for the same work differed between sessions that do not share a core."""
    ref = given.reference
    if ref is None or ref.tolerance <= MIN_TOLERANCE:
        return None
    alone = solo_sessions(given.record, given.sessions)
    if len(alone) < FEWEST_SOLOS:
        return None
    # Where threads share cores unseen, sessions side by side differ for another reason than a CPU's own.
    hidden = given.topology is not None and given.topology.verdict == "fewer_cores"
    cores = core_by_cpu(given.record)
    known = cpu_noise(alone, [] if hidden else within_rounds(given.sessions, given.cores or given.vcpus, cores))
    if known is None or SPREADS * known.spread <= MIN_TOLERANCE or known.spread < MIN_CPU_PART * ref.spread:
        return None
    found = noted(
        "unsteady-cpu",
        f"the CPU time for the same work varies by {percent(known.spread)} between sessions that do not share a core",
    )
    if has_two_kinds(given.record):
        return replace(found, meaning="sessions ran on cores of two kinds", remedy=FULL_SPEED_CORES)
    if main_disturbance(given) == "foreign-load":
        return replace(found, meaning=BESIDE_OTHERS, remedy="measure on an idle host to decide")
    return found


def no_host_evidence(given: FindingInput) -> Finding | None:
    if given.record.header.plan.sampler == IMPORTED:  # the head says so, and there is no host to look at
        return None
    found = not_sampled_of(given.rounds)
    reasons = " ".join(_why_not_sampled(each) for each in given.rounds if not_sampled(each))
    return found and without_host(found, reasons, given.record.header.database.service)


def not_sampled_of(rounds: Sequence[Round]) -> Finding | None:
    """The finding of rounds of one or of several variants."""
    blind = [each for each in rounds if not_sampled(each)]
    if not blind:
        return None
    reasons = listed(list(dict.fromkeys(map(_why_not_sampled, blind)))[:3])
    many = f"{len(blind)} of {plural(len(rounds), 'round')}"
    return noted("not-sampled", f"{many} not sampled: {reasons}{_counted_host(blind)}")


def _why_not_sampled(round_: Round) -> str:
    return plain(round_.not_sampled or "no reason recorded")


def _counted_host(rounds: Sequence[Round]) -> str:
    """Which of the host's counters there are instead, in words; '' for none."""
    counted = [each.host_counters for each in rounds if each.host_counters]
    if not counted:
        return ""
    usable = sum(covers_all(each) for each in counted)
    of_them = "" if usable == len(rounds) else f" (usable in {usable} of {plural(len(rounds), 'round')})"
    return f"; host's CPU counters: by {plain(counted[0].source)}{of_them}"


def not_checked(given: FindingInput) -> Finding | None:
    """What the database user's privileges left unchecked: of all targets, where several ran together."""
    header = given.record.header
    left = [each.database.not_checked for each in header.plan.parties] or [header.database.not_checked]
    found = not_visible(left)
    if found is None or header.database.driver != SQLPLUS:
        return found
    what = "; ".join(dict.fromkeys(plain(name) for each in left for name in each))
    seen = f"sqlplus-fanout does not look at, or may not see: {what}"
    return replace(noted("not-checked", seen, grants=""), remedy=FANOUT_GRANTS)


def unseen_moves(given: FindingInput) -> Finding | None:
    both = map(attrgetter("session.migrations", "session.migrations_seen"), given.sessions)
    counted = [(moved, seen) for moved, seen in both if moved is not None and seen is not None]
    unseen = sum(moved - seen for moved, seen in counted if moved > seen)
    if not unseen:
        return None
    return noted(
        "moves-unseen",
        f"{unseen} of {plural(sum(moved for moved, _ in counted), 'migration')} happened between two samples",
    )


def trace_incomplete(given: FindingInput) -> Finding | None:
    found = [each for each in given.rounds if each.trace and each.trace.why]
    if not found:
        return None
    why = plain(next(each.trace.why for each in found if each.trace))
    many = f"{len(found)} of {plural(len(given.rounds), 'round')}"
    seen = f"the kernel's trace of {many} was not used ({level_words(found)}): {why}"
    # One that ended with its connection has no events; of any other the buffers may have been too small.
    return noted(
        "trace-incomplete", seen, shorter_rounds=SHORTER_ROUNDS if any(map(_began, found)) else "measure again"
    )


def _began(round_: Round) -> bool:
    return bool(round_.trace and (round_.trace.events or round_.trace.lost))


def few_polls(given: FindingInput) -> Finding | None:
    short = [
        each
        for each in given.rounds
        if each.cost and each.cost.polls and 0 < given.window_s(each) * poll_hz(each) < FEW_POLLS
    ]
    if not short:
        return None
    shortest = min(short, key=given.window_s)
    return noted(
        "few-polls",
        f"rounds as short as {seconds(given.window_s(shortest))} were sampled fewer than {FEW_POLLS} times "
        f"({level_words(short)})",
    )


def gate_skew(given: FindingInput) -> Finding | None:
    late = [each for each in given.rounds if each.gate.skew_s > SKEW_SHARE * (given.window_s(each) or float("inf"))]
    if not late:
        return None
    worst = max(late, key=lambda each: each.gate.skew_s)
    return noted(
        "gate-skew",
        f"sessions were released {seconds(worst.gate.skew_s)} apart at N={worst.level}, "
        f"more than {percent(SKEW_SHARE)} of the time they ran",
    )


def not_settled(given: FindingInput) -> Finding | None:
    return not_settled_of(given.rounds)


def not_settled_of(rounds: Sequence[Round]) -> Finding | None:
    """The finding of rounds of one or of several variants."""
    noisy = [each for each in rounds if not each.gate.settled]
    if not noisy:
        return None
    many = f"{len(noisy)} of {plural(len(rounds), 'round')}"
    return noted("not-settled", f"other processes were active before {many} ({level_words(noisy)})")


def quick_run(given: FindingInput) -> Finding | None:
    plan, repeats = given.record.header.plan, repeats_by_level(given.record, given.levels)
    # Rounds may have been added later, or fewer been needed; a run without any has another finding.
    if not repeats or max(plan.repeats, min(repeats.values())) >= NORMAL:
        return None
    return noted("quick-run", repeats_words(given.record, repeats))


def repeats_by_level(record: RunRecord, levels: Sequence[LevelView]) -> Mapping[int, int]:
    """Rounds of each level that was requested: single sessions beside a soak or a pool are its reference."""
    asked = {(each.variant, each.level) for each in record.rounds if not each.anchor}
    repeats: dict[int, int] = {}
    for each in levels:
        if each.sessions and (each.variant, each.level) in asked:
            repeats[each.level] = min(each.rounds, repeats.get(each.level, each.rounds))
    return repeats


def repeats_words(record: RunRecord, repeats: Mapping[int, int]) -> str:
    """``3 repeats of each level``, or which level has the fewest."""
    fewest = min(repeats.values(), default=0)
    if record.header.plan.experiment == SOAK:
        return f"{plural(fewest, 'segment')} of {plural(max(repeats, default=0), 'session')}"
    if len(set(repeats.values())) < 2:
        return f"{plural(fewest, 'repeat')} of each level"
    where = [level for level, rounds in repeats.items() if rounds == fewest]
    return f"N={short_ranges(where)} {'has' if len(where) == 1 else 'have'} {plural(fewest, 'repeat')}, the fewest"


def client_clock(given: FindingInput) -> Finding | None:
    if given.record.header.plan.sampler == IMPORTED:  # whose clock it was is not known
        return None
    if given.record.header.database.driver_on_host is False or clock_basis(given.record) != "client":
        return None
    if not given.vcpus or all(each.level < given.vcpus for each in given.rounds):
        return None
    return noted(
        "client-clock",
        "elapsed times end when the driver received the answer; the database reports no times of its own",
    )


def coarse_clock(given: FindingInput) -> Finding | None:
    """By the elapsed times alone: many different ones, all of them multiples of one step."""
    steps: tuple[float, ...] = CLOCK_STEPS_S
    taken_s: set[float] = set()
    for member in given.sessions:
        mine_s = {round(each.server_elapsed_s, 6) for each in member.session.executions if each.server_elapsed_s}
        # Nearly every clock is finer, and one session shows it.
        steps = tuple(step for step in steps if all(_is_multiple(each, step) for each in mine_s))
        if not steps:
            return None
        taken_s |= mine_s
    if len(taken_s) < FEW_TIMES or min(taken_s) >= FINE_ENOUGH * steps[0]:
        return None
    step_s, shortest_s = steps[0], min(taken_s)
    return noted(
        "coarse-clock",
        f"all server times are multiples of {seconds(step_s)}, and the shortest execution took {seconds(shortest_s)}",
    )


def _is_multiple(time_s: float, step_s: float) -> bool:
    return abs(time_s / step_s - round(time_s / step_s)) * step_s < CLOCK_DIGIT_S


def parallel_plan(given: FindingInput) -> Finding | None:
    shape = given.record.header.plan.workload.plan_shape
    if not shape or not ("Gather" in shape or "PX COORDINATOR" in shape.upper()):
        return None
    return noted("parallel-plan", f"the plan runs in parallel: {plain(shape)}")


def temp_spill(given: FindingInput) -> Finding | None:
    spilled = [each for each in given.counted if each.session.db.get("temp_bytes", 0) > 0]
    if not spilled:
        return None
    most = max(each.session.db["temp_bytes"] for each in spilled)
    return noted("temp-spill", f"{plural(len(spilled), 'session')} wrote up to {most / 1e6:.1f} MB of temporary files")


FINDERS: tuple[Callable[[FindingInput], Finding | None], ...] = (
    wrong_answers,
    work_not_done,
    failed_sessions,
    failed_rounds,
    incomplete_run,
    no_reference,
    noisy_reference,
    unsteady_cpu,
    no_host_evidence,
    not_checked,
    unseen_moves,
    trace_incomplete,
    few_polls,
    gate_skew,
    not_settled,
    quick_run,
    client_clock,
    coarse_clock,
    parallel_plan,
    temp_spill,
)
