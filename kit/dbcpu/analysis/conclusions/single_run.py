"""Explains the rounds of one variant: the answers in the order in which they need each other. Pure."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.causes.attribution import attribute
from dbcpu.analysis.causes.proven_sharing import sessions_with_proven_sharing, with_proven_sharing
from dbcpu.analysis.causes.session_columns import SingleLosses, watched_run
from dbcpu.analysis.causes.shared_core_cost import shared_core, with_cross_table
from dbcpu.analysis.causes.without_host import with_likely_causes
from dbcpu.analysis.conclusions import all_findings
from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.conclusions.host_findings import main_disturbance
from dbcpu.analysis.conclusions.others_beside import with_others
from dbcpu.analysis.conclusions.refusal import refused
from dbcpu.analysis.conclusions.verdict import verdict
from dbcpu.analysis.host_usage.host_time import typical_share
from dbcpu.analysis.host_usage.scaled_cpu import without_scaled_cpu
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.level_losses import worth_counting
from dbcpu.analysis.levels.level_views import levels
from dbcpu.analysis.levels.noise_floor import noise_floor
from dbcpu.analysis.levels.representative_round import level_to_show, usual_order
from dbcpu.analysis.levels.round_figures import work
from dbcpu.analysis.levels.rounds_needed import more_rounds
from dbcpu.analysis.levels.run_context import RunContext, run_context
from dbcpu.analysis.levels.stickiness import with_stickiness
from dbcpu.analysis.levels.two_groups import noise_limit, session_groups
from dbcpu.analysis.levels.variant_rounds import one_variant, real_variants
from dbcpu.analysis.placement.once_per_round import answers_kept
from dbcpu.analysis.placement.usable_cpus import bounding_quota, cpu_time_per_s, limiting_quota, quota_of
from dbcpu.analysis.results.host import Scaling, SharedCore, TopologyCheck
from dbcpu.analysis.results.run import Analysis, LevelView, Reference, SessionView
from dbcpu.analysis.scaling.capacity import capacity, has_idle_cpus
from dbcpu.analysis.scaling.curve import NEAR, scaling
from dbcpu.analysis.scaling.falling_throughput import falling_throughput
from dbcpu.analysis.scaling.licences import facts_of, licences_needed
from dbcpu.analysis.scaling.seen_yield import with_seen_yield, within_seen_yield
from dbcpu.analysis.scaling.topology_check import done_by_all_vcpus, fast_cores, has_two_kinds, topology_check
from dbcpu.analysis.scaling.turbo import claims_unseen_turbo
from dbcpu.analysis.scaling.unmeasured_peak import UnmeasuredPeak, unmeasured_peak
from dbcpu.analysis.sessions.valid_sessions import Key, Timed
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.piecewise_linear import WITHOUT_TURBO
from dbcpu.config.rulebook import shipped
from dbcpu.config.rules import Licence
from dbcpu.record.header import POOL, SWEEP
from dbcpu.record.rounds import RunRecord

ABOVE_CORES = 1.05
"""A knee whose interval begins above so many times the cores shown is not where they end."""


class SingleSessions(Struct, frozen=True):
    """The single sessions that another variant is compared with, and what they lost: its own may lose more, or less."""

    reference: Reference
    sessions: tuple[Timed, ...]
    lost: SingleLosses


def explain_variant(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> Analysis:
    """Explain a record of one variant."""
    return explained(record, licence_rules)[0]


def explained(
    record: RunRecord,
    licence_rules: Sequence[Licence] | None = None,
    known: SingleSessions | None = None,
    in_turns: bool = False,
) -> tuple[Analysis, SingleSessions | None]:
    """The same, with its single sessions; ``known``: those of another variant, if these are what counts.

    ``in_turns``: the variant is one of several, measured in turns.
    """
    record = without_scaled_cpu(record)
    with answers_kept(record.rounds):
        return _explained(record, licence_rules, known, in_turns)


def _explained(
    record: RunRecord, licence_rules: Sequence[Licence] | None, known: SingleSessions | None, in_turns: bool
) -> tuple[Analysis, SingleSessions | None]:
    context = run_context(record, known.reference if known else None)
    context = replace(context, single=known.sessions if known else context.single, in_turns=in_turns)
    ref, vcpus, cores = context.reference, context.vcpus, context.cores
    seen = watched_run(context)
    lost = known.lost if known else SingleLosses.of(context.single, seen) if seen else SingleLosses()
    views: Mapping[Key, SessionView] = attribute(context, session_groups(context), seen, lost)
    shared = shared_core(context, seen, views)
    proven = sessions_with_proven_sharing(views, context, seen, shared)
    if proven is not views and any(proven[key] is not view for key, view in views.items()):
        views, shared = proven, with_cross_table(shared, context, seen, proven)
    level_views, is_apart = _by_whole_rounds(
        context, with_proven_sharing(levels(context, views), context, seen, shared)
    )
    variant = level_views[0].variant if level_views else ""
    first, sticky = with_stickiness(
        [view for view in level_views if view.variant == variant],
        # Of cores of two kinds sessions differ by the kind, whether they move or not.
        () if has_two_kinds(record) else context.threads,
        noise_limit(ref),
    )
    if ref is not None and known is None:
        alone = next((view.counted_slowdown for view in first if view.level == 1), None)
        ref = replace(ref, counted_slowdown=alone or 1.0)
    rated = {view.level for view in first if view.throughput is not None}
    of_variant = [view for view in views.values() if view.variant == variant and view.level in rated]
    curve, topology = (
        (Scaling((), None, None), None)
        if is_apart
        else _curve_and_topology(context, ref, first, of_variant, shared, sticky)
    )
    first = with_likely_causes(context, first, curve)
    level_views = (*first, *(view for view in level_views if view.variant != variant))
    floor = noise_floor(context)
    room = capacity(context, first, curve, topology, ref.counted_slowdown if ref else 1.0)
    rules = shipped() if licence_rules is None else licence_rules
    speeds = context.split.two_speeds if context.split else None
    more = more_rounds(context, first)
    given = FindingInput(
        record, context.sessions, tuple(views.values()), level_views, ref, vcpus, cores, curve, topology, floor, shared,
        speeds, more, in_turns, context.lost,
    )  # fmt: skip
    disturbance = main_disturbance(given)
    first, level_views = (with_others(each, record, vcpus, cores, disturbance) for each in (first, level_views))
    shown = level_to_show(first, noise_limit(ref))
    found = Analysis(
        run_id=record.header.run_id,
        verdict=verdict(context, first, topology, curve, more),
        reference=ref,
        levels=level_views,
        sessions=tuple(views.values()),
        scaling=curve,
        findings=all_findings(given),
        capacity=room and replace(room, licences=licences_needed(rules, facts_of(record, vcpus, cores))),
        topology=topology,
        noise_floor=floor,
        vcpus=vcpus,
        cores=cores,
        telling_order=None if shown is None else usual_order(shown, views.values()),
        shared_core=shared,
        unit=record.header.plan.workload.unit,
        two_speeds=speeds,
        more_rounds=more,
        disturbance=disturbance,
        two_kinds=has_two_kinds(record),
        steal_share=typical_share(record.rounds),
        limiting_quota=limiting_quota(record),
        levels_lost=context.lost,
    )
    return refused(found), SingleSessions(ref, context.single, lost) if ref else None


def _by_whole_rounds(context: RunContext, views: tuple[LevelView, ...]) -> tuple[tuple[LevelView, ...], bool]:
    """Levels of a pool whose sessions did not compute at once with what whole rounds did, and whether there are any.

    Then there is no curve, and nothing follows from one: not all sessions that there were wanted a CPU.
    """
    if context.record.header.plan.experiment != POOL:
        return views, False
    from dbcpu.analysis.experiments.pool import by_whole_rounds, levels_apart

    apart = levels_apart(context.record, context.sessions)
    return by_whole_rounds(views, apart), bool(apart)


def _curve_and_topology(
    context: RunContext,
    ref: Reference | None,
    levels: Sequence[LevelView],
    views: Sequence[SessionView],
    shared: SharedCore | None,
    sticky: float | None,
) -> tuple[Scaling, TopologyCheck | None]:
    """How the host scales by these levels of one variant, and whether that is as its topology says."""
    record, vcpus, cores = context.record, context.vcpus, context.cores
    done = work(context.sessions, levels[0].variant if levels else "", context.works)
    fitted = partial(scaling, levels, done, context.rows, ref, vcpus, cores, cpus=len(context.core_by_cpu))
    curve = fitted()
    if claims_unseen_turbo(curve, levels, cores):
        curve = fitted(forms=WITHOUT_TURBO)
    if bounding_quota(record) is not None:  # no level shows all threads at work
        curve = replace(curve, smt_yield=None, smt_yield_interval=None)
    clock = any(each.mhz for one in record.rounds for each in one.cpu_timeline)
    # The jobs of a pool are shared out: its own answer says how many sessions are enough.
    quota = bounding_quota(record) if ref is not None and ref.busy == 1 else None
    fall = falling_throughput(done, context.rows, quota) if record.header.plan.experiment == SWEEP else None
    curve = replace(curve, stickiness=sticky, clock_measured=clock, fall=fall)
    curve = with_seen_yield(curve, shared, context.threads_there, levels, ref)
    curve = within_seen_yield(curve, levels, ref, cores, context.threads_there, quota_of(record))
    curve = _where_cores_end(record, cores, vcpus, curve)
    curve = _one_bend_for_two(bounding_quota(record), cores, curve)
    topology = topology_check(context, levels, views, curve)
    if vcpus and topology is not None and topology.two_speeds and topology.cores_told and curve.effective_cores:
        # Placed by chance over cores that nobody knows, sessions bend the curve as turbo would, and where no core ends,
        # and the interval is of the gain from knee to knee: how well the number of cores is known is not.
        seen_yield = done_by_all_vcpus(levels, vcpus, curve.effective_cores) / topology.cores_told - 1
        curve = replace(curve, turbo=None, smt_yield=seen_yield, smt_yield_interval=None)
        ends = [end for end in (topology.cores_told, vcpus) if end]
        if all(abs(knee / end - 1) > NEAR for knee in curve.knees for end in ends):
            curve = _without_knees(curve)
    curve = _bent_within(len(context.core_by_cpu), curve)
    curve = _no_more_than(vcpus, _in_whole_cpus(record, ref, curve))
    room = cpu_time_per_s(record)
    peak = None
    if record.header.plan.experiment == SWEEP and ref is not None and ref.busy == 1:
        peak = unmeasured_peak(levels, curve, vcpus, cores, room, len(context.core_by_cpu))
        curve = replace(curve, more_between=peak and peak.between)
    return _open_upwards(levels, ref, room, curve, peak), topology


def _open_upwards(
    levels: Sequence[LevelView],
    ref: Reference | None,
    room: float | None,
    curve: Scaling,
    peak: UnmeasuredPeak | None,
) -> Scaling:
    """With an interval up to all CPUs where no level kept them busy, or up to as many as may have done more."""
    within = curve.effective_cores_interval
    if within is None or ref is None or room is None:
        return curve
    if peak is not None:
        most = min(room, float(peak.between[1]))  # no session has more than a CPU
        most = min(most, within.high * peak.at_most) if peak.at_most else most
    elif has_idle_cpus(levels, ref.busy, curve, room):
        most = room
    else:
        return curve
    return replace(curve, effective_cores_interval=Interval(within.low, max(within.high, most)))


def _where_cores_end(record: RunRecord, cores: int | None, vcpus: int | None, curve: Scaling) -> Scaling:
    """Of cores of two kinds, without knees that are neither where the fast ones end nor where all cores or CPUs do.

    Each kind adds alike, so the curve bends nowhere else: that one is by who ends early, or by turbo.
    """
    if not has_two_kinds(record):
        return curve
    ends = [end for end in (fast_cores(record), cores, vcpus) if end]
    if all(any(abs(knee / end - 1) <= NEAR for end in ends) for knee in curve.knees):
        return curve
    return _without_knees(curve)


def _one_bend_for_two(quota: float | None, cores: int | None, curve: Scaling) -> Scaling:
    """Under a quota above the cores shown, without knees that leave no room for one at the cores.

    The curve bends at the cores, and falls from the quota on: a fit of one bend for both lies above every level.
    """
    if quota is None or cores is None or quota <= cores or not curve.knee_intervals:
        return curve
    return _without_knees(curve) if curve.knee_intervals[0].low > ABOVE_CORES * cores else curve


def _without_knees(curve: Scaling) -> Scaling:
    """Without them and what is said of them; what the curve says of throughput stays."""
    return replace(curve, knees=(), knee_intervals=(), further=None, left_out=None)


def _bent_within(cpus: int, curve: Scaling) -> Scaling:
    """Without knees beyond the CPUs that sessions may use, whatever their quota: a few per cent of that are noise."""
    if not cpus:
        return curve
    kept = [at for at, knee in enumerate(curve.knees) if knee <= (1 + NEAR) * cpus]
    intervals = [curve.knee_intervals[at] for at in kept] if curve.knee_intervals else []
    return replace(
        curve,
        knees=tuple(min(curve.knees[at], float(cpus)) for at in kept),
        knee_intervals=tuple(Interval(min(each.low, cpus), min(each.high, cpus)) for each in intervals),
    )


def _in_whole_cpus(record: RunRecord, ref: Reference | None, curve: Scaling) -> Scaling:
    """Effective cores, in rates of a single session, as CPUs: what it did not have, or did not want, is taken off."""
    cores, within = curve.effective_cores, curve.effective_cores_interval
    if cores is None or ref is None:
        return curve
    slowed = worth_counting(ref.counted_slowdown)
    part = ref.busy / slowed
    if slowed > 1 and ref.busy < 1 and ref.cpu_s is not None:
        part = ref.cpu_s / ref.elapsed_s  # of work that waits by itself, what was counted as lost is no wait of its own
    quota = quota_of(record) or float("inf")
    if within is not None:
        within = Interval(min(within.low * part, quota), min(within.high * part, quota))
    return replace(curve, effective_cores=min(cores * part, quota), effective_cores_interval=within)


def _no_more_than(vcpus: int | None, curve: Scaling) -> Scaling:
    """Without effective cores beyond the vCPUs: these are noise of the baseline, or much more, and then it is wrong."""
    cores, within = curve.effective_cores, curve.effective_cores_interval
    if vcpus is None or cores is None:
        return curve
    if cores > EQUAL * vcpus:
        return replace(curve, effective_cores=None, effective_cores_interval=None)
    if within is not None:
        within = Interval(min(within.low, vcpus), min(within.high, vcpus))
    return replace(curve, effective_cores=min(cores, float(vcpus)), effective_cores_interval=within)


class VariantsBeside:
    """Explains single variants of runs as ``explain_variants`` does: the first one of each run once, whoever asks."""

    def __init__(self) -> None:
        self._first: list[tuple[RunRecord, RunRecord, Analysis, SingleSessions | None]] = []

    def explain(self, part: RunRecord, whole: RunRecord) -> Analysis:
        """``part``: one variant of ``whole``, or some of its rounds."""
        if len(real_variants(whole)) < 2:
            return explained(part)[0]
        first = _first_variant(whole)
        known = next((each for each in self._first if each[0] == whole), None)
        if known is None:
            own = one_variant(whole, first)
            known = (whole, own, *explained(own, in_turns=True))
            self._first.append(known)
        _, own, analysis, alone = known
        if part.header.plan.variants[0] != first:
            return explained(part, known=alone, in_turns=True)[0]
        return analysis if part == own else explained(part, in_turns=True)[0]


def _first_variant(record: RunRecord) -> str:
    """The first one with a round."""
    done = {each.variant for each in record.rounds}
    return next((name for name in real_variants(record) if name in done), record.header.plan.variants[0])


def explain_variants(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> dict[str, Analysis]:
    """Each variant by itself, on the CPUs that it left; one session alone under the first is the reference for all."""
    names = [name for name in real_variants(record) if any(each.variant == name for each in record.rounds)]
    first = _first_variant(record)
    in_turns = len(real_variants(record)) > 1
    analysis, alone = explained(one_variant(record, first), licence_rules, None, in_turns)
    found = {first: analysis}
    for name in names[1:]:
        found[name], _ = explained(one_variant(record, name), licence_rules, alone, in_turns)
    return found
