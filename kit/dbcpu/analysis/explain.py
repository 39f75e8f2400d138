"""Composes the answers: a record in, everything the renderers show out. Pure."""

from collections import Counter
from dataclasses import replace

from dbcpu.analysis.attribution import attribute, watch
from dbcpu.analysis.base import Analysis
from dbcpu.analysis.capacity import capacity
from dbcpu.analysis.checks import checks
from dbcpu.analysis.comparison import Comparison
from dbcpu.analysis.consistency import gate, groups, levels, rates
from dbcpu.analysis.facts import Facts
from dbcpu.analysis.licences import default_rules, facts_of, licences, parse_rules
from dbcpu.analysis.managed import likely
from dbcpu.analysis.noise_floor import noise_floor
from dbcpu.analysis.reference import reference
from dbcpu.analysis.regimes import core_count, usable_cores, vcpu_count
from dbcpu.analysis.scaling import scaling
from dbcpu.analysis.shared_core import shared_core
from dbcpu.analysis.spans import timed
from dbcpu.analysis.stickiness import with_stickiness
from dbcpu.analysis.telling import telling_level, usual_order
from dbcpu.analysis.topology_check import topology_check
from dbcpu.analysis.verdict import verdict
from dbcpu.record import RunRecord


def explain(record: RunRecord, licence_rules: str | None = None) -> Analysis:
    """Explain a run; works on any record, also one that failed or was interrupted.

    ``licence_rules``: TOML text, by default the rules that come with dbcpu. Raises UsageError if it is wrong.
    """
    sessions = timed(record)
    ref = reference(record, sessions)
    seen = watch(record, sessions)
    views = attribute(record, sessions, ref, groups(sessions, ref), seen)
    vcpus, cores, places = vcpu_count(record), core_count(record), usable_cores(record)
    rows = record.header.plan.workload.rows
    level_views = levels(sessions, views, ref, rows, vcpus, cores, places)
    variant = level_views[0].variant if level_views else ""
    threads = tuple(Counter(places.values()).values()) if vcpus == len(places) else ()
    first, sticky = with_stickiness([e for e in level_views if e.variant == variant], threads, gate(ref))
    curve = replace(scaling(first, rates(sessions, variant, rows), ref, vcpus, cores), stickiness=sticky)
    own = [each for each in views.values() if each.variant == variant]
    topology = topology_check(record, first, own, curve, ref, vcpus, cores)
    if topology is not None and topology.two_speeds and topology.cores_told and curve.effective_cores:
        # Placed by chance over cores that nobody knows, sessions bend the curve as turbo would.
        curve = replace(curve, turbo=None, smt_yield=curve.effective_cores / topology.cores_told - 1)
    first = likely(first, sessions, curve, ref, vcpus, cores)
    level_views = (*first, *(each for each in level_views if each.variant != variant))
    floor = noise_floor(record, sessions, rows)
    room = capacity(first, curve, ref, vcpus, cores)
    rules = parse_rules(default_rules() if licence_rules is None else licence_rules)
    shared = shared_core(sessions, seen, views, ref)
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
        comparison=_variants_compared(record),
    )


def _variants_compared(record: RunRecord) -> Comparison | None:
    if len({each.variant for each in record.rounds}) < 2:
        return None
    from dbcpu.analysis.compare import compare_variants  # it explains every variant by itself

    return compare_variants(record)
