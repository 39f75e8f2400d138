"""What an experiment adds to the explanation of a run: its figures, and its verdict."""

from collections.abc import Iterable

from msgspec.structs import replace

from dbcpu.analysis.experiments.disturbance_caveat import disturbance_caveat
from dbcpu.analysis.experiments.pool import measured_sizes, pool
from dbcpu.analysis.experiments.pool_sentences import (
    fewer_may_do,
    in_turn_words,
    lost_words,
    pool_conclusion,
    pool_sentence,
    without_smaller_pool,
)
from dbcpu.analysis.experiments.soak import Course
from dbcpu.analysis.experiments.soak_sentences import soak_conclusion, soak_sentence
from dbcpu.analysis.experiments.together import together
from dbcpu.analysis.experiments.together_sentences import together_conclusion, together_sentence
from dbcpu.analysis.levels.lost_levels import FailureCount
from dbcpu.analysis.levels.representative_round import usual_order
from dbcpu.analysis.results.experiments import Soak
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import InSoak, that_ended, timed, whys_by_itself
from dbcpu.record.header import POOL, TOGETHER, Header
from dbcpu.record.rounds import Round, RunRecord

MAX_KEPT = 60
"""Rounds of a soak that are explained one by one: of more, evenly spaced ones."""


def thinned(header: Header, rounds: Iterable[Round], failures: FailureCount | None = None) -> tuple[RunRecord, Soak]:
    """Rounds of a soak, read once: those to be explained one by one (of the first size), and the whole course.

    Of a session that ended an execution in some segment such a one is kept: else it seems to have failed. ``failures``
    counts what failed in all of them.
    """
    course, kept, step = Course(header), [], 1
    shown = dict[InSoak, Round]()
    variant = header.plan.variants[0] if header.plan.sizes else None
    for at, each in enumerate(rounds):
        whys = whys_by_itself(each, header)
        course.add(each, whys)
        if failures is not None:
            failures.add(each, whys)
        if variant not in (None, each.variant):
            continue
        shown = dict.fromkeys(that_ended(each), each) | shown
        if each.anchor or at % step == 0:
            kept.append(each)
        if len(kept) > MAX_KEPT:
            step *= 2
            kept = [one for place, one in enumerate(kept) if one.anchor or place % 2 == 0]
    missing = shown.keys() - set[InSoak]().union(*map(that_ended, kept))
    also = {shown[one].order: shown[one] for one in missing}
    return RunRecord(header, tuple(sorted((*kept, *also.values()), key=lambda each: each.order))), course.result()


def with_soak(analysis: Analysis, soak: Soak) -> Analysis:
    """The soak's course, and its verdict."""
    analysis = replace(analysis, soak=soak)
    verdict = f"{soak_sentence(soak, analysis)} {disturbance_caveat(analysis)}".rstrip()
    return replace(analysis, verdict=verdict, experiment=soak_conclusion(soak, analysis), capacity=None)


def with_experiment(analysis: Analysis, record: RunRecord) -> Analysis:
    """The same for a pool and for several targets; other runs are as they were."""
    kind = record.header.plan.experiment
    if kind == POOL:
        sessions = timed(record)
        found = pool(record, sessions, analysis.vcpus, analysis.busy)
        lost = found.lost if found else measured_sizes(record)
        said = (
            pool_sentence(found, record, analysis) + in_turn_words(found)
            if found
            else f"No pool finished all of its jobs.{lost_words(lost)}"
        )
        verdict, conclusion = (
            f"{said} {disturbance_caveat(analysis)}".rstrip(),
            pool_conclusion(found, fewer_may_do(found, record, analysis)),
        )
        findings = without_smaller_pool(analysis.findings, found)
        return replace(
            analysis,
            pool=found,
            verdict=verdict,
            experiment=conclusion,
            findings=findings,
            capacity=None,
            levels_lost=lost,
        )
    if kind == TOGETHER:
        both = together(record, timed(record), analysis.sessions)
        said, conclusion = together_sentence(both, analysis), together_conclusion(both)
        verdict = f"{said} {disturbance_caveat(analysis)}".rstrip()
        order = _order_together(analysis)
        return replace(
            analysis, together=both, verdict=verdict, experiment=conclusion, capacity=None, telling_order=order
        )
    return analysis


def _order_together(analysis: Analysis) -> int | None:
    """The round to be drawn: one of all targets together, as the headline is of these; else one of the first alone."""
    beside = next((each for each in analysis.levels if each.variant == TOGETHER and each.sessions), None)
    order = usual_order(beside, analysis.sessions) if beside else None
    return analysis.telling_order if order is None else order
