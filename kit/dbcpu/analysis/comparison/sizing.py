"""How much of a new host does the work of an old one take? From measured curves, with licences and price. Pure.

The work of ``busy`` cores of the old host is what ``busy`` sessions got done there together (beyond what was
measured: in proportion to its cores). On the new host only levels count at which nobody loses: the largest fair N
(``fair_level``). Its throughput over the vCPUs of the host is what one vCPU of this kind is worth, and a larger host
of the same kind is taken to be worth as much per vCPU. Where vCPUs share cores unseen, chance decides who shares one
at any N: there one session on each of these cores counts, as if they were shown.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.measured_kind import FAIR, Kind, facts_of_run, kind_of
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.comparison import Decision
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.scaling.licences import LicenceFacts, licence_count, price_of, rule_words
from dbcpu.config.rules import DISCLAIMER, SizingRules
from dbcpu.errors import UsageError
from dbcpu.formatting import listed, plural, short_ranges
from dbcpu.record import ROWS_UNIT, RunRecord

MUCH_LESS = 0.95
"""A size by total throughput is named beside that at equal shares where it is so many times that, or less."""
RANKS = ("vcpu", "core", "licence", "money")


class Need(Struct, frozen=True):
    """What of one kind of host the old work takes; None without a rule (licences, price), or if cores are unknown.

    ``decision``: on the throughput of both hosts, where it shows no difference of which the number may be. ``least``
    and ``most``: vCPUs by its 95 % interval, None where that is not known. ``total_vcpus``: by the throughput of all
    sessions together, whatever the shares; where few are served fairly the rest is of that, too, with no ``most``, and
    where vCPUs share cores unseen ``least`` begins with it.
    """

    kind: Kind
    vcpus: int
    cores: int | None
    total_vcpus: int
    licences: int | None = None
    price: float | None = None
    decision: Decision | None = None
    least: int | None = None
    most: int | None = None

    @property
    def is_decided(self) -> bool:
        """Whether the number of vCPUs is the same whatever the throughput of the interval is, at equal shares."""
        if self.kind.few_are_fair:
            return False
        if self.least is None:
            return self.decision is None
        return self.least == self.most

    @property
    def range_words(self) -> str:
        """``24``; where it is not decided ``20 to 30``, ``at least 15``, or ``an unknown number of``."""
        if self.is_decided:
            return str(self.vcpus)
        if self.least is None:
            return "an unknown number of"
        return between(self.least, self.most)

    @property
    def vcpus_words(self) -> str:
        """With the unit: ``24 vCPUs``, or CPUs of a quota."""
        unit = "vCPU" if self.kind.quota is None else "CPU"
        one = self.vcpus == 1 and self.is_decided
        return f"{self.range_words} {unit}{'' if one else 's'}{'' if self.kind.quota is None else ' of quota'}"


def between(least: int, most: int | None) -> str:
    """``24``, ``20 to 30``, or ``at least 15`` where the most is not known."""
    if most is None:
        return f"at least {least}"
    return str(least) if least == most else f"{least} to {most}"


class Ranked(Struct, frozen=True):
    """A host in the ranking: sessions shown to be fair per counted thing; None without a rule, or unknown cores."""

    kind: Kind
    per_vcpu: float
    per_core: float | None
    per_licence: float | None
    per_money: float | None


class Sizing(Struct, frozen=True):
    """The answer in one sentence, in numbers, and the rules it rests on. ``busy`` None: a ranking only.

    ``idle`` are rules that somebody chose and that fit none of the hosts. ``unknown`` says what was left out, and why.
    ``unit``: of throughput.
    """

    busy: int | None
    old: Kind
    needs: tuple[Need, ...]
    ranking: tuple[Ranked, ...]
    sentence: str
    rules: tuple[str, ...]
    disclaimer: str
    ratio: float
    idle: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unit: str = ROWS_UNIT


def size(
    runs: Sequence[tuple[str, RunRecord, Analysis]],
    rules: SizingRules,
    busy: int | None = None,
    ratio: float = FAIR,
    rank_by: str | None = None,
    decisions: Mapping[str, Decision] = {},
) -> Sizing:
    """Size the work of ``busy`` cores of the first run on the others; rank all of them.

    ``runs``: (name, record, analysis); their first variant counts. ``rank_by``: one of ``RANKS``; None is licence
    where every host has a rule for it, else vcpu. ``decisions``: by name, on the throughput against the first.

    Raises:
        UsageError: vCPUs or throughput of a run are unknown, so that nothing can be said per vCPU; or none of the
            others was measured up to where its CPUs are busy. Where only some were not, ``sentence`` names them.
    """
    facts = [facts_of_run(run) for run in runs]
    kinds = [kind_of(run, each, rules, ratio) for run, each in zip(runs, facts, strict=True)]
    needs: tuple[Need, ...] = ()
    not_sized: dict[str, str] = {}
    if busy is not None:
        not_sized = unmeasured(kinds[1:])
        demand = _throughput_of(busy, kinds[0], runs[0][2])
        needs = tuple(
            _with_interval(_need(kind, each, demand), each, demand, decisions.get(kind.name))
            for kind, each in zip(kinds[1:], facts[1:], strict=True)
            if kind.name not in not_sized
        )
    used = [rule for kind in kinds for rule in (kind.licence, kind.price) if rule]
    idle = [rule for rule in (*rules.licences, *rules.prices) if rule.chosen and rule not in used]
    return Sizing(
        busy=busy,
        old=kinds[0],
        needs=needs,
        ranking=_ranking([_ranked(kind, each) for kind, each in zip(kinds, facts, strict=True)], rank_by),
        sentence=" ".join(filter(None, (_sentence(busy, kinds[0], needs, ratio), *not_sized.values()))),
        rules=tuple(dict.fromkeys(rule_words(rule) for rule in used)),
        disclaimer=DISCLAIMER if used else "",
        ratio=ratio,
        idle=tuple(rule_words(rule) for rule in idle),
        unknown=_unknown(kinds, busy),
        unit=runs[0][2].unit,
    )


def unmeasured(kinds: Sequence[Kind]) -> dict[str, str]:
    """By name, a sentence for each whose levels do not say what its CPUs can do.

    Raises UsageError where they say it of none.
    """
    found = {each.name: why for each in kinds if (why := _unmeasured(each))}
    if found and len(found) == len(kinds):
        raise UsageError("; ".join(found.values()))
    return {name: f"Not sized: {why}." for name, why in found.items()}


def _unmeasured(kind: Kind) -> str:
    if not kind.loaded:
        return (
            f"{kind.name} was measured up to N={kind.measured} only, and all were equal there: what its "
            f"{plural(kind.vcpus, 'vCPU')} can do is not known; measure it with --sessions auto"
        )
    if kind.leaves_cores_open:
        return (
            f"{kind.name} was not measured between N={kind.fair} and its cores, so what these do at equal shares is "
            "not known; measure it with --sessions auto"
        )
    return ""


def _unknown(kinds: Sequence[Kind], busy: int | None) -> tuple[str, ...]:
    found = [
        f"{each.name} was measured up to N={each.measured} only, and all were equal there: more may be, and its place "
        "in the ranking is too low then."
        for each in kinds
        if not each.loaded
    ]
    found += [_undecided(each) for each in kinds if each.undecided]
    found += [
        f"{each.name} has a CPU quota, which is time on any of its host's CPUs: nothing is counted per core, and its "
        "licences go by the CPUs of that host."
        for each in kinds
        if each.quota is not None
    ]
    names = [each.name for each in kinds if each.cores is None]
    if not names:
        return tuple(found)
    found.append(
        f"Cores behind the vCPUs of {listed(names)} are not known, so nothing is counted per core there; give "
        "`--cores NAME=N` or `--threads-per-core NAME=N`."
    )
    if busy is not None and kinds[0].cores is None:
        found.append(f"A busy core of {kinds[0].name} is counted as one single session.")
    return tuple(found)


def _undecided(kind: Kind) -> str:
    where = f"N={short_ranges(kind.undecided)}"
    if kind.only_totals:
        return f"{kind.name}: only total rates are known; fair N takes shares for equal at {where}, which is not known."
    return (
        f"{kind.name}: undecided whether shares are equal at {where}; sizing counts them as they were measured, the "
        "ranking does not."
    )


def _throughput_of(busy: int, old: Kind, analysis: Analysis) -> float:
    """Mrows/s of ``busy`` sessions, one per core, or per CPU of its quota; between levels and beyond in proportion."""
    if old.quota is not None:
        return old.cpu_throughput * busy
    levels = {each.level: each.throughput for each in analysis.levels if each.throughput}
    most = old.cores or 1
    known = [level for level in levels if level <= most]
    if not known:
        raise UsageError(f"{old.name}: no level up to its {plural(most, 'core')} was measured; give --sessions auto")
    nearest = busy if busy in known else max((n for n in known if n <= busy), default=min(known))
    return (levels[nearest] or 0.0) * busy / nearest


def _need(kind: Kind, facts: LicenceFacts, demand: float) -> Need:
    threads = kind.threads or 1.0
    whole, in_total = (
        _whole(demand / per_cpu / threads) for per_cpu in (kind.cpu_throughput, kind.total_cpu_throughput)
    )
    vcpus, cores = math.ceil(whole * threads), whole if kind.threads else None
    needed = replace(facts, vcpus=vcpus, cores=cores, hosts=math.ceil(vcpus / kind.vcpus))
    total = math.ceil(in_total * threads)
    return Need(kind, vcpus, cores, total, _licences(kind, needed), _price(kind, needed))


def _whole(cores: float) -> int:
    """Whole cores are had, and 12.02 of them are 12: measured rates are not exact to a part in a hundred."""
    down = math.floor(cores)
    return max(1, down if cores - down <= min(0.01 * cores, 0.25) else down + 1)


def _with_interval(need: Need, facts: LicenceFacts, demand: float, decision: Decision | None) -> Need:
    """The need with its range, where the throughput of the two hosts is not shown to differ as it was measured, few
    sessions are served fairly, or vCPUs share cores unseen.
    """
    kind, ratios = need.kind, (1.0, 1.0)
    if decision is not None and not decision.shown:
        need = replace(need, decision=decision)
        if not decision.ratio or not decision.low or not decision.high:
            return need
        ratios = (decision.ratio / decision.high, decision.ratio / decision.low)
    elif kind.at_equal_shares:
        return need
    best, worst = (_need(kind, facts, demand * ratio) for ratio in ratios)
    least = best.vcpus if kind.core_throughput is None else min(best.total_vcpus, best.vcpus)
    return replace(need, least=least, most=None if kind.few_are_fair else worst.vcpus)


def _licences(kind: Kind, facts: LicenceFacts) -> int | None:
    """None for a quota, too: licences go by the host that has it, and how large that is, a quota does not say."""
    return None if kind.licence is None or kind.quota is not None else licence_count(kind.licence, facts)


def _price(kind: Kind, facts: LicenceFacts) -> float | None:
    return None if kind.price is None else price_of(kind.price, facts)


def _ranked(kind: Kind, facts: LicenceFacts) -> Ranked:
    licences, price = _licences(kind, facts), _price(kind, facts)
    return Ranked(
        kind,
        per_vcpu=kind.shown / kind.vcpus,
        per_core=kind.shown / kind.cores if kind.cores and kind.threads else None,
        per_licence=kind.shown / licences if licences else None,
        per_money=kind.shown / price if price else None,
    )


def _ranking(found: Sequence[Ranked], by: str | None) -> tuple[Ranked, ...]:
    """The best first, hosts without a figure last. Raises UsageError where there is nothing to rank by."""
    if by is None:
        by = "licence" if all(each.per_licence is not None for each in found) else "vcpu"
    if all(getattr(each, f"per_{by}") is None for each in found):
        raise UsageError(f"no host has a rule to count {by} by; docs/configuration.md shows how to write one")
    currencies = {(each.kind.price.currency, each.kind.price.period) for each in found if each.kind.price}
    if by == "money" and len(currencies) > 1:
        units = listed(sorted(" per ".join(filter(None, each)) for each in currencies))
        raise UsageError(f"prices are in {units}, so hosts cannot be ranked by money; bring them to one unit")

    def place(each: Ranked) -> tuple[float, ...]:
        first: float | None = getattr(each, f"per_{by}")
        return (-(first or 0.0), -each.per_vcpu, -(each.per_core or 0.0), -each.kind.shown_throughput)

    return tuple(sorted(found, key=place))


def _sentence(busy: int | None, old: Kind, needs: Sequence[Need], ratio: float) -> str:
    if busy is None or not needs:
        return ""
    cores = f"{plural(busy, 'busy core')} of {old.name}"
    if all(each.least is None and not each.is_decided for each in needs):
        names = listed([each.kind.name for each in needs])
        return (
            f"Inconclusive: how many vCPUs replace {cores} is not known, because the throughput of {names} against "
            f"{old.name} is undecided and has no interval; measure more rounds (`--repeats 6`)."
        )
    are = f"{cores} {'is' if busy == 1 else 'are'}"
    decided, open_ = ([each for each in needs if each.is_decided is known] for known in (True, False))
    said = [f"{are} {_sizes(decided, ratio)}."] if decided else []
    if open_:
        said.append(f"Inconclusive: {'they are' if decided else are} {_sizes(open_, ratio)}.")
    return " ".join((*said, *filter(None, map(_basis, needs))))


def _sizes(needs: Sequence[Need], ratio: float) -> str:
    """What the work is on each of these hosts, and under which conditions that holds."""
    parts = [f"{each.vcpus_words} of {each.kind.name} ({_with(each)})" for each in needs]
    at_shares = [each.kind for each in needs if each.kind.at_equal_shares]
    totals = [kind.name for kind in at_shares if kind.only_totals]
    even = [kind.name for kind in at_shares if not kind.only_totals]
    of = f" for {listed(even)}" if len(even) < len(needs) - len(totals) else ""
    fair = f"at max/min <= {ratio:g}{of}" if even else ""
    assumed = f"if sessions of {listed(totals)} get equal shares, which total rates do not show" if totals else ""
    open_ = [
        f"{kind.name} at N={short_ranges(kind.undecided)}"
        for kind in at_shares
        if kind.undecided and not kind.only_totals
    ]
    measured = f"if shares of {listed(open_)} are as measured, which is undecided" if open_ else ""
    return ", ".join(filter(None, (listed(parts, "or"), fair, assumed, measured)))


def _basis(need: Need) -> str:
    """What a size rests on where few sessions are served fairly, or vCPUs share cores unseen; '' for other hosts."""
    kind = need.kind
    each_core = (
        f"with one session on each of these cores the work takes {plural(need.vcpus, 'vCPU')}, by total throughput, "
        f"whatever the shares, {need.total_vcpus}"
    )
    if kind.few_are_fair:
        why = "" if kind.disturbed_by is Cause.NONE else f" ({kind.disturbed_by.words})"
        return (
            f"Shares of {kind.name} {kind.equal_words} on its {plural(kind.vcpus, 'vCPU')}{why}: the number is by "
            "total throughput, whatever the shares, and how many serve this work at equal shares is not known."
        )
    if kind.like_cores:
        return (
            f"{kind.name} scales like {kind.like_cores} of the {plural(kind.cores or kind.vcpus, 'core')} that it "
            f"shows: {each_core}; which sessions share a core is left to chance."
        )
    if kind.may_share:
        shows = f" Measure {kind.name} with `--sessions auto`, which shows it." if kind.vcpus > 2 else ""
        return (
            f"All sessions of {kind.name} are slow at N={kind.vcpus}, and its vCPUs may share "
            f"{plural(kind.vcpus // 2, 'core')} unseen: {each_core}.{shows}"
        )
    if kind.disturbed_by is not Cause.NONE:
        return (
            f"Shares of {kind.name} are unequal from {plural(kind.unfair or 0, 'session')} on "
            f"({kind.disturbed_by.words}), and its size counts that: by total throughput, whatever the shares, "
            f"{need.total_vcpus} vCPUs do this work; measure it without what disturbs it."
        )
    if need.total_vcpus < MUCH_LESS * need.vcpus:
        return f"By the total throughput of {kind.name}, whatever the shares, {need.total_vcpus} vCPUs do this work."
    return ""


def _with(need: Need) -> str:
    kind = need.kind
    if kind.quota is not None:
        words = []
    elif kind.threads is None:
        words = ["threads per core unknown"]
    else:
        threads = f"{kind.threads:g} threads per core" if kind.threads > 1 else "one thread per core"
        threads += " by what it shows" if kind.like_cores else ""
        words = [f"{threads} {kind.cores_from}".rstrip()]
    if kind.quota is not None:
        words.append(f"measured with a quota of {plural(kind.quota, 'CPU')}")
    if need.decision is not None:
        within = f"{need.decision.low:.2f}x to {need.decision.high:.2f}x" if need.least is not None else "unknown"
        where = f" at {need.decision.levels}" if need.decision.levels else ""
        words.append(f"by the 95 % interval of throughput{where}, {within}")
    if not need.is_decided:
        return ", ".join(words)
    if need.licences is not None:
        words.append(plural(need.licences, kind.licence.unit if kind.licence else "licence"))
    if need.price is not None and kind.price is not None:
        per = f" per {kind.price.period}" if kind.price.period else ""
        words.append(f"{need.price:,.2f} {kind.price.currency}{per}")
    return ", ".join(words)
