"""Explains the rounds of one variant: the answers in the order in which they need each other. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dbcpu.analysis.causes.attribution import attribute, watch
from dbcpu.analysis.causes.shared_core_cost import shared_core
from dbcpu.analysis.causes.without_host import likely
from dbcpu.analysis.checks import checks
from dbcpu.analysis.checks.check_input import Facts
from dbcpu.analysis.checks.verdict import verdict
from dbcpu.analysis.levels.consistency import gate, groups, levels, work
from dbcpu.analysis.levels.noise_floor import noise_floor
from dbcpu.analysis.levels.per_round import one_variant, real_variants
from dbcpu.analysis.levels.representative_round import telling_level, usual_order
from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.levels.stickiness import with_stickiness
from dbcpu.analysis.placement.regimes import core_count, usable_cores, vcpu_count
from dbcpu.analysis.placement.valid_sessions import timed
from dbcpu.analysis.results.run import Analysis, Reference
from dbcpu.analysis.scaling.capacity import capacity
from dbcpu.analysis.scaling.curve import scaling, with_seen_yield
from dbcpu.analysis.scaling.licences import facts_of, licences
from dbcpu.analysis.scaling.topology_check import topology_check
from dbcpu.config.rulebook import shipped
from dbcpu.config.rules import Licence
from dbcpu.record import RunRecord


def explain_variant(
    record: RunRecord, licence_rules: Sequence[Licence] | None = None, known: Reference | None = None
) -> Analysis:
    """Explain a record of one variant; ``known`` is the reference of another variant, if that is what counts."""
    sessions = timed(record)
    ref = known or reference(record, sessions)
    seen = watch(record, sessions)
    views = attribute(record, sessions, ref, groups(sessions, ref), seen)
    vcpus, cores, places = vcpu_count(record), core_count(record), usable_cores(record)
    rows = record.header.plan.workload.rows
    level_views = levels(sessions, views, ref, rows, vcpus, cores, places)
    variant = level_views[0].variant if level_views else ""
    threads = tuple(Counter(places.values()).values()) if vcpus == len(places) else ()
    first, sticky = with_stickiness([e for e in level_views if e.variant == variant], threads, gate(ref))
    shared = shared_core(sessions, seen, views, ref)
    curve = scaling(first, work(sessions, variant), rows, ref, vcpus, cores)
    curve = with_seen_yield(replace(curve, stickiness=sticky), shared, threads)
    own = [each for each in views.values() if each.variant == variant]
    topology = topology_check(record, first, own, curve, ref, vcpus, cores)
    if topology is not None and topology.two_speeds and topology.cores_told and curve.effective_cores:
        # Placed by chance over cores that nobody knows, sessions bend the curve as turbo would.
        curve = replace(curve, turbo=None, smt_yield=curve.effective_cores / topology.cores_told - 1)
    first = likely(first, sessions, curve, ref, vcpus, cores)
    level_views = (*first, *(each for each in level_views if each.variant != variant))
    floor = noise_floor(record, sessions, rows)
    room = capacity(first, curve, ref, vcpus, cores)
    rules = shipped() if licence_rules is None else licence_rules
    facts = Facts(
        record, sessions, tuple(views.values()), level_views, ref, vcpus, cores, curve, topology, floor, shared
    )
    telling = telling_level(first, gate(ref))
    return Analysis(
        run_id=record.header.run_id,
        verdict=verdict(record, first, ref, vcpus, topology),
        reference=ref,
        levels=level_views,
        sessions=tuple(views[each.key] for each in sessions),
        scaling=curve,
        findings=checks(facts),
        capacity=room and replace(room, licences=licences(rules, facts_of(record, vcpus, cores))),
        topology=topology,
        noise_floor=floor,
        vcpus=vcpus,
        cores=cores,
        telling_order=None if telling is None else usual_order(telling, views.values()),
        shared_core=shared,
    )


def explain_variants(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> dict[str, Analysis]:
    """Each variant by itself, on the CPUs that it left; one session alone under the first is the reference for all."""
    names = [name for name in real_variants(record) if any(each.variant == name for each in record.rounds)]
    first = names[0] if names else record.header.plan.variants[0]
    found = {first: explain_variant(one_variant(record, first), licence_rules, None)}
    for name in names[1:]:
        found[name] = explain_variant(one_variant(record, name), licence_rules, found[first].reference)
    return found
