"""Was the work done, is the run whole, and was the sampling good enough?"""

from collections.abc import Callable

from dbcpu.analysis.attribution import not_sampled
from dbcpu.analysis.facts import Facts, places
from dbcpu.analysis.spans import clock_basis
from dbcpu.findings import Finding, Level
from dbcpu.plan import COMPARE, NORMAL
from dbcpu.wording import listed, percent, plain, plural, seconds

SKEW_SHARE = 0.01
FEW_POLLS = 10
DECIDING_REPEATS = 4
"""Below four rounds on each side no two-sided rank test can reach p < 0.05."""


def wrong_answers(facts: Facts) -> Finding | None:
    wrong = [each for each in facts.sessions if each.session.answer_ok is False]
    if not wrong:
        return None
    return Finding(
        "wrong-answer",
        Level.PROBLEM,
        f"{plural(len(wrong), 'session')} gave a wrong answer at {places(each.round for each in wrong)}",
        "they did not do the work that the others did; they are left out of every verdict",
        "run the workload's SQL by hand and compare its answer with the header of its file",
    )


def failed_sessions(facts: Facts) -> Finding | None:
    failed = [each for each in facts.sessions if each.why and each.session.answer_ok is not False]
    failed = [each for each in failed if not each.round.error]
    if not failed:
        return None
    reasons = dict.fromkeys(plain(each.why) for each in failed)
    return Finding(
        "failed-session",
        Level.PROBLEM,
        f"{plural(len(failed), 'session')} failed at {places(e.round for e in failed)}: {'; '.join(list(reasons)[:3])}",
        "the sessions beside them had more CPU than their level means: such rounds count only where there is no other",
    )


def failed_rounds(facts: Facts) -> Finding | None:
    failed = [each for each in facts.rounds if each.error]
    if not failed:
        return None
    return Finding(
        "failed-round",
        Level.PROBLEM,
        f"{plural(len(failed), 'round')} failed at {places(failed)}: {plain(failed[0].error or '')}",
        "nothing of these rounds is used",
    )


def incomplete_run(facts: Facts) -> Finding | None:
    header, planned = facts.record.header, facts.record.header.plan.rounds
    done = len(facts.rounds)
    if header.status == "complete" and (planned is None or done >= planned):
        return None
    if header.status == "running" and planned is None:
        return None
    whole = f" of {planned}" if planned is not None else ""
    level = Level.PROBLEM if header.status == "failed" else Level.WARNING
    return Finding(
        "incomplete-run",
        level,
        f"the run is {header.status} with {done}{whole} rounds",
        "levels may rest on fewer rounds than others, or be missing",
    )


def no_reference(facts: Facts) -> Finding | None:
    if facts.reference is not None or not facts.rounds:
        return None
    return Finding(
        "no-solo-round",
        Level.WARNING,
        "there is no valid session that ran alone",
        "slowdown and losses cannot be told; if all sessions are equally slow, nothing here shows it",
        "measure again with level 1 among the levels: --sessions 1,...",
    )


def noisy_reference(facts: Facts) -> Finding | None:
    ref = facts.reference
    if ref is None or ref.tolerance <= 0.1:
        return None
    return Finding(
        "noisy-reference",
        Level.WARNING,
        f"{plural(ref.sessions, 'solo session')} spread by {percent(ref.spread)} (robust standard deviation)",
        f"losses below {percent(ref.tolerance)} are not told from noise",
        "measure on a quieter host, or with a longer size",
    )


def no_host_evidence(facts: Facts) -> Finding | None:
    blind = [each for each in facts.rounds if not_sampled(each)]
    if not blind:
        return None
    reasons = dict.fromkeys(plain(each.not_sampled or "no reason recorded") for each in blind)
    return Finding(
        "not-sampled",
        Level.WARNING,
        f"{len(blind)} of {plural(len(facts.rounds), 'round')} not sampled: {listed(list(reasons)[:3])}",
        "who got less CPU is known, why is not",
        "dbcpu doctor says what can be sampled here and what it takes",
    )


def unseen_moves(facts: Facts) -> Finding | None:
    told = [
        (each.session.migrations, each.session.migrations_seen)
        for each in facts.sessions
        if each.session.migrations is not None and each.session.migrations_seen is not None
    ]
    unseen = sum(max(0, moved - seen) for moved, seen in told)
    if not unseen:
        return None
    return Finding(
        "moves-unseen",
        Level.INFO,
        f"{unseen} of {plural(sum(moved for moved, _ in told), 'move')} between CPUs happened between two polls",
        "where sessions ran is known a little less well than the times",
        "a higher --hz shows more of them",
    )


def few_polls(facts: Facts) -> Finding | None:
    short = [
        each
        for each in facts.rounds
        if each.cost and each.cost.hz and 0 < facts.window_s(each) * each.cost.hz < FEW_POLLS and each.cost.polls
    ]
    if not short:
        return None
    shortest = min(short, key=facts.window_s)
    return Finding(
        "few-polls",
        Level.INFO,
        f"rounds as short as {seconds(facts.window_s(shortest))} were polled fewer than {FEW_POLLS} times "
        f"({places(short)})",
        "placement is known roughly; the counters behind the loss split stay exact",
        "use more executions or a longer size",
    )


def gate_skew(facts: Facts) -> Finding | None:
    late = [each for each in facts.rounds if each.gate.skew_s > SKEW_SHARE * (facts.window_s(each) or float("inf"))]
    if not late:
        return None
    worst = max(late, key=lambda each: each.gate.skew_s)
    return Finding(
        "gate-skew",
        Level.WARNING,
        f"sessions were released {seconds(worst.gate.skew_s)} apart at N={worst.level}, "
        f"more than {percent(SKEW_SHARE)} of the time they ran",
        "the first had the host to themselves for that time",
        "use a longer size or more executions",
    )


def not_settled(facts: Facts) -> Finding | None:
    noisy = [each for each in facts.rounds if not each.gate.settled]
    if not noisy:
        return None
    return Finding(
        "not-settled",
        Level.WARNING,
        f"the host did not become quiet before {len(noisy)} of {plural(len(facts.rounds), 'round')} ({places(noisy)})",
        "other work ran beside the sessions",
    )


def quick_run(facts: Facts) -> Finding | None:
    repeats = facts.record.header.plan.repeats
    if repeats >= DECIDING_REPEATS:
        return None
    return Finding(
        "quick-run",
        Level.INFO,
        f"{plural(repeats, 'repeat')} of each level",
        "good for a look; no statistical test can decide between two such runs",
        f"--repeats {NORMAL}, or {COMPARE} to compare hosts",
    )


def client_clock(facts: Facts) -> Finding | None:
    if facts.record.header.database.driver_on_host is False or clock_basis(facts.record) != "client":
        return None
    if not facts.vcpus or all(each.level < facts.vcpus for each in facts.rounds):
        return None
    return Finding(
        "client-clock",
        Level.INFO,
        "elapsed times end when the driver saw the answer; the database does not tell its own",
        "with all CPUs busy the driver itself can be late, so times carry its delay as uncertainty",
    )


def parallel_plan(facts: Facts) -> Finding | None:
    shape = facts.record.header.plan.workload.plan_shape
    if not shape or not ("Gather" in shape or "PX COORDINATOR" in shape.upper()):
        return None
    return Finding(
        "parallel-plan",
        Level.PROBLEM,
        f"the plan runs in parallel: {plain(shape)}",
        "a session then uses several processes, and none of these figures means what it says",
        "switch parallel query off for this user",
    )


def temp_spill(facts: Facts) -> Finding | None:
    spilled = [each for each in facts.sessions if each.session.db.get("temp_bytes", 0) > 0]
    if not spilled:
        return None
    most = max(each.session.db["temp_bytes"] for each in spilled)
    return Finding(
        "temp-spill",
        Level.PROBLEM,
        f"{plural(len(spilled), 'session')} wrote up to {most / 1e6:.1f} MB of temporary files",
        "that is IO, and more CPU for the same rows: not a pure CPU test",
        "raise work_mem, or take a workload with flat memory",
    )


CHECKS: tuple[Callable[[Facts], Finding | None], ...] = (
    wrong_answers,
    failed_sessions,
    failed_rounds,
    incomplete_run,
    no_reference,
    noisy_reference,
    no_host_evidence,
    unseen_moves,
    few_polls,
    gate_skew,
    not_settled,
    quick_run,
    client_clock,
    parallel_plan,
    temp_spill,
)
