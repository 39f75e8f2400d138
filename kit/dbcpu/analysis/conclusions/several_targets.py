"""Targets of different kinds beside each other: every session over its own target's single sessions.

A row of times or rates of two databases says nothing of either: of the rounds of all targets together only what is
relative to each session's own baseline is kept, and what the host did.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dbcpu.analysis.conclusions.several_variants import of_all_variants
from dbcpu.analysis.conclusions.single_run import SingleSessions, explained
from dbcpu.analysis.host_usage.scaled_cpu import without_scaled_cpu
from dbcpu.analysis.levels.main_cause import by_sessions, lost_by_session, main_cause
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.placement.usable_cpus import core_count, vcpu_count
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import Analysis, LevelView, SessionView
from dbcpu.analysis.statistics.robust import median
from dbcpu.config.rules import Licence
from dbcpu.record.finding_entry import Concerns
from dbcpu.record.findings import Finding
from dbcpu.record.header import TOGETHER, Party
from dbcpu.record.rounds import RunRecord

_PLACED_S = ("alone_s", "misplaced_s", "sharing_s", "oversubscribed_s", "tail_misplaced_s")
"""For how long sessions were where, whatever they are of."""


def explain_targets(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> Analysis:
    """A run of several targets of different kinds: each alone as a run of its own, and all of them together."""
    parties = record.header.plan.parties
    found: dict[str, Analysis] = {}
    singles: list[SingleSessions | None] = []
    for party in parties:
        found[party.target], alone = explained(_of_party(record, party, party.target), licence_rules)
        singles.append(alone)
    if any(each.variant == TOGETHER for each in record.rounds):
        found[TOGETHER] = _together(record, singles, licence_rules)
    first, levels = found[parties[0].target], tuple(each for one in found.values() for each in one.levels)
    sessions = sorted(
        (each for one in found.values() for each in one.sessions), key=lambda one: (one.order, one.ordinal)
    )
    return replace(
        first,
        levels=levels,
        sessions=tuple(sessions),
        findings=_named(of_all_variants(found, without_scaled_cpu(record).rounds), found, parties[0].target),
        own_baselines=True,
        scaling=Scaling((), None, None),
        topology=None,
        noise_floor=None,
        shared_core=None,
        vcpus=vcpu_count(record),
        cores=core_count(record),
    )


def _of_party(record: RunRecord, party: Party, variant: str) -> RunRecord:
    part = one_variant(record, variant)
    plan = replace(part.header.plan, workload=party.workload)
    return replace(part, header=replace(part.header, plan=plan, database=party.database))


def _together(
    record: RunRecord, singles: Sequence[SingleSessions | None], licence_rules: Sequence[Licence] | None
) -> Analysis:
    """The rounds of all, each session as its own target's baseline explains it, with all others beside it."""
    whole: list[Analysis] = []
    views: list[SessionView] = []
    findings: dict[tuple[str, str], Finding] = {}
    begin = 0
    for party, alone in zip(record.header.plan.parties, singles, strict=True):
        ordinals = range(begin, begin + party.sessions)
        begin += party.sessions
        said, _ = explained(_of_party(record, party, TOGETHER), licence_rules, alone)
        views += [replace(each, group="") for each in said.sessions if each.ordinal in ordinals]
        whole.append(said)
        # Each has all sessions. Two databases at once are no measure for each other.
        found = [each for each in said.findings if each.concerns is not Concerns.COMPARISON]
        findings = {(each.code, each.seen): each for each in found} | findings
    levels = tuple(_own_baselines(each, views) for each in whole[0].levels)
    kept = tuple(sorted(findings.values(), key=lambda each: -each.level))
    return replace(whole[0], sessions=tuple(views), levels=levels, findings=kept)


def _own_baselines(level: LevelView, views: Sequence[SessionView]) -> LevelView:
    """The level with what does not mix targets, each field by name: without times, rates and comparisons of sessions.

    Without slowdowns and causes, too, where a session has no baseline: they would be those of the other targets.
    """
    rounds: dict[int, list[SessionView]] = {}
    valid = _that_count([each for each in views if each.level == level.level])
    for each in valid if all(each.slowdown is not None for each in valid) else ():
        rounds.setdefault(each.order, []).append(each)
    slowdowns = [[each.slowdown or 1.0 for each in members] for members in rounds.values()]
    causes = [[each.cause for each in members] for members in rounds.values()]
    lost = [
        lost_by_session(members, own, Answer.UNDECIDED) for members, own in zip(rounds.values(), causes, strict=True)
    ]
    kept = LevelView(
        level=level.level,
        variant=level.variant,
        rounds=level.rounds,
        sessions=level.sessions,
        median_s=None,
        slowdown_median=median([median(each) for each in slowdowns]) if slowdowns else None,
        slowdown_max=median([max(each) for each in slowdowns]) if slowdowns else None,
        max_over_min=None,
        cv=None,
        slow=None,
        gap_ratio=None,
        throughput=None,
        makespan_throughput=None,
        ideal_throughput=None,
        mrows_per_s=None,
        connect_median_s=level.connect_median_s,
        connect_max_s=level.connect_max_s,
        skew_s=level.skew_s,
        server_start_spread_s=level.server_start_spread_s,
        regime=level.regime,
        ideal_slowdown=level.ideal_slowdown,
        causes=by_sessions(causes),
        main_cause=main_cause(lost) if lost else Cause.NONE,
        slowdown_min=median([min(each) for each in slowdowns]) if slowdowns else None,
        left_node=level.left_node,
        others_share=level.others_share,
        shares_known=level.shares_known,
        **{name: getattr(level, name) for name in _PLACED_S},
    )
    return replace(kept, details=level.details and replace(level.details, p50_s=None, p95_s=None, p99_s=None))


def _that_count(views: Sequence[SessionView]) -> list[SessionView]:
    """The valid ones of rounds in which no session failed; where there is no such round, of all."""
    failed = {each.order for each in views if not each.valid}
    valid = [each for each in views if each.valid]
    return [each for each in valid if each.order not in failed] or valid


def _named(findings: Sequence[Finding], found: Mapping[str, Analysis], first: str) -> tuple[Finding, ...]:
    """Those of the first target with its name, where another does not have the same."""

    def is_of_all(one: Finding) -> bool:
        alike = [each for other in found.values() for each in other.findings if each.code == one.code]
        return len(alike) > 1 and len({each.seen for each in alike}) == 1

    own = {(each.code, each.seen) for each in found[first].findings}
    return tuple(
        replace(each, seen=f"under {first}: {each.seen}")
        if (each.code, each.seen) in own and each.concerns is not Concerns.HOST and not is_of_all(each)
        else each
        for each in findings
    )
