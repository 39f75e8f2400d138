"""The figures of a run, as ``dbcpu.record.figures`` names them. Pure."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline, one_word
from dbcpu.analysis.history.limits import history_key
from dbcpu.analysis.history.past_figures import HISTORY_FIGURES, as_text, past_figures
from dbcpu.analysis.host_usage.host_time import throttled_shares, typical_foreign_share, typical_share
from dbcpu.analysis.placement.usable_cpus import bounding_quota
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.quote import AT_LEAST
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.record.figures import FINDING, LONGEST_VARIANT, Figure, RunFigures
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import Round, RunRecord

_BySession = Mapping[tuple[int, int], float | None]
"""Seconds by round order and ordinal."""
_Stolen = Callable[[Iterable[Round]], float | None]
"""Gives the typical share of steal, None where it is not known."""
ANSWERED = {Answer.YES: 1.0, Answer.NO: 0.0}


def run_figures(record: RunRecord, analysis: Analysis, rounds: int | None = None) -> RunFigures:
    """Those of a record and its analysis, known ones only; ``rounds``: of the run, where the record has not all."""
    many = len(record.rounds) if rounds is None else rounds
    stolen: _Stolen = _unknown if steal_unseen(record) else typical_share
    found = [*_of_run(record, analysis, many, stolen), *_findings(analysis)]
    elapsed_s = {(each.order, each.ordinal): each.elapsed_s for each in analysis.sessions if each.valid}
    by_level: dict[tuple[int, str], list[Round]] = {}
    for each in record.rounds:
        by_level.setdefault((each.level, each.variant), []).append(each)
    jobs = {size.active: size.x_alone for size in analysis.pool.sizes} if analysis.pool else {}
    for view in analysis.levels:
        rounds_of_it = by_level.get((view.level, view.variant), [])
        found += _of_level(view, rounds_of_it, elapsed_s, stolen)
        found += _known({"job_x": jobs.get(view.level)}, view.level, _short(view.variant))
    return RunFigures([*found, Figure(HISTORY_FIGURES, text=as_text(past_figures(RunFigures(found))))])


def _unknown(_: Iterable[Round]) -> None:
    """Where the hypervisor reports no steal."""


def _of_run(record: RunRecord, analysis: Analysis, rounds: int, stolen: _Stolen) -> Iterator[Figure]:
    answer, ref, scale, room = headline(analysis), analysis.reference, analysis.scaling, analysis.capacity
    yield Figure("verdict", text=one_word(analysis))
    texts = {
        "headline": answer.headline,
        "lost_to": next((fact.cause.value for fact in answer.facts if fact.cause), ""),
        "disturbance": analysis.disturbance,
        "unit": analysis.unit,
        "variant": _short(analysis.levels[0].variant) if analysis.levels else "",
        "history_key": json.dumps(history_key(record.header)),
    }
    yield from (Figure(metric, text=text) for metric, text in texts.items() if text)
    knees = dict(zip(("knee_sessions", "second_knee_sessions"), scale.knees, strict=False))
    intervals = dict(zip(knees, scale.knee_intervals, strict=False))
    speeds = analysis.two_speeds
    yield from _known(
        {
            "rounds": float(rounds),
            "variants": float(len({each.variant for each in analysis.levels})) if analysis.levels else None,
            "vcpus": analysis.vcpus,
            "cpu_quota": bounding_quota(record),
            "cores": analysis.cores,
            "solo_s": ref.elapsed_s if ref else None,
            "solo_mrows_per_s": ref.mrows_per_s if ref else None,
            "tolerance_share": ref.tolerance if ref else None,
            "peak_mrows_per_s": room.peak_throughput if room else None,
            "equal_up_to_sessions": room.even_up_to if room else None,
            "full_speed_up_to_sessions": room.full_speed_up_to if room else None,
            "two_speeds_x": speeds.factor if speeds else None,
            "two_speeds_share": speeds.slow_share if speeds else None,
            "steal_share": stolen(record.rounds),
            "others_share": typical_foreign_share(record.rounds, analysis.vcpus),
        }
    )
    if (check := analysis.topology) is not None:
        yield Figure("scales_like_cores", value=check.cores_told, text=check.verdict)
    if ref is not None:
        yield Figure("noise_share", value=ref.spread, low=ref.noise_low, high=ref.noise_high)
    if room is not None and room.usable_cores is not None:
        found = _within("usable_cores", room.usable_cores, room.usable_cores_interval)
        yield replace(found, text=AT_LEAST) if room.usable_cores_at_least else found
    if room is not None and room.evenness is not None:
        found = _within("evenness", room.evenness.value, room.evenness.interval)
        yield replace(found, text=room.evenness.even.value)
        yield Figure("evenness_sessions", value=float(room.evenness.level))
    if scale.smt_yield is not None:
        yield _within("smt_yield_share", scale.smt_yield, scale.smt_yield_interval)
    for metric, knee in knees.items():
        yield _within(metric, knee, intervals.get(metric))


def _findings(analysis: Analysis) -> Iterator[Figure]:
    """A line per code: of several with one code, as of several variants, all that was seen."""
    seen: dict[str, list[str]] = {}
    for each in analysis.findings:
        seen.setdefault(each.code, []).append(each.seen)
    for code, texts in seen.items():
        worst = max(each.level for each in analysis.findings if each.code == code)
        yield Figure(f"{FINDING}{code}", value=worst / 10, text="; ".join(texts))


def _of_level(view: LevelView, rounds: Sequence[Round], elapsed_s: _BySession, stolen: _Stolen) -> Iterator[Figure]:
    details = view.details
    values = {
        "elapsed_s": view.median_s,
        "elapsed_p50_s": details.p50_s if details else None,
        "elapsed_p95_s": details.p95_s if details else None,
        "elapsed_p99_s": details.p99_s if details else None,
        "throughput_mrows_per_s": view.throughput,
        "makespan_mrows_per_s": view.makespan_throughput,
        "efficiency_share": view.efficiency,
        "slowdown_max_x": view.slowdown_max,
        "cv_share": view.cv,
        "counted_slowdown_x": view.counted_slowdown,
        "slow_sessions": view.slow,
        "run_delay_share": _typical_share(rounds, _run_delays, elapsed_s),
        "level_steal_share": stolen(rounds),
        "throttled_share": _typical_share(rounds, throttled_shares, elapsed_s),
        "cpu_used_share": details.utilisation if details else None,
        "connect_s": view.connect_median_s,
    }
    at = (view.level, _short(view.variant))
    yield from _known(values, *at)
    if view.slowdown_median is not None:
        yield Figure("slowdown_x", *at, view.slowdown_median, view.slowdown_low, view.slowdown_high)
    if view.max_over_min is not None:
        yield Figure("max_over_min_x", *at, view.max_over_min, high=view.even_bound)
    for metric, answer in (("even", view.even), ("full_speed", view.full_speed)):
        yield Figure(metric, *at, ANSWERED.get(answer), text=answer.value)
    yield Figure("main_cause", *at, text=view.main_cause.value)


def _short(variant: str) -> str:
    """As long as its column takes; still its own where two begin alike."""
    if len(variant) <= LONGEST_VARIANT:
        return variant
    return f"{variant[: LONGEST_VARIANT - 9]}~{hashlib.sha256(variant.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _typical_share(
    rounds: Iterable[Round], lost: Callable[[Round], Mapping[int, float]], elapsed_s: _BySession
) -> float | None:
    """Median over the sessions of what they lost, by ordinal, of their elapsed time."""
    shares = [
        lost_s / whole_s
        for each in rounds
        for ordinal, lost_s in lost(each).items()
        if (whole_s := elapsed_s.get((each.order, ordinal)))
    ]
    return median(shares) if shares else None


def _run_delays(round_: Round) -> Mapping[int, float]:
    return {each.ordinal: each.run_delay_s for each in round_.sessions if each.run_delay_s is not None}


def _known(values: Mapping[str, float | None], level: int = 0, variant: str = "") -> Iterator[Figure]:
    return (Figure(metric, level, variant, float(value)) for metric, value in values.items() if value is not None)


def _within(metric: str, value: float, interval: Interval | None) -> Figure:
    return Figure(metric, value=value, low=interval.low if interval else None, high=interval.high if interval else None)
