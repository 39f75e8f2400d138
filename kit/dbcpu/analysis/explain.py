"""Composes the answers: a record in, everything the renderers show out. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbcpu.analysis.attribution import attribute, watch
from dbcpu.analysis.base import Analysis, Reference
from dbcpu.analysis.capacity import capacity
from dbcpu.analysis.checks import checks
from dbcpu.analysis.comparison import Variants
from dbcpu.analysis.consistency import gate, groups, levels, work
from dbcpu.analysis.experiments import thinned, with_experiment, with_soak
from dbcpu.analysis.facts import Facts
from dbcpu.analysis.licences import facts_of, licences
from dbcpu.analysis.managed import likely
from dbcpu.analysis.noise_floor import noise_floor
from dbcpu.analysis.per_round import one_variant, real_variants
from dbcpu.analysis.reference import reference
from dbcpu.analysis.regimes import core_count, usable_cores, vcpu_count
from dbcpu.analysis.scaling import scaling, with_seen_yield
from dbcpu.analysis.shared_core import shared_core
from dbcpu.analysis.spans import timed
from dbcpu.analysis.stickiness import with_stickiness
from dbcpu.analysis.telling import telling_level, usual_order
from dbcpu.analysis.topology_check import topology_check
from dbcpu.analysis.verdict import verdict
from dbcpu.errors import UsageError
from dbcpu.record import Header, Round, RunRecord
from dbcpu.rulebook import shipped
from dbcpu.rules import Licence


def explain(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> Analysis:
    """Explain a run; works on any record, also one that failed or was interrupted.

    ``licence_rules``: those of the user's configuration; by default the ones that come with dbcpu.
    """
    return explain_rounds(record.header, record.rounds, licence_rules)[1]


def explain_rounds(
    header: Header, rounds: Iterable[Round], licence_rules: Sequence[Licence] | None = None
) -> tuple[RunRecord, Analysis]:
    """The same of rounds that are read one by one, with the record that pictures can be drawn of.

    Of a soak only some rounds are in it, so that one of days needs little memory.
    """
    if header.plan.experiment == "soak":
        kept, soak = thinned(header, rounds)
        return kept, with_soak(_explain(kept, licence_rules, None), header, soak)
    record = RunRecord(header, tuple(rounds))
    if header.plan.experiment != "sweep":
        return record, with_experiment(_explain(record, licence_rules, None), record)
    return record, _swept(record, licence_rules)


def _swept(record: RunRecord, licence_rules: Sequence[Licence] | None) -> Analysis:
    if not real_variants(record):
        return _explain(record, licence_rules, None)
    found = explain_variants(record, licence_rules)
    first, *others = found.items()
    told = {each.code for each in first[1].findings}
    more = [
        replace(each, seen=f"under {name}: {each.seen}")
        for name, analysis in others
        for each in analysis.findings
        if each.code not in told
    ]
    sessions = [each for _, analysis in (first, *others) for each in analysis.sessions]
    return replace(
        first[1],
        levels=tuple(each for _, analysis in (first, *others) for each in analysis.levels),
        sessions=tuple(sorted(sessions, key=lambda each: (each.order, each.ordinal))),
        findings=tuple(sorted((*first[1].findings, *more), key=lambda each: -each.level)),
        variants=_compared(record, found),
    )


def explain_variants(record: RunRecord, licence_rules: Sequence[Licence] | None = None) -> dict[str, Analysis]:
    """Each variant by itself, on the CPUs that it left; one session alone under the first is the reference for all."""
    names = [name for name in real_variants(record) if any(each.variant == name for each in record.rounds)]
    first = names[0] if names else record.header.plan.variants[0]
    found = {first: _explain(one_variant(record, first), licence_rules, None)}
    for name in names[1:]:
        found[name] = _explain(one_variant(record, name), licence_rules, found[first].reference)
    return found


def _explain(record: RunRecord, licence_rules: Sequence[Licence] | None, known: Reference | None) -> Analysis:
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


def _compared(record: RunRecord, found: Mapping[str, Analysis]) -> Variants | None:
    from dbcpu.analysis.variants import compare_variants, measured_variants  # they explain variants by this module

    try:
        return compare_variants(record, measured_variants(record, found))
    except UsageError:  # fewer than two have a valid round
        return None
