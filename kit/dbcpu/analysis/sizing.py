"""How much of a new host does the work of an old one take? From measured curves, with licences and price. Pure.

The work of ``busy`` cores of the old host is what ``busy`` sessions got done there together (beyond what was
measured: in proportion to its cores). On the new host only levels count at which nobody loses: the largest N such
that max/min stays at or below ``ratio`` at every measured level up to it. Its throughput over the vCPUs of the host
is what one vCPU of this kind is worth, and a larger host of the same kind is taken to be worth as much per vCPU.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbcpu.analysis.base import Analysis, LevelView
from dbcpu.errors import UsageError
from dbcpu.record import RunRecord
from dbcpu.rules import DISCLAIMER, Licence, Price, Rule, SizingRules
from dbcpu.wording import listed, plural

RATIO = 1.1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of host, as measured. ``fair`` is the largest fair N, ``fair_throughput`` (Mrows/s) what it got done."""

    name: str
    target: str
    vcpus: int
    cores: int
    sockets: int
    fair: int
    fair_throughput: float
    licence: Licence | None = None
    price: Price | None = None

    @property
    def threads(self) -> float:
        return self.vcpus / self.cores


@dataclass(frozen=True, slots=True)
class Need:
    """What of one kind of host the old work takes. ``licences`` and ``price`` are None without a rule."""

    kind: Kind
    vcpus: int
    cores: int
    licences: int | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A host in the ranking: fair sessions per counted thing; None without a rule."""

    kind: Kind
    per_vcpu: float
    per_core: float
    per_licence: float | None
    per_money: float | None


@dataclass(frozen=True, slots=True)
class Sizing:
    """The answer in one sentence, in numbers, and the rules it rests on. ``busy`` None: a ranking only."""

    busy: int | None
    old: Kind
    needs: tuple[Need, ...]
    ranking: tuple[Ranked, ...]
    sentence: str
    rules: tuple[str, ...]
    disclaimer: str
    ratio: float


def size(
    runs: Sequence[tuple[str, RunRecord, Analysis]],
    rules: SizingRules,
    busy: int | None = None,
    ratio: float = RATIO,
) -> Sizing:
    """Size the work of ``busy`` cores of the first run on the others; rank all of them.

    ``runs``: (name, record, analysis); their first variant counts.

    Raises:
        UsageError: topology or throughput of a run is unknown, so that nothing can be said per core.
    """
    kinds = [_kind(name, record, analysis, rules, ratio) for name, record, analysis in runs]
    needs: tuple[Need, ...] = ()
    if busy is not None:
        demand = _throughput_of(busy, kinds[0], runs[0][2])
        needs = tuple(_need(kind, demand) for kind in kinds[1:])
    used = [rule for kind in kinds for rule in (kind.licence, kind.price) if rule]
    return Sizing(
        busy=busy,
        old=kinds[0],
        needs=needs,
        ranking=tuple(sorted((_ranked(kind) for kind in kinds), key=_rank)),
        sentence=_sentence(busy, kinds[0], needs, ratio),
        rules=tuple(dict.fromkeys(_told(rule) for rule in used)),
        disclaimer=DISCLAIMER if used else "",
        ratio=ratio,
    )


def fair_level(levels: Sequence[LevelView], ratio: float, vcpus: int) -> LevelView | None:
    """The largest level up to ``vcpus`` with max/min <= ``ratio`` there and at every smaller measured level."""
    best = None
    for each in sorted(levels, key=lambda view: view.level):
        if not each.sessions or each.level > vcpus:
            continue
        if (each.max_over_min or 1.0) > ratio:
            break
        best = each
    return best


def _kind(name: str, record: RunRecord, analysis: Analysis, rules: SizingRules, ratio: float) -> Kind:
    levels = [each for each in analysis.levels if each.variant == analysis.levels[0].variant]
    fair = fair_level(levels, ratio, analysis.vcpus or 0)
    if not analysis.vcpus or not analysis.cores:
        raise UsageError(f"{name}: its vCPUs and cores are not known, so nothing can be sized; measure on the host")
    if fair is None or not fair.throughput:
        raise UsageError(f"{name}: no level has a throughput; sizing needs a complete run, with one session alone too")
    target = record.header.plan.target
    smt = analysis.cores < analysis.vcpus
    host = record.header.host
    sockets = len({each.socket for each in host.topology.cpus if each.online}) if host else 1
    return Kind(
        name=name,
        target=target,
        vcpus=analysis.vcpus,
        cores=analysis.cores,
        sockets=max(1, sockets),
        fair=fair.level,
        fair_throughput=fair.throughput,
        licence=next((rule for rule in rules.licences if _fits(rule, target, smt)), None),
        price=next((rule for rule in rules.prices if _fits(rule, target, smt)), None),
    )


def _fits(rule: Rule, target: str, smt: bool) -> bool:
    wanted = {"always": True, "smt": smt, "no-smt": not smt}[rule.when]
    return wanted and (not rule.targets or target in rule.targets)


def _throughput_of(busy: int, old: Kind, analysis: Analysis) -> float:
    """Mrows/s of ``busy`` sessions, one per core; between measured levels and beyond the cores in proportion."""
    levels = {each.level: each.throughput for each in analysis.levels if each.throughput}
    known = [level for level in levels if level <= old.cores]
    if not known:
        raise UsageError(
            f"{old.name}: no level up to its {plural(old.cores, 'core')} was measured; give --sessions auto"
        )
    nearest = busy if busy in known else max((n for n in known if n <= busy), default=min(known))
    return (levels[nearest] or 0.0) * busy / nearest


def _need(kind: Kind, demand: float) -> Need:
    per_vcpu = kind.fair_throughput / kind.vcpus
    # Whole cores are had, and 12.02 of them are 12: measured rates are not exact to a part in a hundred.
    cores = max(1, math.ceil(demand / per_vcpu / kind.threads * 0.99))
    vcpus = math.ceil(cores * kind.threads)
    return Need(
        kind=kind,
        vcpus=vcpus,
        cores=cores,
        licences=_licences(kind, vcpus, cores),
        price=_price(kind, vcpus, cores),
    )


def _counted(rule: Rule, kind: Kind, vcpus: int, cores: int) -> float:
    if rule.per == "vcpu":
        return vcpus
    if rule.per == "core":
        return cores
    hosts = math.ceil(vcpus / kind.vcpus)
    return hosts * kind.sockets if rule.per == "socket" else hosts


def _licences(kind: Kind, vcpus: int, cores: int) -> int | None:
    rule = kind.licence
    return None if rule is None else max(rule.least, math.ceil(_counted(rule, kind, vcpus, cores) * rule.factor - 1e-9))


def _price(kind: Kind, vcpus: int, cores: int) -> float | None:
    return None if kind.price is None else _counted(kind.price, kind, vcpus, cores) * kind.price.amount


def _ranked(kind: Kind) -> Ranked:
    licences, price = _licences(kind, kind.vcpus, kind.cores), _price(kind, kind.vcpus, kind.cores)
    return Ranked(
        kind,
        per_vcpu=kind.fair / kind.vcpus,
        per_core=kind.fair / kind.cores,
        per_licence=kind.fair / licences if licences else None,
        per_money=kind.fair / price if price else None,
    )


def _rank(each: Ranked) -> tuple[float, float, float, str]:
    """By licence where there are rules, else by vCPU; then by core. The best first."""
    first = each.per_licence if each.per_licence is not None else each.per_vcpu
    return (-first, -each.per_vcpu, -each.per_core, each.kind.name)


def _sentence(busy: int | None, old: Kind, needs: Sequence[Need], ratio: float) -> str:
    if busy is None or not needs:
        return ""
    parts = [f"{plural(each.vcpus, 'vCPU')} of {each.kind.name} ({_with(each)})" for each in needs]
    cores = f"{plural(busy, 'busy core')} of {old.name}"
    return f"{cores} {'is' if busy == 1 else 'are'} {listed(parts).replace(' and ', ' or ')}, at max/min <= {ratio:g}."


def _with(need: Need) -> str:
    kind = need.kind
    words = [f"{kind.threads:g} threads per core" if kind.threads > 1 else "one thread per core"]
    if need.licences is not None:
        words.append(plural(need.licences, "licence"))
    if need.price is not None and kind.price is not None:
        per = f" per {kind.price.period}" if kind.price.period else ""
        words.append(f"{need.price:,.2f} {kind.price.currency}{per}")
    return ", ".join(words)


def _told(rule: Rule) -> str:
    what = f"{rule.factor:g} licences" if isinstance(rule, Licence) else ""
    if isinstance(rule, Price):
        what = f"{rule.amount:g} {rule.currency}{f' per {rule.period}' if rule.period else ''}"
    when = {"always": "", "smt": ", with SMT", "no-smt": ", without SMT"}[rule.when]
    return f"{rule.name}: {what} per {rule.per}{when} ({rule.source}, {rule.dated.isoformat()})"
