"""How much of a new host does the work of an old one take? From measured curves, with licences and price. Pure.

The work of ``busy`` cores of the old host is what ``busy`` sessions got done there together (beyond what was
measured: in proportion to its cores). On the new host only levels count at which nobody loses: the largest fair N
(``fair_level``). Its throughput over the vCPUs of the host is what one vCPU of this kind is worth, and a larger host
of the same kind is taken to be worth as much per vCPU. Where vCPUs share cores unseen, chance decides who shares one
at any N: there one session on each of these cores counts, as if they were shown. Where sessions with equal shares
leave a CPU of a quota, the answer is a range: from what all of the quota does, whatever the shares, to what they do.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.host_kind import FAIR, Kind, facts_of_run, kind_of
from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing_sentence import sizing_sentence
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import Decision
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.scaling.licences import LicenceFacts, licence_count, price_of, rule_words
from dbcpu.config.rules import DISCLAIMER, SizingRules
from dbcpu.errors import UsageError
from dbcpu.formatting import listed, plural, short_ranges
from dbcpu.record.header import ROWS_UNIT
from dbcpu.record.rounds import RunRecord

ROUNDED = 0.01
"""Measured rates are not exact to this part: 12.02 cores are 12. A range has this in it."""
EXACT = 1e-9
"""What arithmetic alone may add to a whole number."""
RANKS = ("vcpu", "core", "licence", "money")


class RankedKind(Struct, frozen=True):
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
    ranking: tuple[RankedKind, ...]
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
        not_sized = unmeasured_words(kinds[1:])
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
        sentence=" ".join(filter(None, (sizing_sentence(busy, kinds[0], needs, ratio), *not_sized.values()))),
        rules=tuple(dict.fromkeys(rule_words(rule) for rule in used)),
        disclaimer=DISCLAIMER if used else "",
        ratio=ratio,
        idle=tuple(rule_words(rule) for rule in idle),
        unknown=_unknown(kinds, busy),
        unit=runs[0][2].unit,
    )


def unmeasured_words(kinds: Sequence[Kind]) -> dict[str, str]:
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
            f"{kind.name} has no level between N={kind.measured}, where all were equal, and its {kind.cpus_words}: "
            "what these can do is not known; measure it with --sessions auto"
        )
    if kind.leaves_cores_open:
        return (
            f"{kind.name} was not measured between N={kind.fair} and its cores, so what these do at equal shares is "
            "not known; measure it with --sessions auto"
        )
    return ""


def _unknown(kinds: Sequence[Kind], busy: int | None) -> tuple[str, ...]:
    found = [
        f"{each.name} has no level between N={each.measured}, where all were equal, and its "
        f"{each.cpus_words}: more may be equal, and its place in the ranking is too low then."
        for each in kinds
        if not each.loaded
    ]
    found += [_undecided(each) for each in kinds if each.undecided]
    found += [
        f"{each.name} has a CPU quota, which is time on any of its host's CPUs: nothing is counted per core, and its "
        "licences count the CPUs of that host. A larger quota is assumed to come with as many more cores."
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
        return f"{kind.name}: only total rates are known; fair N assumes equal shares at {where}, which is not known."
    return (
        f"{kind.name}: inconclusive whether shares are equal at {where}; sizing counts them as they were measured, the "
        "ranking does not."
    )


def _throughput_of(busy: int, old: Kind, analysis: Analysis) -> float:
    """Mrows/s of ``busy`` sessions, one per core, or per CPU of its quota; between levels and beyond in proportion.

    Of a quota never more than all of it does, or from its size on as much per CPU.
    """
    whole = old.quota_throughput
    if old.quota is not None and whole and busy >= old.quota:
        return whole * busy
    levels = {each.level: each.throughput for each in analysis.first_levels if each.throughput}
    most, noun = (old.cores or 1, "core") if old.quota is None else (old.quota, "CPU")
    known = [level for level in levels if level <= most]
    if not known:
        raise UsageError(f"{old.name}: no level up to its {plural(most, noun)} was measured; give --sessions auto")
    nearest = busy if busy in known else max((n for n in known if n <= busy), default=min(known))
    found = (levels[nearest] or 0.0) * busy / nearest
    return min(found, whole * old.quota) if whole and old.quota is not None else found


def _need(kind: Kind, facts: LicenceFacts, demand: float, rounded: float = ROUNDED) -> Need:
    threads = kind.threads_behind
    per_cpu, per_cpu_in_total = kind.cpu_throughput, kind.total_cpu_throughput
    if kind.has_cores_for(demand / (1 + rounded)):
        per_cpu = per_cpu_in_total = kind.fair_throughput / kind.fair
    whole, in_total = (_whole(demand / each / threads, rounded) for each in (per_cpu, per_cpu_in_total))
    vcpus = math.ceil(whole * threads)
    cores = math.ceil(vcpus / kind.threads) if kind.threads else None
    needed = replace(facts, vcpus=vcpus, cores=cores, hosts=math.ceil(vcpus / kind.vcpus))
    total = math.ceil(in_total * threads)
    return Need(kind, vcpus, cores, total, _licences(kind, needed), _price(kind, needed))


def _whole(cores: float, rounded: float) -> int:
    """Whole cores, as rounded up: so much above a whole number, and at most a quarter of a core, counts as that."""
    down = math.floor(cores)
    return max(1, down if cores - down <= max(EXACT, min(rounded * cores, 0.25)) else down + 1)


def _with_interval(need: Need, facts: LicenceFacts, demand: float, decision: Decision | None) -> Need:
    """The need with its range, where the throughput of the two hosts is not shown to differ as it was measured, few
    sessions are served fairly, vCPUs share cores unseen, or a quota has fewer cores behind it.

    A range is rounded up as it is; where both of its ends are one number, as measured rates are exact, it is this one.
    """
    kind, ratios = need.kind, (1.0, 1.0)
    if kind.few_are_fair and _is_enough(kind, demand, decision):
        return _as_measured(need, facts)
    if decision is not None and not decision.shown:
        need = replace(need, decision=decision)
        if not decision.ratio or not decision.low or not decision.high:
            return need
        ratios = (decision.ratio / decision.high, decision.ratio / decision.low)
    elif kind.at_equal_shares:
        return need
    found = _range_of(need, facts, [demand * ratio for ratio in ratios], ROUNDED)
    if found.is_decided:
        return found
    exact = replace(_need(kind, facts, demand, 0.0), decision=need.decision)
    return _range_of(exact, facts, [demand * ratio for ratio in ratios], 0.0)


def _range_of(need: Need, facts: LicenceFacts, demands: Sequence[float], rounded: float) -> Need:
    kind = need.kind
    best, worst = (_need(kind, facts, demand, rounded) for demand in demands)
    from_total = kind.core_throughput is not None or kind.leaves_quota
    least = min(best.total_vcpus, best.vcpus) if from_total else best.vcpus
    return replace(need, least=least, most=None if kind.few_are_fair else worst.vcpus)


def _is_enough(kind: Kind, demand: float, decision: Decision | None) -> bool:
    """Whether the sessions that are shown to be served fairly do the work, also at the end of an open interval.

    Several, on a host that nothing disturbs: that would be another host on another day.
    """
    if kind.shown < 2 or kind.disturbed_by is not Cause.NONE:
        return False
    worst = 1.0
    if decision is not None and not decision.shown:
        if not decision.ratio or not decision.low:
            return False
        worst = decision.ratio / decision.low
    return demand * worst <= (1 + ROUNDED) * kind.shown_throughput


def _as_measured(need: Need, facts: LicenceFacts) -> Need:
    """All vCPUs of the measured host, with what these cost."""
    kind = need.kind
    cores = int(kind.cores) if kind.cores and kind.threads else None
    return replace(
        need,
        vcpus=kind.vcpus,
        cores=cores,
        licences=_licences(kind, facts),
        price=_price(kind, facts),
        least=kind.vcpus,
        most=kind.vcpus,
        as_measured=True,
    )


def _licences(kind: Kind, facts: LicenceFacts) -> int | None:
    """None for a quota, too: licences go by the host that has it, and how large that is, a quota does not say."""
    return None if kind.licence is None or kind.quota is not None else licence_count(kind.licence, facts)


def _price(kind: Kind, facts: LicenceFacts) -> float | None:
    return None if kind.price is None else price_of(kind.price, facts)


def _ranked(kind: Kind, facts: LicenceFacts) -> RankedKind:
    licences, price = _licences(kind, facts), _price(kind, facts)
    return RankedKind(
        kind,
        per_vcpu=kind.shown / kind.vcpus,
        per_core=kind.shown / kind.cores if kind.cores and kind.threads else None,
        per_licence=kind.shown / licences if licences else None,
        per_money=kind.shown / price if price else None,
    )


def _ranking(found: Sequence[RankedKind], by: str | None) -> tuple[RankedKind, ...]:
    """The best first, hosts without a figure last. Raises UsageError where there is nothing to rank by."""
    if by is None:
        by = "licence" if all(each.per_licence is not None for each in found) else "vcpu"
    if all(getattr(each, f"per_{by}") is None for each in found):
        raise UsageError(f"no host has a rule to count {by} by; docs/configuration.md shows how to write one")
    currencies = {(each.kind.price.currency, each.kind.price.period) for each in found if each.kind.price}
    if by == "money" and len(currencies) > 1:
        units = listed(sorted(" per ".join(filter(None, each)) for each in currencies))
        raise UsageError(f"prices are in {units}, so hosts cannot be ranked by money; bring them to one unit")

    def place(each: RankedKind) -> tuple[float, ...]:
        first: float | None = getattr(each, f"per_{by}")
        return (-(first or 0.0), -each.per_vcpu, -(each.per_core or 0.0), -each.kind.shown_throughput)

    return tuple(sorted(found, key=place))
