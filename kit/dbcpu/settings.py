"""Reads ``[licences.NAME]``, ``[prices.NAME]`` and ``[check]`` of dbcpu.toml; what is wrong is said with its place.

[licences.cloud-smt]                   [prices.shape]                 [check]
per = "vcpu"                           per = "vcpu"                   max_over_min = 1.3
factor = 0.5                           amount = 0.05                  throughput_drop = 0.15
when = "smt"                           currency = "EUR"               connect_s = 0.5
dated = 2026-01-15                     period = "hour"
source = "the vendor's policy page"    dated = 2026-01-15
                                       source = "the provider's price list"
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from dbcpu import config
from dbcpu.errors import UsageError
from dbcpu.rules import PER, WHEN, Licence, Limits, Price, Rule, Settings, SizingRules

_RULE_KEYS = ("per", "dated", "source", "when", "targets")
_OWN_KEYS: Mapping[type[Rule], tuple[str, ...]] = {
    Licence: ("factor", "least"),
    Price: ("amount", "currency", "period"),
}
OFF = "off"


def settings() -> Settings:
    """All settings; a later file wins by name. Raises UsageError naming file, table and key."""
    licences: dict[str, Rule] = {}
    prices: dict[str, Rule] = {}
    limits: dict[str, Any] = {}
    for file, content in config.contents():
        licences |= _rules(content, "licences", Licence, str(file))
        prices |= _rules(content, "prices", Price, str(file))
        limits |= _limits(_table(content, "check", str(file)), f"{file}, [check]")
    return Settings(
        SizingRules(
            tuple(each for each in licences.values() if isinstance(each, Licence)),
            tuple(each for each in prices.values() if isinstance(each, Price)),
        ),
        Limits(**limits),
    )


def _table(content: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {name} is not a table; docs/configuration.md shows its form")
    return table


def _rules(content: Mapping[str, Any], room: str, kind: type[Rule], where: str) -> dict[str, Rule]:
    made: dict[str, Rule] = {}
    for name, table in _table(content, room, where).items():
        place = f"{where}, [{room}.{name}]"
        if not isinstance(table, dict):
            raise UsageError(f"{place} is not a table; docs/configuration.md shows its form")
        config.only(table, (*_RULE_KEYS, *_OWN_KEYS[kind]), place)
        made[name] = _rule(name, table, kind, place)
    return made


def _rule(name: str, table: Mapping[str, Any], kind: type[Rule], where: str) -> Rule:
    needed = ("per", "dated", "source", *(("factor",) if kind is Licence else ("amount", "currency")))
    if missing := [key for key in needed if key not in table]:
        raise UsageError(f"{where} lacks {', '.join(missing)}; a rule says what it counts, how much, and since when")
    values = dict(table)
    _one_of(values["per"], PER, f"{where}: per")
    _one_of(values.get("when", "always"), WHEN, f"{where}: when")
    if not isinstance(values["dated"], date) or isinstance(values["dated"], datetime):
        raise UsageError(f"{where}: dated is no date; write dated = 2026-01-15, without quotes")
    for key in ("source", "currency", "period"):
        if key in values and (not isinstance(values[key], str) or not values[key].strip()):
            raise UsageError(f'{where}: {key} is not text; write {key} = "..."')
    for key in ("factor", "amount"):
        if key in values:
            values[key] = _number(values[key], f"{where}: {key}")
    if "least" in values and (not isinstance(values["least"], int) or values["least"] < 0):
        raise UsageError(f"{where}: least is not a whole number from 0 on")
    named = values.get("targets", [])
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        raise UsageError(f'{where}: targets is not a list of names; write targets = ["old-box"]')
    return kind(**{"name": name, **values, "targets": tuple(named)})


def _limits(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = tuple(each.name for each in fields(Limits))
    config.only(table, known, where)
    made: dict[str, Any] = {}
    for key, value in table.items():
        if value == OFF and key not in ("runs", "widths"):
            made[key] = None
        elif key == "runs":
            if not isinstance(value, int) or isinstance(value, bool) or not 5 <= value <= 1000:
                raise UsageError(f"{where}: runs is not a whole number from 5 to 1000")
            made[key] = value
        else:
            made[key] = _number(value, f"{where}: {key}")
    return made


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise UsageError(f"{where} is not a number above 0")
    return float(value)


def _one_of(value: object, known: tuple[str, ...], where: str) -> None:
    if value not in known:
        raise UsageError(f"{where} is {value!r}; it is one of {', '.join(known)}")
