"""What was looked at before the figures may be trusted, and what of it passed.

What failed has findings; what passed says what was examined. What only a measurement can check was checked in no
simulated or imported run, and what the database user or the driver may not see in no run at all.
"""

from collections.abc import Callable

from dbcpu.analysis.causes.attribution import not_sampled
from dbcpu.analysis.conclusions.measurement_findings import repeats_by_level, repeats_words
from dbcpu.analysis.host_usage.host_counters import others_share
from dbcpu.analysis.host_usage.host_time import window_s
from dbcpu.analysis.placement.residency import poll_hz
from dbcpu.analysis.results.answer import Assurance
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import clock_basis
from dbcpu.formatting import percent, plain, plural, seconds
from dbcpu.record.header import IMPORTED
from dbcpu.record.plan import NORMAL
from dbcpu.record.rounds import RunRecord, Session

INVISIBLE = "no data"
"""Instead of what was examined, where a run has nothing to examine."""
ORACLE = "oracle"


def assurances(record: RunRecord, analysis: Analysis) -> tuple[Assurance, ...]:
    """All of them, in the order in which a run goes."""
    sampler = record.header.plan.sampler
    unchecked = _UNCHECKED.get(sampler, frozenset())
    found = []
    for name, codes, examine in _ASSURANCES:
        findings = tuple(each for each in analysis.findings if each.code in codes)
        seen = None if name in unchecked else examine(record, analysis)
        why = sampler if name in unchecked else INVISIBLE
        found.append(Assurance(name, why if seen is None else seen, findings, checked=seen is not None))
    return tuple(found)


def _sessions(record: RunRecord) -> list[Session]:
    return [session for each in record.rounds for session in each.sessions]


def _answers(record: RunRecord, _: Analysis) -> str:
    answers = [each.answer_ok for each in _sessions(record)]
    return f"{sum(each is True for each in answers)} of {plural(len(answers), 'session')} gave the known answer"


def _whole(record: RunRecord, _: Analysis) -> str:
    planned = record.header.plan.rounds
    whole = f" of {planned}" if planned is not None else ""
    return f"{len(record.rounds)}{whole} rounds, {record.header.status}"


def _reference(_: RunRecord, analysis: Analysis) -> str:
    ref = analysis.reference
    return f"{plural(ref.sessions, 'single session')}, varying by {percent(ref.spread)}" if ref else ""


def _skew(record: RunRecord, _: Analysis) -> str:
    skews = [each.gate.skew_s for each in record.rounds]
    return f"released within {seconds(max(skews))} at most" if skews else ""


def _verified(record: RunRecord, _: Analysis) -> str:
    sessions = _sessions(record)
    verified = sum(each.server.verified for each in sessions)
    return f"{verified} of {plural(len(sessions), 'server process')} verified before sampling"


def _polls(record: RunRecord, _: Analysis) -> str | None:
    rates = [poll_hz(each) for each in record.rounds if each.cost and each.cost.polls]
    if not rates and all(not_sampled(each) for each in record.rounds):
        return None
    moves = [each.migrations for each in _sessions(record) if each.migrations is not None]
    counted = f"; the kernel counted {plural(sum(moves), 'migration')}" if moves else ""
    return f"at least {min(rates):.1f} samples per second{counted}" if rates else ""


def _quiet(record: RunRecord, _: Analysis) -> str | None:
    counted = [
        (share, each.host_counters.source)
        for each in record.rounds
        if each.host_counters and (share := others_share(each)) is not None
    ]
    if counted:
        many = f"{len(counted)} of {plural(len(record.rounds), 'round')}"
        most, source = max(counted)
        return f"others used at most {percent(most)} of the host's CPUs by {plain(source)} in {many}"
    if record.rounds and all(not_sampled(each) for each in record.rounds):
        return None
    return f"idle before {sum(each.gate.settled for each in record.rounds)} of {plural(len(record.rounds), 'round')}"


def _driver(record: RunRecord, _: Analysis) -> str:
    shares = [
        (each.cost.driver_cpu_s + (each.cost.sampler_cpu_s or 0.0)) / lasted_s
        for each in record.rounds
        if each.cost and (lasted_s := window_s(each)) > 0
    ]
    where = {True: "on the measured host", False: "on another machine", None: "location not known"}
    used = f"used at most {percent(max(shares))} of one CPU, " if shares else ""
    paced = [
        (each.cost.witness_cpu_s or 0.0) / lasted_s / max(1, len(each.witness.cpus))
        for each in record.rounds
        if each.cost and (lasted_s := window_s(each)) > 0 and each.witness
    ]
    used += f"the witness {percent(max(paced))} of each, " if paced and used else ""
    return used + where[record.header.database.driver_on_host]


def _clock(record: RunRecord, _: Analysis) -> str:
    words = {
        "client": "times begin and end with the driver's stamps",
        "server": "times begin and end with the database's stamps",
        "mixed": "times begin with the driver's stamp and end with the database's",
    }
    return words[clock_basis(record)]


def _repeats(record: RunRecord, analysis: Analysis) -> str:
    plan, repeats = record.header.plan, repeats_by_level(record, analysis.levels)
    if not repeats:
        return INVISIBLE
    words = repeats_words(record, repeats)
    if plan.repeats < NORMAL or min(repeats.values()) >= NORMAL:
        return words
    most = "at most " if plan.rounds is None else ""
    return f"{most}{plural(plan.repeats, 'repeat')} of each level planned, {words}"


def _cpu_only(record: RunRecord, _: Analysis) -> str | None:
    """Of Oracle by each session's own counters, where they may be read; other databases refuse what is not CPU."""
    if record.header.database.kind != ORACLE:
        return ""
    return _counted(record, "physical_reads")


def _one_plan(record: RunRecord, _: Analysis) -> str | None:
    work = record.header.plan.workload
    if record.header.database.kind != ORACLE or (work.sql or "").lstrip().lower().startswith(("begin", "declare")):
        return ""
    return _counted(record, "plans")


def _counted(record: RunRecord, name: str) -> str | None:
    sessions = _sessions(record)
    counted = sum(name in each.db for each in sessions)
    return f"by the counters of {counted} of {plural(len(sessions), 'session')}" if counted else None


def _not_stolen(record: RunRecord, _: Analysis) -> str | None:
    return None if all(not_sampled(each) for each in record.rounds) else ""


def _nothing(_: RunRecord, __: Analysis) -> str:
    return ""


_OF_MEASURING = frozenset(
    {
        "correct answers",
        "CPU-only work, one process per session",
        "one execution plan, one instance",
        "privileges for every check",
        "simultaneous release",
        "consistent clock",
        "server processes verified",
        "sufficient sampling rate",
        "no other load on the host",
        "low measurement overhead",
    }
)
_UNCHECKED = {"simulated": _OF_MEASURING, IMPORTED: _OF_MEASURING | {"no steal or throttling"}}
"""By the sampler of a run: what could not be examined."""
_CPU_ONLY = frozenset(
    {"temp-spill", "parallel-plan", "parallel-query", "physical-io", "hard-parses", "work-area-spill"}
)
_ASSURANCES: tuple[tuple[str, frozenset[str], Callable[[RunRecord, Analysis], str | None]], ...] = (
    (
        "correct answers",
        frozenset({"wrong-answer", "work-not-done", "failed-session", "failed-round"}),
        _answers,
    ),
    ("CPU-only work, one process per session", _CPU_ONLY, _cpu_only),
    (
        "one execution plan, one instance",
        frozenset({"plans-differ", "several-instances", "setting-refused"}),
        _one_plan,
    ),
    ("privileges for every check", frozenset({"not-checked"}), _nothing),
    ("complete run", frozenset({"incomplete-run"}), _whole),
    ("enough repeats to compare", frozenset({"quick-run"}), _repeats),
    (
        "stable single-session time",
        frozenset({"no-solo-round", "noisy-reference", "unsteady-cpu", "solo-drift"}),
        _reference,
    ),
    ("simultaneous release", frozenset({"gate-skew"}), _skew),
    (
        "consistent clock",
        frozenset({"client-clock", "coarse-clock", "scaled-cpu-time", "platform-unknown", "statistics-basic"}),
        _clock,
    ),
    ("server processes verified", frozenset({"not-sampled"}), _verified),
    ("sufficient sampling rate", frozenset({"moves-unseen", "few-polls", "trace-incomplete"}), _polls),
    (
        "no other load on the host",
        frozenset({"not-settled", "foreign-load", "in-maintenance-window", "interrupts"}),
        _quiet,
    ),
    (
        "no steal or throttling",
        frozenset(
            {"steal", "steal-unseen", "strangers-on-siblings", "throttled", "hidden-quota", "resource-manager-waits"}
        ),
        _not_stolen,
    ),
    ("low measurement overhead", frozenset({"driver-on-host", "session-traced"}), _driver),
)
