"""The page of a comparison: its front, and the order of its sections."""

from collections.abc import Iterable, Sequence

from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.second_threads import of_sides
from dbcpu.analysis.comparison.sentences import (
    LEFT_OUT,
    NAMES,
    at_full_load,
    detectable_words,
    left_out_words,
    metric_words,
    pool_words,
    quoted_evenness,
    sizes_words,
    state_words,
    unshown_words,
)
from dbcpu.analysis.comparison.sizing import Sizing
from dbcpu.analysis.results.answer import Fact, Outcome
from dbcpu.analysis.results.comparison import (
    HOST_STATE,
    LESS,
    MORE,
    NOT_KNOWN,
    NOT_MEASURED,
    NOT_SHOWN,
    OTHER_WORK,
    SPREAD,
    TOO_FEW,
    Comparison,
    Decision,
    Side,
)
from dbcpu.formatting import listed, number, percent, plural, rate, times
from dbcpu.record.findings import Finding
from dbcpu.record.header import ROWS_UNIT
from dbcpu.reports.document import Chart, Front, Section
from dbcpu.reports.documents.comparing_document import pictured
from dbcpu.reports.documents.sizing import SAME_KIND, cost_words, smt_off_words

MAX_NAMED = 3
"""With more hosts than this a headline counts them."""
MAX_TILES = 6
READINGS = {
    "bars": (
        "All figures are relative to the baseline = 1; the thin lines are 95 % confidence intervals. Higher {unit} and "
        "evenness are better. Lower max/min is more even."
    ),
    "panels": (
        "Every mark is a session; its colour and shape are the cause, the line is the median. All panels have the same "
        "axes. All marks of one N on one line: even. Two clouds above one N: a fast and a slow group."
    ),
    "scaling": (
        "Throughput relative to a single session. Along the dashed line every further session adds as much as the "
        "first; after a knee, cores are shared, and where the curve is flat, all CPUs are used."
    ),
}
ONLY_CPU = (
    "Measured with CPU-only SQL: storage, network and memory bandwidth of the hosts are not part of this comparison."
)
TERMS = (
    ("N", "concurrent sessions; each is a database connection that does the same fixed work"),
    ("Mrows/s", "million rows per second; the work is fixed, so that more is faster"),
    ("max/min", "slowest / fastest session of a round: 1.00 is the same CPU for all sessions"),
    ("evenness", "fastest / slowest session at the least even level up to the vCPUs of a host: 1.00 is even"),
    ("full load", "as many sessions as there are vCPUs"),
    ("SMT yield", "throughput that the second hardware thread of a core adds, as a share of the first"),
    ("usable cores", "top of the throughput curve, in rates of a single session that has a whole CPU"),
    ("95 % interval", "confidence interval: the range of ratios that is consistent with these runs"),
    ("p", "how likely noise without any difference would give such a result"),
    ("no difference shown", "no significant difference; that does not mean that the two are the same"),
    ("-", "not known from these records; never zero"),
)


def front(comparison: Comparison, sizing: Sizing | None, findings: Sequence[Finding] = ()) -> Front:
    """Headline, tone, the figures in tiles, and what the claim rests on."""
    names = [side.name for side in comparison.sides]
    heading = f"{listed(names[1:])} compared with {names[0]}"
    unsure = (*_found(comparison, findings), *_one_run_a_side(comparison), *_undecided(comparison))
    caveats = (*([" ".join(unsure)] if unsure else []), *of_sides(comparison))
    if sizing is None or not sizing.needs:
        return Front(
            f"How do {'scaling' if comparison.other_work else 'throughput'} and evenness of the hosts differ?",
            heading,
            _headline(comparison),
            _tone(comparison),
            sentences=tuple(filter(None, [pool_words(comparison.sides)])),
            tiles=tuple(_side_tile(side, comparison) for side in comparison.sides[:MAX_TILES]),
            caveats=caveats,
        )
    cores = f"{plural(sizing.busy or 0, 'busy core')} of {sizing.old.name}"
    sides = comparison.sides[1:]
    others = tuple(f"{side.name}: {_against(side, comparison.baseline)}." for side in sides)
    if len(others) > MAX_NAMED:
        others = ("How each host differs is below, under Decisions and method.",)
    return Front(
        "How many vCPUs of another host does this work need?",
        heading,
        f"{cores} {'needs' if sizing.busy == 1 else 'need'} {_needs(sizing.needs)}{_slower_alone(comparison, sizing)}",
        sentences=(sizing.sentence, *smt_off_words(sizing), *others),
        tiles=tuple(map(_need_tile, sorted(sizing.needs, key=lambda need: not cost_words(need))[:MAX_TILES])),
        caveats=caveats,
    )


def limits(comparison: Comparison, sizing: Sizing | None) -> tuple[str, ...]:
    """What the answer does not cover: below it on a page, which it would fill."""
    sized, counted = sizing is not None and bool(sizing.needs), ""
    if sizing is not None and any(need.at_equal_shares for need in sizing.needs):
        counted = (
            f"Only levels count at which the slowest session takes at most {sizing.ratio:g} times as long as the "
            "fastest. "
        )
    return (
        f"{SAME_KIND} {counted}{ONLY_CPU}" if sized else ONLY_CPU,
        *(_licences(sizing) if sized and sizing is not None else ()),
        *unseen_words(_decisions(comparison)),
        *filter(None, (left_out_words(side) for side in comparison.sides[1:])),
    )


def page_sections(
    comparison: Comparison,
    sections: Sequence[Section],
    charts: Sequence[Chart],
    notes: tuple[str, ...],
    findings: tuple[Finding, ...] = (),
    sizing: Sizing | None = None,
) -> tuple[Section, ...]:
    """The sections in the order of a page, with the charts."""
    known = limits(comparison, sizing)
    by_name = {section.name: section for section in sections}
    beside = {"bars": ("At a glance", by_name["figures"].tables), "panels": ("", by_name["levels"].tables)}
    pictures = []
    as_delivered = ", by times as delivered" if comparison.as_delivered else ""
    for chart in charts:
        title, tables = beside.get(chart.name, ("", ()))
        pictures.append(pictured(chart, comparison.in_unit(READINGS[chart.name]), tables, title))
    return (
        pictures[0],
        Section("limits", "What this comparison does not cover", notes=known),
        *([Section("findings", f"Findings of these runs{as_delivered}", findings=findings)] if findings else []),
        *(by_name[name] for name in ("sizing", "ranking", "differences") if name in by_name),
        *(() if charts[0].name == "bars" else (by_name["figures"],)),
        *pictures[1:],
        *(by_name[name] for name in ("loads", "pools") if name in by_name),
        by_name["runs"],
        by_name["hosts"],
        Section("decided", "Decisions and method", notes=(*comparison.verdict, *(n for n in notes if n not in known))),
        Section("reading", "How to read it", terms=_terms(comparison)),
    )


def _terms(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """What another unit is only its source can say."""
    return tuple(each for each in TERMS if comparison.unit == ROWS_UNIT or each[0] != ROWS_UNIT)


def _needs(needs: Sequence[Need]) -> str:
    if len(needs) <= MAX_NAMED:
        return listed([need.words for need in needs], "or")
    ordered = sorted(needs, key=lambda need: need.vcpus)
    ends = [f"{need.vcpus_words} ({need.kind.name})" for need in (ordered[0], ordered[-1])]
    return f"{ends[0]} to {ends[1]}"


def _slower_alone(comparison: Comparison, sizing: Sizing) -> str:
    """``; a single session takes 1.50x as long there``, of hosts that are sized, where it is shown; '' for none.

    More vCPUs make up for it in total, and never for one session.
    """
    sized = {need.kind.name for need in sizing.needs}
    noise = 1 + comparison.floor.level if comparison.floor else 1.0
    slower: list[tuple[str, float]] = []
    for side in comparison.sides[1:]:
        solo = side.figure("solo")
        if side.name in sized and solo.ratio and solo.high is not None and solo.high < 1 and solo.ratio < 1 / noise:
            slower.append((side.name, 1 / solo.ratio))
    slower = [(name, ratio) for name, ratio in slower if round(ratio, 2) > 1]
    if not slower:
        return ""
    alone = "a single session takes"
    if len(slower) > MAX_NAMED:
        most = times(max(ratio for _, ratio in slower))
        return f"; on {len(slower)} of {len(sized)} {alone} longer, up to {most} as long"
    if len(sized) == 1:
        return f"; {alone} {times(slower[0][1])} as long there"
    return f"; {alone} {listed([f'{times(ratio)} as long on {name}' for name, ratio in slower])}"


def _need_tile(need: Need) -> Fact:
    kind = need.kind
    counted = [plural(need.licences, kind.licence.unit if kind.licence else "licence")] if need.licences else []
    price = cost_words(need)
    cores = [f"{plural(need.cores, 'core')} {kind.cores_from}".rstrip()] if need.cores else []
    words = [*cores, *counted, *([price] if price else [])] if need.is_decided else [_why_open(need)]
    return Fact(kind.name, need.vcpus_words, ", ".join(words))


def _why_open(need: Need) -> str:
    if need.by_totals:
        return "if only the total counts: shares are unequal"
    if need.kind.leaves_quota:
        return "from the total alone to equal shares: these leave CPUs of the quota"
    if need.kind.core_throughput is not None:
        return "from the total alone to one session on each core that vCPUs share unseen"
    return "throughput is inconclusive"


def _side_tile(side: Side, comparison: Comparison) -> Fact:
    """Where some side has other work, speeds are not put beside each other."""
    done, even = side.figure("throughput"), side.figure("evenness").value
    if comparison.other_work:
        cores = side.figure("effective_cores").value
        scaled = f", {side.at_least_words}{number(cores)} usable cores" if cores is not None else ""
        if even is None:
            return Fact(side.name, number(side.figure("spread").value), f"{metric_words(comparison, SPREAD)}{scaled}")
        value = number(even)
        return Fact(side.name, value, f"evenness{quoted_evenness(side).removeprefix(value)}{scaled}")
    words = [f"{comparison.unit} at full load"]
    words += [times(done.ratio)] if done.ratio is not None else []
    words += [f"evenness {quoted_evenness(side)}"] if even is not None else []
    return Fact(side.name, rate(done.value), ", ".join(words))


def _headline(comparison: Comparison) -> str:
    base, others = comparison.baseline, comparison.sides[1:]
    if len(others) <= MAX_NAMED:
        single = any(each.shown and each.between_run_source == NOT_KNOWN for _, each in _decisions(comparison))
        # Of several hosts evenness is on their tiles and in the sentences below: a headline is read at once.
        brief = len(others) > 1 and not comparison.other_work
        clauses = "; ".join(f"{side.name} {_against(side, base, brief=brief)}" for side in others)
        return f"{clauses} (one run a side)" if single else clauses
    if comparison.other_work:
        return f"Evenness and scaling of {len(others)} others compared with {base.name}; speed is not compared"
    more, less = (
        sum(each.summary != SPREAD and each.outcome == outcome for side in others for each in side.decisions)
        for outcome in (MORE, LESS)
    )
    return f"Of {len(others)} hosts {more} have more throughput than {base.name} and {less} have less"


def _against(side: Side, base: Side, *, brief: bool = False) -> str:
    """The decisions on a side; ``brief``: without that on evenness, where there is another."""
    decisions = [each for each in side.decisions if each.outcome != OTHER_WORK]
    if brief:
        decisions = [each for each in decisions if each.summary != SPREAD] or decisions
    words = [_clause(each, side, base) for each in decisions]
    apart = "; speed is not compared, as the work differs" if side.other_work else ""
    if all(each.outcome in (TOO_FEW, OTHER_WORK) for each in side.decisions):
        return f"compared with {base.name}: inconclusive, too few rounds{apart}"
    gains = {_is_gain(each) for each in decisions if each.shown}
    # What is no sentence of its own, such as "evenness: no claim", stands apart.
    glue = "; " if any(": " in each for each in words) else ", but " if len(gains) > 1 else ", and "
    return glue.join(words) + apart


def _is_gain(each: Decision) -> bool:
    """More throughput, or less imbalance."""
    return (each.outcome == LESS) == (each.summary == SPREAD)


def _clause(each: Decision, side: Side, base: Side) -> str:
    """One decision; of one run a side what these runs did, and not what the hosts are."""
    share = percent(abs((each.ratio or 1.0) - 1))
    has, are, than = "has", "are", ""
    if each.between_run_source == NOT_KNOWN:
        has, are, than = ("now has", "are now", " than then") if each.then else ("had", "were", " in this run")
    if each.summary == SPREAD:
        at = each.levels.partition(" (")[0]  # without how many levels these are
        words = {MORE: f"its sessions {are} less even{than} (max/min at {at} {share} higher)",
                 LESS: f"its sessions {are} more even{than} (max/min at {at} {share} lower)"}  # fmt: skip
        if each.shown:
            one, other = (side, base) if each.outcome == LESS else (base, side)
            return words[each.outcome] + (_beside_uneven(side, base) if one.even == "no" != other.even else "")
        elsewhere = _one_is_even(side, base) if each.outcome in (NOT_SHOWN, NOT_MEASURED) else ""
        what = f"{NAMES[SPREAD]} at {at}" if at else NAMES[SPREAD]
        return elsewhere or f"{what}: {_unshown(each)}{_beside_uneven(side, base)}"
    sizes = sizes_words(each, base, side)
    where = f"at full load{f' ({sizes})' if sizes else ''}" if at_full_load(each, base, side) else f"at {each.levels}"
    words = {MORE: f"{has} {share} more throughput {where}{than}", LESS: f"{has} {share} less throughput {where}{than}"}
    return words.get(each.outcome, f"throughput: {_unshown(each)}")


def _one_is_even(side: Side, base: Side) -> str:
    """Where max/min does not differ at the levels of both, and at others one of the two is uneven; else ''."""
    values = [number(each.figure("evenness").value) for each in (side, base)]
    words = {
        ("yes", "no"): "its sessions were even up to its vCPUs ({}), those of {} were not ({})",
        ("no", "yes"): "its sessions were not even up to its vCPUs ({}), those of {} were ({})",
    }
    return words.get((side.even, base.even), "").format(values[0], base.name, values[1])


def _beside_uneven(side: Side, base: Side) -> str:
    """What is quoted of both, where one of them is not even at some level: max/min may be of other levels; else ''."""
    if "no" not in (side.even, base.even):
        return ""
    quoted = [f"{each.name} {quoted_evenness(each)}" for each in (side, base) if each.even]
    return f" (evenness: {'; '.join(quoted)})"


def _unshown(each: Decision) -> str:
    known = {
        TOO_FEW: "inconclusive, too few rounds",
        NOT_MEASURED: "not measured in both",
        HOST_STATE: f"no claim, {state_words(each)}",
    }
    return known.get(each.outcome, unshown_words(each))


def _tone(comparison: Comparison) -> Outcome:
    shown = [each for side in comparison.sides[1:] for each in side.decisions if each.shown]
    better = [each for each in shown if _is_gain(each)]
    if not shown:
        return Outcome.NEITHER
    return Outcome.GOOD if len(better) == len(shown) else Outcome.PARTLY if better else Outcome.BAD


def _found(comparison: Comparison, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What was found in the runs of which side: the details are in the section of findings."""
    if not findings:
        return ()
    named = [
        (each.code, [side.name for side in comparison.sides if each.code in {own.code for own in side.findings}])
        for each in findings
    ]
    words = "; ".join(f"`{code}` ({listed(names)})" for code, names in named)
    return (f"Figures are not corrected for what was found in these runs: {words}.",)


def _one_run_a_side(comparison: Comparison) -> tuple[str, ...]:
    if all(each.between_run_source != NOT_KNOWN for _, each in _decisions(comparison)):
        return ()
    return (
        f"One run a side: {LEFT_OUT}, so a difference may come from the hour, not from the hosts. "
        "With four runs a side or more, `dbcpu compare RUN1,RUN2,RUN3,RUN4 RUN5,RUN6,RUN7,RUN8` includes it.",
    )


def _undecided(comparison: Comparison) -> tuple[str, ...]:
    few = [(name, each) for name, each in _decisions(comparison) if each.outcome == TOO_FEW]
    if not few:
        return ()
    names, remedies = (
        list(dict.fromkeys(part)) for part in zip(*((name, each.remedy) for name, each in few), strict=True)
    )
    return (f"Not decided for {listed(names)}: too few rounds were measured. What can decide: {listed(remedies)}.",)


def unseen_words(decided: Iterable[tuple[str, Decision]]) -> tuple[str, ...]:
    """No difference found does not mean that there is none: the smallest that these rounds could show."""
    missed = [
        f"{name}: less than {detectable_words(each)} in {NAMES[each.summary]}"
        for name, each in decided
        if each.outcome == NOT_SHOWN and each.detectable is not None
    ]
    if not missed:
        return ()
    return (
        f"No difference shown does not mean that there is none. Too small to be detected by these rounds: "
        f"{'; '.join(missed)}.",
    )


def _decisions(comparison: Comparison) -> list[tuple[str, Decision]]:
    return [(side.name, each) for side in comparison.sides[1:] for each in side.decisions]


def _licences(sizing: Sizing) -> tuple[str, ...]:
    """The disclaimer, where licences or prices are shown."""
    if not sizing.disclaimer or not any(need.licences or need.price for need in sizing.needs):
        return ()
    return (f"{sizing.disclaimer[0].upper()}{sizing.disclaimer[1:]}.",)
