"""The curve in words: where it bends, what second threads add, and whether that is like the cores shown."""

from dbcpu.analysis.conclusions.open_questions import STEADY
from dbcpu.analysis.levels.level_losses import is_loss
from dbcpu.analysis.placement.usable_cpus import bounding_quota
from dbcpu.analysis.results.host import Scaling, TopologyCheck
from dbcpu.analysis.results.run import REGIME_SHARE, Analysis
from dbcpu.analysis.scaling.curve import MISFIT, NEAR
from dbcpu.analysis.scaling.topology_check import has_two_kinds, widened
from dbcpu.formatting import listed, number, percent, plural, times
from dbcpu.record.header import SWEEP
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import RunRecord

TWO_KINDS = "the host has cores of two kinds: a session on a slower core adds less"
LEVELS_OF_A_CURVE = 4
"""Fewer levels show no knee, see docs/methods.md."""


def scaling_words(record: RunRecord, analysis: Analysis) -> str:
    """Knees, yield, and whether the host scales like the cores that it shows; '' without levels."""
    scaling, check = analysis.scaling, analysis.topology
    grouped = check is not None and check.two_speeds
    if not scaling.knees and not grouped:
        none, gain = _no_knee(record, analysis), scaling.smt_yield
        if none and gain is not None and bounding_quota(record) is not None:
            return f"{none}; {_yield(analysis, gain, seen=True)}"
        return none
    # Placed by chance over cores that the kernel does not know, sessions bend the curve anywhere, or nowhere.
    anywhere = grouped and not (check and _near(scaling, check))
    parts = [] if anywhere or analysis.vcpus == 1 else _knees(scaling, _linear(analysis), _most(record, analysis))
    two_kinds = has_two_kinds(record)
    if analysis.cores == 1 and (analysis.vcpus or 0) > 1 and scaling.saturated is None:
        parts = [f"the {analysis.vcpus} vCPUs are threads of one core"]
    if two_kinds:
        parts.append(TWO_KINDS)
    elif scaling.turbo is not None and scaling.turbo >= REGIME_SHARE:
        until = scaling.turbo_until
        where = "on the way" if until is None else f"over the first {number(until, 0)}"
        slowest = times(1 / max(1 - scaling.turbo, 0.01))
        parts.append(f"all sessions have a slowdown of up to {slowest} {where}")
    if scaling.smt_yield is not None:
        seen = bounding_quota(record) is not None  # of sessions on one core: no curve shows it then
        parts.append(_yield(analysis, scaling.smt_yield, seen=seen))
    if scaling.left_out is not None:
        parts.append(f"N={scaling.left_out} deviates from all other levels and is left out")
    if check is not None:
        parts.append(_topology(check))
    return "; ".join(parts)


def _no_knee(record: RunRecord, analysis: Analysis) -> str:
    """Why the line says nothing of knees; '' where nobody would expect any."""
    variant = analysis.levels[0].variant if analysis.levels else ""
    # A level without a throughput was measured nevertheless: in each of its rounds something failed.
    measured = [each for each in analysis.levels if each.variant == variant]
    levels = [each.level for each in measured if each.throughput is not None]
    if record.header.plan.experiment != SWEEP or len(levels) < LEVELS_OF_A_CURVE - 1 or analysis.reference is None:
        return ""
    if analysis.scaling.fit_error is not None:
        quota, cores = bounding_quota(record), analysis.cores
        if quota is not None and cores is not None and quota > cores and levels[-1] > cores:
            return (
                f"inconclusive where the throughput bends first: at the cores ({cores}) or at the CPU quota "
                f"({number(quota, 1)})"
            )
        is_highest = levels[-1] == measured[-1].level
        highest = f"the highest level {'measured' if is_highest else 'that has a throughput'}"
        none = f"no knee was found up to {plural(levels[-1], 'session')}, {highest}"
        if analysis.scaling.fit_error > MISFIT:
            none += f" (the fit misses these levels by {percent(analysis.scaling.fit_error)} and is not drawn)"
        return f"{none}; {TWO_KINDS}" if has_two_kinds(record) else none
    if len(levels) < LEVELS_OF_A_CURVE:
        less = len(levels) < len(measured)
        have = f"only {len(levels)} have a throughput" if less else f"{len(levels)} were measured"
        return f"no curve: it needs {LEVELS_OF_A_CURVE} levels or more, and {have}"
    all_levels = set(auto_levels(analysis.vcpus, analysis.cores)) if analysis.vcpus is not None else None
    known = all_levels is not None and all_levels <= {each.level for each in measured}
    auto = known or record.header.plan.rounds is None
    noisy = analysis.reference.spread > STEADY or bool(analysis.disturbance)
    helps = (
        ("; a quieter host may help" if noisy else "")
        if auto
        else "; `--sessions auto` measures those near possible knees"
    )
    return f"no curve was found that fits the throughput of these levels{helps}"


def _near(scaling: Scaling, check: TopologyCheck) -> bool:
    """Whether the first knee is at as many cores as the check found."""
    cores = check.cores_told
    return cores is not None and any(abs(each / cores - 1) <= NEAR for each in scaling.knees[:1])


def _linear(analysis: Analysis) -> bool:
    """Whether no level up to the first knee has a loss: else a session adds less than one alone does."""
    knee = round(analysis.scaling.knees[0], 1)  # as it is printed
    within = [each for each in analysis.levels if 1 < each.level <= knee and each.variant == analysis.levels[0].variant]
    return not any(map(is_loss, within))


def _most(record: RunRecord, analysis: Analysis) -> float:
    """No curve bends beyond the vCPUs, unless sessions leave them to others meanwhile, or a quota holds them back."""
    if bounding_quota(record) is not None:
        return float("inf")
    return analysis.vcpus / analysis.busy if analysis.vcpus else float("inf")


def _knees(scaling: Scaling, linear: bool, most: float) -> list[str]:
    """Each knee with its 95 % interval, where there is one; none above ``most``."""
    known = scaling.knee_intervals or (None,) * len(scaling.knees)
    words = []
    for knee, interval in zip(scaling.knees, known, strict=True):
        wide = widened(knee, interval)
        low, high = (min(each, most) for each in (wide.low, wide.high))
        within = f" (95 % CI {number(low, 1)} to {number(high, 1)})" if interval else ""
        words.append(f"{number(min(knee, most), 1)} sessions{within}")
    falls = scaling.further is not None and scaling.further < 0
    slope = "then falls until" if falls else "then with a smaller slope up to"
    first = "throughput scales linearly up to" if linear else "throughput bends at"
    fall, knee = scaling.fall, scaling.knees[0]
    if fall is not None and fall.from_level < knee and abs(fall.to_level / knee - 1) <= NEAR:
        first = f"throughput falls from {plural(fall.from_level, 'session')} on, until"
    return [f"{first} {words[0]}", *(f"{slope} {each}" for each in words[1:])]


def _yield(analysis: Analysis, gain: float, *, seen: bool) -> str:
    """What the sessions beyond the cores add; of SMT where siblings are shown or ``seen``, or two speeds show it."""
    interval = analysis.scaling.smt_yield_interval
    threads = analysis.vcpus / analysis.cores if analysis.vcpus and analysis.cores else 1.0
    shown = seen or threads > 1 or (analysis.topology is not None and analysis.topology.two_speeds)
    if gain < 0:
        within = f" (95 % CI {percent(-interval.high)} to {percent(-interval.low)})" if interval else ""
        if not shown:
            return f"the sessions beyond that cost {percent(-gain)}{within}"
        if interval is not None and interval.high >= 0:
            return f"SMT costs {percent(-gain)}{within}"
        return f"the second thread costs {percent(-gain)}{within}: without SMT the host would do more"
    within = f" (95 % CI {percent(interval.low)} to {percent(interval.high)})" if interval else ""
    if not shown:
        return f"the sessions beyond that add {percent(gain)}{within}"
    if not seen and threads > 1 and gain > threads - 1:  # a quota has so many CPUs, and a core more threads
        return "a further thread adds as much as a core"
    return f"SMT adds {percent(gain)}{within}"


def _topology(check: TopologyCheck) -> str:
    missing = f" ({listed(check.unmeasured)} not measured)" if check.unmeasured else ""
    like = f"like {number(check.cores_told, 0)} cores" if check.cores_told else "like fewer cores"
    like = f"{'probably ' if check.unmeasured else ''}scales {like}"
    what = "how many cores there are" if check.cores is None else "whether there are as many cores as reported"
    words = {
        "agrees": "consistent with the reported topology",
        "unclear": f"not verified {what}: {check.why}",
        "fewer_cores": f"{like} although {check.cores} are reported{missing}",
        "like_full_cores": "scales as if each hardware thread were a core",
    }
    return words.get(check.verdict, f"{like}{missing}")
