"""All parts of a result held against each other: verdict, headline, table, capacity, findings, checks, figures.

Each rule is written from what a reader sees, and not from the code that makes it.
"""

import math
import re
from collections.abc import Callable, Iterator

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.history.limits import check
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.levels.lasting_throughput import lasting_by_level
from dbcpu.analysis.levels.level_losses import counted_alone
from dbcpu.analysis.placement.usable_cpus import core_by_cpu
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.config.check_limits import CheckLimits
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import RunRecord, Session
from dbcpu.reports.documents.run_summary import cause_counts
from dbcpu.reports.documents.run_summary import summary as summary_lines

EXACT = 1e-9
YES, NO, UNDECIDED = Answer.YES, Answer.NO, Answer.UNDECIDED


def contradictions(record: RunRecord, analysis: Analysis) -> list[str]:
    """A sentence for each contradiction; of the first variant of a sweep."""
    variant = analysis.levels[0].variant if analysis.levels else ""
    levels = [each for each in analysis.levels if each.variant == variant and each.sessions]
    return [text for rule in RULES for text in rule(record, analysis, levels)]


def _rows(_: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    for each in levels:
        where, ratio, slowdown = f"N={each.level}", each.max_over_min or 1.0, each.slowdown_median or 1.0
        counted = round(each.counted_slowdown or 1.0, 2)
        if each.even is YES and (ratio > 1.15 or (each.slow or 0.0) >= 0.5):
            yield f"{where} is called equal at max/min {ratio:.2f} with {each.slow} slow sessions"
        if each.even is NO and round(ratio, 2) <= 1.10:
            yield f"{where} is called unequal at max/min {ratio:.2f}"
        if each.full_speed is YES and (slowdown >= 1.10 or counted > 1.10):
            yield f"{where} is called full speed at {slowdown:.2f}x, {counted:.2f}x counted"
        # Work that waits shares CPUs before that slows anybody.
        if each.full_speed is YES and each.level > (analysis.vcpus or each.level) and analysis.busy == 1:
            yield f"{where} is called full speed on {analysis.vcpus} vCPUs"
        if each.full_speed is NO and max(slowdown, counted) <= 1.10:
            yield f"{where} is called slow at {slowdown:.2f}x, {counted:.2f}x counted"
        if each.efficiency is not None and not 0 <= each.efficiency <= 1:
            yield f"{where} has an efficiency of {each.efficiency:.0%}"
        low, high = each.slowdown_low, each.slowdown_high
        if low is not None and high is not None and not low * (1 - EXACT) <= slowdown <= high * (1 + EXACT):
            yield f"{where}: {slowdown:.3f}x is outside {low:.3f} to {high:.3f}"
        if each.detectable is not None and not each.detectable > 1:
            yield f"{where} could have shown a slowdown of {each.detectable:.2f}x"


def _words(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    said, shown = analysis.verdict, headline(analysis)
    together = [each for each in levels if each.level > 1]
    if analysis.reference is None or not together:
        # What a single session loses is counted, and needs nobody beside it.
        alone = "bad" if any(each.full_speed is NO for each in levels) else "unknown"
        if "equal CPU" in said or shown.kind != (alone if analysis.reference else "unknown"):
            yield f"an answer without a baseline or levels: {said}"
        return
    if "baseline is not reliable" in said:
        possible = [each.throughput / each.ideal_throughput for each in together
                    if each.throughput and each.ideal_throughput]  # fmt: skip
        if max(possible, default=1.0) <= 1.5 or shown.kind != "unknown":
            yield f"the baseline is called unreliable: {said} / {shown.headline}"
        return
    fine = re.search(r"(?:Up to|every (?:measured )?level up to) (\d+) sessions?", said)
    if fine and not all(_fine(each) for each in together if each.level <= int(fine[1])):
        yield f"the verdict calls levels up to {fine[1]} fine that are not: {said}"
    yes = re.search(r"(?:Yes|Equal CPU|full speed)[^;,]* up to (\d+)", shown.headline)
    if yes and not all(_fine(each) for each in together if each.level <= int(yes[1])):
        yield f"the headline calls levels up to {yes[1]} fine that are not: {shown.headline}"
    if bool(fine) is not bool(yes) and "even a single session" not in shown.headline:
        yield f"verdict and headline differ: {said} / {shown.headline}"
    wanted = _kind(analysis, levels, _without_whole_round(record))
    if shown.kind != wanted:
        yield f"the answer is {shown.kind}, the levels say {wanted}: {shown.headline}"
    open_ = re.search(r"[Ii]nconclusive at N=([\d,-]+)", said)
    undecided = {each.level for each in _within(analysis, together) if not _fine(each) and not _lost(each)}
    undecided -= _without_whole_round(record)
    if (_numbers(open_[1]) if open_ else set()) != undecided:
        yield f"inconclusive are {sorted(undecided)}, the verdict says: {said}"
    half = {each.level for each in together if _lost(each) and each.even is UNDECIDED} - _without_whole_round(record)
    asked = re.search(r"inconclusive whether shares are equal at N=([\d,-]+)", said)
    if not half <= (_numbers(asked[1]) if asked else set()) and "even a single session" not in shown.headline:
        yield f"whether shares are equal is inconclusive at {sorted(half)}, the verdict says: {said}"
    if shown.kind in ("bad", "partly") and not shown.remedy:
        yield f"something is lost and nothing helps: {shown.headline}"


def _remedies(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    remedy, host = headline(analysis).remedy, record.header.host
    if host is None:
        return
    kernel = re.match(r"(\d+)\.(\d+)", host.kernel)
    if "mainline 6.6" in remedy and kernel and (int(kernel[1]), int(kernel[2])) >= (6, 6):
        yield f"the remedy asks for a kernel that is there ({host.kernel}): {remedy}"
    # By the host: a quota may leave no more vCPUs than there are cores, of which each has several threads.
    if remedy.startswith("run one session per core") and all(len(each.siblings) == 1 for each in host.topology.cpus):
        yield f"the remedy is about SMT, and there is none: {remedy}"


def _causes(_: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """The first cause of a row of the table, that in the verdict and that of the figure above are one."""
    second = {each.level: each.second_cause.words for each in levels}
    named = {each.level: [cause.words for cause, _ in each.causes if cause is not Cause.NONE] for each in levels}
    counted = {each.level: each.counted_cause.words for each in levels if each.counted_cause is not Cause.NONE}
    for at, every in re.findall(r"[Aa]t (\d+) sessions [^(;.]*\(([^:;)]+)", analysis.verdict):
        words, _, also = every.removesuffix(" as well").replace(", and unequal through ", ", and ").partition(", and ")
        others = re.split(", | and ", also) if also else []
        if not {*others} <= {second[int(at)], *named[int(at)][1:]}:
            yield f"the verdict says {also} as well at N={at}, the level {second[int(at)]}"
        if words in {cause.words for cause in Cause} and words not in (*named[int(at)][:1], counted.get(int(at))):
            yield f"the verdict says {words} at N={at}, the table {named[int(at)]}"
    for fact in headline(analysis).facts:
        found = re.search(r"N = (\d+)$", fact.beside)
        if fact.name != "main cause" or found is None:
            continue
        at = int(found[1])
        if "of the time" not in fact.beside and "as the kernel" not in fact.beside and [fact.value] != named[at][:1]:
            yield f"the main cause is {fact.value} at N={at}, the table says {named[at]}"
        ends = "of its time", "x", "in the others none", "by the kernel's count"
        lost = [f"{end} ({fact.value})" for end in ends]
        if at == 1 and not any(words in analysis.verdict for words in lost):
            yield f"the main cause is {fact.value} of a single session, the verdict says: {analysis.verdict}"


def _order(_: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """Causes stand in one order: in the data, in the table and in the verdict."""
    for each in levels:
        listed = [cause.words for cause, _ in each.causes if cause is not Cause.NONE]
        shown = [part for part in re.sub(r" \([^)]*\)|; [^;]* lost$", "", cause_counts(each)).split(", ") if part]
        if [words for words in shown if words in listed] != [words for words in listed if words in shown]:
            yield f"N={each.level} has the causes {listed}, the table {shown}"
        said = re.search(rf"[Aa]t {each.level} sessions? [^(;.]*\(([^)]*)\)", analysis.verdict)
        named = sorted((said[1].find(words), words) for words in shown if words in said[1]) if said else []
        if [words for _, words in named] != [words for words in shown if (said[1] if said else "").count(words)]:
            yield f"N={each.level} has {shown} in the table, the verdict says: {said and said[1]}"


def _above(_: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """Verdict and headline pass over no shares that are unequal above the vCPUs, and say turns where sessions wait."""
    uneven = [each.level for each in levels if analysis.vcpus and each.level > analysis.vcpus and each.even is NO]
    told = re.search(r"bove the [^:;]*? shares are unequal(?: at N=([\d,-]+))?", analysis.verdict)
    silent = analysis.reference is None or "baseline is not reliable" in analysis.verdict
    if uneven and not silent and (told is None or (told[1] and not set(uneven) <= _numbers(told[1]))):
        yield f"shares are unequal at {uneven}, the verdict says: {analysis.verdict}"
    short, lost = headline(analysis).headline, [e for e in levels if e.level > (analysis.vcpus or 0) and _lost(e)]
    named = re.search(r"above .* unequal(?: shares)?(?: at N=([\d,-]+))?", short)
    wanted = set(uneven) if named and named[1] else {each.level for each in lost}
    if named and wanted != (_numbers(named[1]) if named[1] else set(uneven)):
        yield f"shares are unequal at {uneven}, the headline says: {short}"
    known = [{cause for cause, _ in each.causes if cause.is_known} for each in lost]
    waited = any(not causes or Cause.RUN_QUEUE in causes for causes in known)
    if lost and not waited and re.search("bove .* (take turns|wait .*at times)", f"{short} {analysis.verdict}"):
        yield f"no session waits for a CPU, headline and verdict say: {short} / {analysis.verdict}"


def _usable(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """A throughput that is said beside fewer usable cores. One that loses time alone counts as less than a core."""
    room, reference, vcpus = analysis.capacity, analysis.reference, analysis.vcpus
    slow_alone = counted_alone(levels) > 1 or any(each.level == 1 and each.full_speed is NO for each in levels)
    if room is None or reference is None or vcpus is None or slow_alone or reference.busy < 1:
        return
    if room.usable_cores is None or room.peak_throughput is None or levels[-1].level < vcpus:
        return
    quota = (record.header.host.limits.quota_cpus if record.header.host else None) or vcpus
    shown = room.peak_throughput / reference.mrows_per_s
    if room.usable_cores < min(shown, quota, vcpus) / 1.06:
        yield f"{room.usable_cores:.2f} usable cores beside a throughput of {shown:.2f} single sessions"


def _capacity(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    room = analysis.capacity
    if room is None:
        return
    if room.even_up_to and not all(each.even is YES for each in levels if each.level <= room.even_up_to):
        yield f"capacity is even up to {room.even_up_to}, the table is not"
    if room.full_speed_up_to and not all(_fine(each) for each in levels if each.level <= room.full_speed_up_to):
        yield f"capacity is at full speed up to {room.full_speed_up_to}, the table is not"
    busy = analysis.reference.busy if analysis.reference else 1.0
    wanted = analysis.vcpus / busy if analysis.vcpus and analysis.reference else None
    whole = lasting_by_level(levels, analysis.vcpus, wanted, len(core_by_cpu(record))).values()
    if (room.peak_throughput or 0.0) > max(whole):
        yield f"the most throughput is {room.peak_throughput}, and no level has as much"
    cores = analysis.scaling.effective_cores
    if cores is not None and analysis.vcpus is not None and cores > analysis.vcpus + 1e-9:
        yield f"{cores:.2f} effective cores on {analysis.vcpus} vCPUs"


def _findings(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    codes = {each.code for each in analysis.findings}
    uneven = any(each.even is NO for each in levels)
    within = any(each.even is NO for each in _within(analysis, levels))
    if within and "uneven-sessions" not in codes:
        yield "uneven-sessions is missing"
    if "uneven-sessions" in codes and not uneven:
        yield "uneven-sessions is said"
    if "slow-together" in codes and not any(_lost(each) for each in levels):
        yield "slow-together is said, and no level has a loss"
    if "sticky-placement" in codes and not uneven:
        yield "sticky-placement is said, and no level is unequal"
    no_round = _without_whole_round(record)
    answered = [each for each in _within(analysis, levels) if each.level > 1 and each.level not in no_round]
    undecided = any(not _fine(each) and not _lost(each) for each in answered)
    if analysis.reference is not None and ("inconclusive" in codes) is not undecided:
        yield f"inconclusive is {'missing' if undecided else 'said'}"


def _limits(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    lost = {each.level for each in levels if _lost(each)}
    for each in check(record.header, run_figures(record, analysis), (), CheckLimits()):
        if each.metric in ("slowdown", "max_over_min") and not each.inconclusive and each.level not in lost:
            yield f"check: {each.text}; the table shows no loss there"


def _figures(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    scaling = analysis.scaling
    cpus = len(record.header.host.topology.cpus) if record.header.host is not None else math.inf
    if any(knee > cpus for knee in scaling.knees):
        yield f"knees at {scaling.knees} on {cpus} CPUs"
    for knee, interval in zip(scaling.knees, scaling.knee_intervals, strict=False):
        if not interval.low <= knee <= interval.high:
            yield f"knee {knee:.2f} is outside {interval.low:.2f} to {interval.high:.2f}"
    gain, within = scaling.smt_yield, scaling.smt_yield_interval
    if within is not None and gain is not None and not within.low - EXACT <= gain <= within.high + EXACT:
        yield f"yield {gain:.3f} is outside {within.low:.3f} to {within.high:.3f}"
    for each in levels:
        known = [each.throughput, each.slowdown_median, each.slowdown_max, each.max_over_min, each.cv]
        if not all(math.isfinite(value) and value >= 0 for value in known if value is not None):
            yield f"N={each.level} has figures {known}"


def _fine(level: LevelView) -> bool:
    return level.even is YES and level.full_speed is YES


def _lost(level: LevelView) -> bool:
    return NO in (level.even, level.full_speed)


def _within(analysis: Analysis, levels: list[LevelView]) -> list[LevelView]:
    return [each for each in levels if analysis.vcpus is None or each.level <= analysis.vcpus]


def _kind(analysis: Analysis, levels: list[LevelView], no_round: set[int]) -> str:
    within, together = _within(analysis, levels), [each for each in levels if each.level > 1]
    if any(_lost(each) for each in within):
        return "bad"
    if any(not _fine(each) for each in within) or any(n <= (analysis.vcpus or n) for n in no_round):
        return "unknown"
    beyond = [each for each in together if each not in within and (each.level not in no_round or _lost(each))]
    together = [each for each in together if each in within or each in beyond]
    if len(beyond) == len(together):
        return "partly" if all(_lost(each) for each in beyond) else "unknown"
    return "partly" if any(_lost(each) for each in beyond) else "good"


def _numbers(text: str) -> set[int]:
    found = set()
    for part in text.rstrip("-,").split(","):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def _curve(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """The line `scaling` against the rows: linear means that each session adds as much as one alone does."""
    said = dict(summary_lines(record, analysis)).get("scaling", "")
    linear = re.search(r"linearly up to ([\d.]+)", said)
    slow = [each.level for each in levels if linear and 1 < each.level <= float(linear[1]) and _lost(each)]
    if slow:
        yield f"throughput is called linear, sessions are slower at N={slow}: {said}"
    if "all sessions have a slowdown" in said and "cores of two kinds" in analysis.verdict:
        yield f"some sessions are on slower cores, not all have a slowdown: {said}"
    wanted = set(auto_levels(analysis.vcpus, analysis.cores)) if analysis.vcpus is not None else set()
    asks = "`--sessions auto`" in said, "`--sessions auto`" in analysis.verdict
    missing = wanted - {each.level for each in record.rounds}
    if wanted and ((asks[0] and not missing) or (asks[1] and not {n for n in missing if n <= (analysis.vcpus or 0)})):
        yield f"other levels are asked for, and all were measured: {said} / {analysis.verdict}"


def _sentences(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """Sentences that are false whatever was measured, and remedies that ask for something else than the verdict."""
    said, remedy = analysis.verdict, headline(analysis).remedy
    if re.search(r"loses 0(\.0)? %", said):
        yield f"a loss of nothing: {said}"
    if "below 1.10x are within noise" in said:
        yield f"a slowdown below 1.10x counts as none: {said}"
    pair = analysis.vcpus == 2 and any(fact.beside.endswith("N = 2") for fact in headline(analysis).facts)
    if "of one core, though" in said and pair and "ThreadsPerCore" not in remedy:
        yield f"the verdict says one core, the remedy {remedy}"
    asked = "show whether CPUs share cores" in said and headline(analysis).kind == "unknown"
    if asked and "--sessions auto" not in remedy:
        yield f"the verdict asks for all levels, the remedy for: {remedy}"
    for each in analysis.sessions:
        off = [text for text in str(each.evidence).split("; ") if text.startswith("off-CPU")]
        if len(off) > 1 and any(text.endswith("reason unknown") for text in off):
            yield f"the same time is explained and unknown: {off}"


def _no_round(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """A level of which no round is whole is named as that wherever the run is answered, and nowhere as another."""
    lost, shown, said = _without_whole_round(record), headline(analysis), analysis.verdict
    if set(analysis.levels_lost) != lost:
        yield f"no round is whole at {sorted(lost)}, in the data at {analysis.levels_lost}"
    for name, text in (("headline", shown.headline), ("verdict", said)):
        named = re.search(r"no whole round at N=([\d,-]+)|N=([\d,-]+) ha(?:s|ve) no whole round", text)
        where = _numbers(named[1] or named[2]) if named else set()
        if where != lost and not text.startswith("Nothing was measured:"):
            yield f"no round is whole at {sorted(lost)}, the {name} says: {text}"
        for up_to in re.findall(
            r"(?:Up|up) to (\d+) sessions?[^;.]*(?:equal|full speed)|[Ee]qual[^;.]* up to (\d+)", text
        ):
            if fine := {n for n in lost if 1 < n <= int(up_to[0] or up_to[1])}:
                yield f"no round is whole at {sorted(fine)}, the {name} calls it fine: {text}"
        for open_ in re.findall(r"nconclusive at N=([\d,-]+)", text):
            if asked := lost & _numbers(open_) - {1}:
                yield f"no round is whole at {sorted(asked)}, more rounds are to decide: {text}"
    if lost and not shown.advice:
        yield f"no round is whole at {sorted(lost)}, and nothing helps: {shown.headline}"


def _no_level(record: RunRecord, analysis: Analysis, levels: list[LevelView]) -> Iterator[str]:
    """What is left of the sessions of such a level is no figure of it."""
    lost = _without_whole_round(record)
    for each in levels:
        has = [each.throughput, each.makespan_throughput, each.lasting_throughput, each.efficiency]
        if each.level in lost and has != [None] * len(has):
            yield f"N={each.level} has no whole round, and the rates {has}"
        if each.level in lost and each.level > 1 and YES in (each.even, each.full_speed):
            yield f"N={each.level} has no whole round, the table says equal {each.even}, full speed {each.full_speed}"
    room = analysis.capacity
    for most in (room.even_up_to, room.full_speed_up_to) if room else ():
        if most and any(1 < n <= most for n in lost):
            yield f"no round is whole at {sorted(lost)}, the line capacity says: up to {most}"


def _without_whole_round(record: RunRecord) -> set[int]:
    """By the record alone, of the first variant: levels of which each round failed, or has a session that did."""
    rounds = [each for each in record.rounds if each.variant == record.rounds[0].variant]
    whole = {each.level for each in rounds if not each.error and all(map(_counts, each.sessions))}
    return {each.level for each in rounds} - whole


def _counts(session: Session) -> bool:
    stamps = [one.server_elapsed_s for one in session.executions if one.server_elapsed_s is not None]
    return not session.error and bool(session.executions) and bool(session.answer_ok) and min(stamps, default=0.0) >= 0


RULES: tuple[Callable[[RunRecord, Analysis, list[LevelView]], Iterator[str]], ...] = (
    _rows, _words, _remedies, _causes, _order, _above, _capacity, _usable, _findings, _limits, _figures,
    _curve, _sentences, _no_round, _no_level,
)  # fmt: skip
