"""What the page of a comparison shows first, and its order: the answer, one picture, sizes, what differs, detail."""

from collections.abc import Iterable, Sequence

from dbcpu.analysis.checks.headline import BAD, GOOD, PARTLY, Fact
from dbcpu.analysis.comparison.sizing import Need, Sizing
from dbcpu.analysis.results.comparison import (
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    TOO_FEW,
    Comparison,
    Decision,
    Side,
)
from dbcpu.formatting import listed, number, percent, plural, rate, times
from dbcpu.reports.document import Chart, Front, Section
from dbcpu.reports.documents.lines import pictured
from dbcpu.reports.documents.sizing import SAME_KIND, money

MAX_NAMED = 3
"""With more hosts than this a headline counts them."""
MAX_TILES = 6
READINGS = {
    "bars": (
        "Everything is over the baseline, which is 1; the thin lines are 95 % intervals. More Mrows/s is more work "
        "done. Less max/min is more even: the slowest session is nearer to the fastest."
    ),
    "panels": (
        "Every mark is a session, by what took its loss; the line is the median. All panels have the same axes. "
        "Everybody on one line is fair; two clouds above one N are winners and losers."
    ),
    "scaling": (
        "How much more work many sessions do than one alone. Along the dashed line every further session adds as much "
        "as the first; where a curve bends, cores are shared, and where it is flat, the host is full."
    ),
}
ONLY_CPU = (
    "Measured with SQL that needs CPU only and asks for no disk: storage, network and memory of the hosts are not part "
    "of this."
)
TERMS = (
    ("N", "sessions at once: each is a database connection that does the same fixed work"),
    ("Mrows/s", "million rows per second; the work is fixed, so that more is faster"),
    ("max/min", "slowest over fastest session of a round: 1.00 is the same CPU for everybody"),
    ("full load", "as many sessions as there are vCPUs"),
    ("SMT yield", "what the second hardware thread of a core adds, as a share of the first"),
    ("effective cores", "the most work done, in rates of one session alone"),
    ("95 % interval", "the range in which the ratio lies, as far as the rounds of these runs can say"),
    ("p", "how likely chance alone would show such a difference"),
    ("no difference shown", "these runs could not tell the two apart; that does not mean that they are the same"),
    ("-", "cannot be told from these records; never zero"),
)


def front(comparison: Comparison, sizing: Sizing | None) -> Front:
    """Headline, tone, the figures in tiles, and what the claim rests on."""
    names = [side.name for side in comparison.sides]
    heading = f"{listed(names[1:])} against {names[0]}"
    unsure = (*_undecided(comparison), *unseen(_decisions(comparison)))
    if sizing is None or not sizing.needs:
        return Front(
            "What does each host give to the database, and to every session of it?",
            heading,
            _headline(comparison),
            _tone(comparison),
            tiles=tuple(_side_tile(side) for side in comparison.sides[:MAX_TILES]),
            caveats=(ONLY_CPU, *unsure),
        )
    cores = f"{plural(sizing.busy or 0, 'busy core')} of {sizing.old.name}"
    others = (f"{side.name}: {_against(side, comparison.baseline)}." for side in comparison.sides[1:])
    counted = (
        f"Counted is what sessions do while none of them takes more than {sizing.ratio:g} times as long as another."
    )
    return Front(
        "How much of another host does this work take?",
        heading,
        f"{cores} {'takes' if sizing.busy == 1 else 'take'} {_needs(sizing.needs)}",
        sentences=(sizing.sentence, *others),
        tiles=tuple(map(_need_tile, sizing.needs[:MAX_TILES])),
        caveats=(f"{SAME_KIND} {counted} {ONLY_CPU}", *_licences(sizing), *unsure),
    )


def page_sections(
    comparison: Comparison, sections: Sequence[Section], charts: Sequence[Chart], notes: tuple[str, ...]
) -> tuple[Section, ...]:
    """The sections of the text in the order of a page, with the pictures among them."""
    by_name = {section.name: section for section in sections}
    beside = {"bars": ("At a glance", by_name["figures"].tables), "panels": ("", by_name["levels"].tables)}
    pictures = []
    for chart in charts:
        title, tables = beside.get(chart.name, ("", ()))
        pictures.append(pictured(chart, READINGS[chart.name], tables, title))
    return (
        pictures[0],
        *(by_name[name] for name in ("sizing", "ranking", "differences") if name in by_name),
        *(() if charts[0].name == "bars" else (by_name["figures"],)),
        *pictures[1:],
        by_name["runs"],
        Section("decided", "What was decided, and how", notes=(*comparison.verdict, *notes)),
        Section("reading", "How to read it", terms=TERMS),
    )


def _needs(needs: Sequence[Need]) -> str:
    if len(needs) <= MAX_NAMED:
        return listed([f"{plural(need.vcpus, 'vCPU')} of {need.kind.name}" for need in needs]).replace(" and ", " or ")
    ordered = sorted(needs, key=lambda need: need.vcpus)
    ends = [f"{plural(need.vcpus, 'vCPU')} ({need.kind.name})" for need in (ordered[0], ordered[-1])]
    return f"{ends[0]} to {ends[1]}"


def _need_tile(need: Need) -> Fact:
    kind = need.kind
    counted = [plural(need.licences, kind.licence.unit if kind.licence else "licence")] if need.licences else []
    price = money(need)
    words = [plural(need.cores, "core"), *counted, *([price] if price else [])]
    return Fact(kind.name, plural(need.vcpus, "vCPU"), ", ".join(words))


def _side_tile(side: Side) -> Fact:
    done, spread = side.figure("throughput"), side.figure("spread")
    words = ["Mrows/s at full load"]
    words += [times(done.ratio)] if done.ratio is not None else []
    words += [f"max/min {number(spread.value)}"] if spread.value is not None else []
    return Fact(side.name, rate(done.value), ", ".join(words))


def _headline(comparison: Comparison) -> str:
    base, others = comparison.baseline, comparison.sides[1:]
    if len(others) <= MAX_NAMED:
        return "; ".join(f"{side.name} {_against(side, base)}" for side in others)
    more, less = (
        sum(each.summary != SPREAD and each.outcome == outcome for side in others for each in side.decisions)
        for outcome in (MORE, LESS)
    )
    return f"Of {len(others)} hosts {more} do more work than {base.name} and {less} do less"


def _against(side: Side, base: Side) -> str:
    words = [_clause(each, side, base) for each in side.decisions]
    if all(each.outcome == TOO_FEW for each in side.decisions):
        return f"against {base.name}: undecided, too few rounds"
    gains = {_is_gain(each) for each in side.decisions if each.shown}
    return (", but " if len(gains) > 1 else ", and ").join(words)


def _is_gain(each: Decision) -> bool:
    """More work, or less spread."""
    return (each.outcome == LESS) == (each.summary == SPREAD)


def _clause(each: Decision, side: Side, base: Side) -> str:
    share = percent(abs((each.ratio or 1.0) - 1))
    if each.summary == SPREAD:
        words = {MORE: f"its sessions are less even (max/min {share} wider)",
                 LESS: f"its sessions are more even (max/min {share} narrower)"}  # fmt: skip
        return words.get(each.outcome, f"evenness: {_unshown(each)}")
    full = each.levels in (f"N={base.vcpus} and N={side.vcpus}", f"N={side.vcpus}" if side.vcpus == base.vcpus else "")
    where = "at full load" if full else f"at {each.levels}"
    words = {MORE: f"does {share} more work {where}", LESS: f"does {share} less work {where}"}
    return words.get(each.outcome, f"throughput: {_unshown(each)}")


def _unshown(each: Decision) -> str:
    known = {TOO_FEW: "undecided, too few rounds", NOT_MEASURED: "not measured in both"}
    return known.get(each.outcome, "no difference shown")


def _tone(comparison: Comparison) -> str:
    shown = [each for side in comparison.sides[1:] for each in side.decisions if each.shown]
    better = [each for each in shown if _is_gain(each)]
    if not shown:
        return ""
    return GOOD if len(better) == len(shown) else PARTLY if better else BAD


def _undecided(comparison: Comparison) -> tuple[str, ...]:
    few = [side.name for side in comparison.sides[1:] if any(each.outcome == TOO_FEW for each in side.decisions)]
    if not few:
        return ()
    return (f"Not decided for {listed(few)}: too few rounds were measured. `--repeats 6` or more can decide.",)


def unseen(decided: Iterable[tuple[str, Decision]]) -> tuple[str, ...]:
    """To find no difference is not to have shown that there is none: how large one could have been missed."""
    words = {SPREAD: "evenness"}
    missed = [
        f"{name}: less than {percent(each.detectable)} in {words.get(each.summary, each.summary)}"
        for name, each in decided
        if each.outcome == NOT_SHOWN and each.detectable is not None
    ]
    if not missed:
        return ()
    return (
        f"No difference shown is not the same as none. What these rounds could not have seen: {'; '.join(missed)}.",
    )


def _decisions(comparison: Comparison) -> list[tuple[str, Decision]]:
    return [(side.name, each) for side in comparison.sides[1:] for each in side.decisions]


def _licences(sizing: Sizing) -> tuple[str, ...]:
    """Near the claim: a count of licences is no advice."""
    if not sizing.disclaimer or not any(need.licences or need.price for need in sizing.needs):
        return ()
    return (f"{sizing.disclaimer[0].upper()}{sizing.disclaimer[1:]}.",)
