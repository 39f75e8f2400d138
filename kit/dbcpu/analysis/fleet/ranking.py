"""Hosts by speed, per vCPU, core, licence and money; and by their tags. Pure.

Where a host has no rule or no known cores it has no such figure: the report says how many have none.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.fleet.hosts import ALONE, BUSY, LOADED, FleetHost
from dbcpu.analysis.fleet.spread import Spread, effect_of, spread
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.scaling.licences import chosen_rule, licence_count, price_of, rule_words
from dbcpu.analysis.statistics.run_effect import BetweenRuns
from dbcpu.config.rules import Licence, Price, SizingRules
from dbcpu.formatting import plural

COUNTED = ("vcpu", "core", "licence", "money")
INSTANCE = "instance type"
MIN_IN_TAG = 2
"""A tag's value that one host alone has is no group."""


class RankedHost(Struct, frozen=True):
    """``alone``: rate of a single session; ``loaded`` at ``level``: of all together, which the others are shares of."""

    host: FleetHost
    alone: float
    loaded: float | None
    level: int | None
    per_vcpu: float | None = None
    per_core: float | None = None
    per_licence: float | None = None
    per_money: float | None = None
    currency: str = ""


class Ranking(Struct, frozen=True):
    """The fastest alone first, of each work. ``unknown``: what was left out, and of how many hosts."""

    rows: tuple[RankedHost, ...]
    rules: tuple[str, ...]
    unknown: tuple[str, ...]


class Group(Struct, frozen=True):
    """Hosts with the same value of a tag (or instance type), of one work and unit; ``spreads`` by metric."""

    key: str
    value: str
    unit: str
    hosts: tuple[str, ...]
    spreads: Mapping[str, Spread]


def ranking(hosts: Sequence[FleetHost], rules: SizingRules) -> Ranking:
    """All hosts; those of another work below each other, for their rates cannot be compared."""
    used: dict[str, None] = {}
    rows = [_ranked(each, rules, used) for each in hosts]
    rows.sort(key=lambda each: (each.host.work, -each.alone, each.host.name))
    return Ranking(tuple(rows), tuple(used), _unknown(rows, rules))


def host_groups(hosts: Sequence[FleetHost]) -> tuple[Group, ...]:
    """By instance type, and by each tag that several hosts share, but for what sizing reads; of one work each."""
    effects = {metric: effect_of(hosts, metric) for metric in (ALONE, LOADED)}
    keys = sorted({key for each in hosts for key in each.tags if key != BUSY})
    typed = {each.name: each.instance for each in hosts}
    found: list[Group] = []
    for key in (INSTANCE, *keys):
        values = typed if key == INSTANCE else {each.name: each.tags.get(key, "") for each in hosts}
        if key != INSTANCE and _parts(values) in (_parts(typed), {frozenset(values)}):
            continue  # it divides the hosts as their types do, or not at all
        for value, work in dict.fromkeys((values[each.name], each.work) for each in hosts if values[each.name]):
            members = [each for each in hosts if (values[each.name], each.work) == (value, work)]
            if len(members) >= MIN_IN_TAG:
                made = {
                    metric: _spread(members, metric, effect, one_kind=key != INSTANCE)
                    for metric, effect in effects.items()
                }
                known = {metric: one for metric, one in made.items() if one is not None}
                found.append(Group(key, value, work[0], tuple(each.name for each in members), known))
    return tuple(found)


def _parts(values: Mapping[str, str]) -> set[frozenset[str]]:
    """The hosts with each value together."""
    found: dict[str, set[str]] = {}
    for name, value in values.items():
        found.setdefault(value, set()).add(name)
    return {frozenset(each) for each in found.values()}


def _spread(members: Sequence[FleetHost], metric: str, effect: BetweenRuns | None, *, one_kind: bool) -> Spread | None:
    """Of throughput only where all have it at one level; ``one_kind``: several kinds of CPU are no draw of one."""
    levels = {each.speeds(metric)[-1].level for each in members if each.speeds(metric)}
    found = spread(members, metric, effect) if len(levels) == 1 else None
    if found is None or not one_kind or len({(each.cpu_model, each.host_vcpus) for each in members}) == 1:
        return found
    return replace(found, between=None, between_interval=None, answer=Answer.UNDECIDED, why="several kinds of CPU")


def _ranked(host: FleetHost, rules: SizingRules, used: dict[str, None]) -> RankedHost:
    alone, loaded = host.rate(ALONE) or 0.0, host.rate(LOADED)
    level = host.speeds(LOADED)[-1].level if loaded else None
    licence, price = chosen_rule(rules.licences, host.counted), chosen_rule(rules.prices, host.counted)
    licences = licence_count(licence, host.counted) if isinstance(licence, Licence) else None
    money = price_of(price, host.counted) if isinstance(price, Price) else None
    for rule in (licence, price):
        if rule is not None:
            used[rule_words(rule)] = None
    per = {
        name: loaded / count if loaded and count else None
        for name, count in zip(COUNTED, (host.vcpus, host.cores, licences, money), strict=True)
    }
    return RankedHost(
        host, alone, loaded, level,
        per_vcpu=per["vcpu"], per_core=per["core"], per_licence=per["licence"], per_money=per["money"],
        currency=_unit_of(price) if isinstance(price, Price) else "",
    )  # fmt: skip


def _unit_of(price: Price) -> str:
    return f"{price.currency} per {price.period}" if price.period else price.currency


def _unknown(rows: Sequence[RankedHost], rules: SizingRules) -> tuple[str, ...]:
    """One sentence per figure that some hosts lack."""
    lacks = {
        "per_core": "cores are not known",
        "per_licence": "no chosen licence rule fits" if rules.licences else "no licence rule was chosen",
        "per_money": "no price rule fits" if rules.prices else "no price is configured",
    }
    found = []
    for name, why in lacks.items():
        count = sum(getattr(each, name) is None for each in rows if each.loaded)
        if count:
            found.append(f"No figure {name.replace('_', ' ')} for {plural(count, 'host')}: {why}.")
    if missing := sum(each.loaded is None for each in rows):
        hosts = f"{plural(missing, 'host')} without a level of several sessions up to the vCPUs"
        found.append(f"{hosts}: nothing is counted per vCPU there.")
    partly = sum(_is_part(each) for each in rows)
    if partly:
        found.append(f"{plural(partly, 'host')} not loaded up to all vCPUs: their figures per unit are too low.")
    return tuple(found)


def _is_part(each: RankedHost) -> bool:
    return each.level is not None and each.host.vcpus is not None and each.level < each.host.vcpus
