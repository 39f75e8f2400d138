"""Licence and price rules from TOML: those that come with dbcpu (rules.toml), those of dbcpu.toml, and a choice.

[licences.cloud-smt]                   [prices.shape]
per = "vcpu"                           per = "vcpu"
factor = 0.5                           amount = 0.05
when = "smt"                           currency = "EUR"
dated = 2026-01-15                     period = "hour"
source = "the vendor's policy page"    dated = 2026-01-15
                                       source = "the provider's price list"
"""

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from msgspec.structs import replace

from dbcpu.config.rules import PER, PERIODS, PLACES, WHEN, Licence, Price, Rule
from dbcpu.config.toml_checks import day, number_above_0, one_of, only, text, texts, whole_number
from dbcpu.errors import UnknownName, UsageError

Tables = Mapping[str, Mapping[str, Any]]
_RULE_KEYS = ("per", "dated", "source", "when", "targets", "databases", "editions", "places", "most", "applies")
_OWN_KEYS: Mapping[type[Rule], tuple[str, ...]] = {
    Licence: ("factor", "factor_smt", "models", "least", "unit", "price", "currency", "support"),
    Price: ("amount", "currency", "period"),
}
_SCOPE = frozenset({"dated", "source", "targets", "databases", "editions", "places", "applies"})
"""Keys that leave the figures of a rule as they are."""


@functools.cache
def shipped() -> tuple[Licence, ...]:
    """The licence rules that come with dbcpu; nobody has chosen them yet."""
    made = (licence(name, table, f"rules.toml, [licences.{name}]") for name, table in _shipped_tables().items())
    return tuple(replace(rule, chosen=False) for rule in made)


def licences(own: Sequence[tuple[str, Tables]]) -> tuple[Licence, ...]:
    """The rules of (file, its ``licences`` tables), then the shipped ones that no file names.

    A table with the name of a shipped rule changes the keys it gives, and asks for the rule for every database.

    Raises:
        UsageError: names file, table and key.
    """
    made: dict[str, Licence] = {}
    for where, tables in own:
        for name, table in tables.items():
            place = f"{where}, [licences.{name}]"
            made[name] = licence(name, _over_shipped(name, table, place), place)
    return (*made.values(), *(rule for rule in shipped() if rule.name not in made))


def licence(name: str, table: Mapping[str, Any], where: str) -> Licence:
    """One checked licence rule. Raises UsageError."""
    values = _common(table, Licence, ("factor",), where)
    factor_smt, models = table.get("factor_smt"), table.get("models", {})
    if not isinstance(models, dict):
        raise UsageError(f"{where}: models is not a table; write models = {{ POWER = 1.0 }}")
    rule = Licence(
        name,
        **values,
        factor=number_above_0(table["factor"], f"{where}: factor"),
        factor_smt=None if factor_smt is None else number_above_0(factor_smt, f"{where}: factor_smt"),
        models=tuple((part, number_above_0(factor, f"{where}: models, {part}")) for part, factor in models.items()),
        least=whole_number(table.get("least", 1), 0, f"{where}: least"),
        unit=text(table.get("unit", "licence"), "unit", where),
        **_price_of_one(table, where),
    )
    factors = [rule.factor, rule.factor_smt or 0.0, *(factor for _, factor in rule.models)]
    if rule.most is not None and rule.least > (needed := math.ceil(rule.most * max(factors))):
        raise UsageError(
            f"{where}: least = {rule.least} is more than the {needed} that the largest host, with most = {rule.most}, "
            "would need; correct one of them"
        )
    return rule


def _price_of_one(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    if "price" not in table:
        if given := [key for key in ("currency", "support") if key in table]:
            raise UsageError(f"{where} has {given[0]} and no price; give the price of one licence")
        return {}
    if "currency" not in table:
        raise UsageError(f"{where} has a price and no currency; give one")
    support = number_above_0(table["support"], f"{where}: support") if "support" in table else 0.0
    if support > 1:
        raise UsageError(f"{where}: support = {support:g} is more than the price in each year; 0.22 is 22 % of it")
    return {
        "price": number_above_0(table["price"], f"{where}: price"),
        "currency": text(table["currency"], "currency", where),
        "support": support,
    }


def price(name: str, table: Mapping[str, Any], where: str) -> Price:
    """One checked price rule. Raises UsageError."""
    values = _common(table, Price, ("amount", "currency"), where)
    period = text(table["period"], "period", where) if "period" in table else ""
    if period and period not in PERIODS:
        raise UsageError(f"{where}: period {period!r} is none of {', '.join(PERIODS)}; a price paid once has none")
    return Price(
        name,
        **values,
        amount=number_above_0(table["amount"], f"{where}: amount"),
        currency=text(table["currency"], "currency", where),
        period=period,
    )


def choose(rules: Sequence[Licence], wanted: Sequence[str]) -> tuple[Licence, ...]:
    """The rules that were requested by name; ``HOST=RULE`` holds for that host only, and there before the others.

    Without a wish all of them stay as they are. Raises UnknownName, which lists what there is.
    """
    if not wanted:
        return tuple(rules)
    known = {rule.name: rule for rule in rules}
    chosen = []
    for wish in wanted:
        host, _, name = wish.rpartition("=")
        if name not in known:
            raise UnknownName("licence rule", name, known)
        targets = (host,) if host else known[name].targets
        chosen.append(replace(known[name], targets=targets, databases=(), editions=(), places=(), chosen=True))
    # What was said of one host holds there before what was said of all.
    return tuple(sorted(chosen, key=lambda rule: not rule.targets))


def _shipped_tables() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads(files("dbcpu.config").joinpath("rules.toml").read_text("utf-8"))[
        "licences"
    ]
    return found


def _over_shipped(name: str, table: object, where: str) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table; docs/configuration.md shows its form")
    came = _shipped_tables().get(name)
    if came is None:
        return table
    if set(table) - _SCOPE and not {"dated", "source"} <= set(table):
        raise UsageError(f"{where} changes the figures of a rule that came with dbcpu; give dated and source of yours")
    return came | {"databases": [], "editions": [], "places": []} | table


def _common(table: Mapping[str, Any], kind: type[Rule], own: tuple[str, ...], where: str) -> dict[str, Any]:
    only(table, (*_RULE_KEYS, *_OWN_KEYS[kind]), where)
    if missing := [key for key in ("per", "dated", "source", *own) if key not in table]:
        raise UsageError(f"{where} lacks {', '.join(missing)}; a rule says what it counts, how much, and since when")
    return {
        "per": one_of(table["per"], PER, f"{where}: per"),
        "dated": day(table["dated"], "dated", where),
        "source": text(table["source"], "source", where),
        "when": one_of(table.get("when", "always"), WHEN, f"{where}: when"),
        "targets": texts(table.get("targets", []), "targets", where),
        "databases": texts(table.get("databases", []), "databases", where),
        "editions": texts(table.get("editions", []), "editions", where),
        "places": tuple(
            one_of(each, PLACES, f"{where}: places") for each in texts(table.get("places", []), "places", where)
        ),
        "most": None if "most" not in table else whole_number(table["most"], 1, f"{where}: most"),
        "applies": text(table["applies"], "applies", where) if "applies" in table else "",
    }
