"""Reads ``[licences.NAME]``, ``[prices.NAME]`` and ``[check]`` of dbcpu.toml; what is wrong is said with its place.

``rulebook`` shows the form of the rules. [check] has the limits of ``rules.CheckLimits`` by name, "off" for none.
"""

from collections.abc import Mapping
from typing import Any

from dbcpu.config import rulebook, targets
from dbcpu.config.rules import CheckLimits, Price, Settings, SizingRules
from dbcpu.config.toml_checks import number_above_0, only, whole_number
from dbcpu.errors import UsageError

OFF = "off"
SHARES, RATIOS = ("throughput_drop", "steal"), ("slowdown", "max_over_min")


def settings() -> Settings:
    """All settings; a later file wins by name. Raises UsageError naming file, table and key."""
    licences: list[tuple[str, rulebook.Tables]] = []
    prices: dict[str, Price] = {}
    limits: dict[str, Any] = {}
    for file, content in targets.contents():
        licences.append((str(file), _table(content, "licences", str(file))))
        for name, table in _table(content, "prices", str(file)).items():
            place = f"{file}, [prices.{name}]"
            if not isinstance(table, dict):
                raise UsageError(f"{place} is not a table; docs/configuration.md shows its form")
            prices[name] = rulebook.price(name, table, place)
        limits |= _limits(_table(content, "check", str(file)), f"{file}, [check]")
    return Settings(SizingRules(rulebook.licences(licences), tuple(prices.values())), CheckLimits(**limits))


def _table(content: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {name} is not a table; docs/configuration.md shows its form")
    return table


def _limits(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = CheckLimits.__struct_fields__
    only(table, known, where)
    made: dict[str, Any] = {}
    for key, value in table.items():
        if value == OFF and key not in ("runs", "widths"):
            made[key] = None
        elif key == "runs":
            if whole_number(value, 5, f"{where}: runs") > 1000:
                raise UsageError(f"{where}: runs is more than 1000")
            made[key] = value
        else:
            made[key] = limit(key, number_above_0(value, f"{where}: {key}"), f"{where}: {key}")
    return made


def limit(key: str, value: float, where: str) -> float:
    """A limit of ``CheckLimits`` as it is given. Raises UsageError for a share of 1 or more, and a ratio below 1."""
    if key in SHARES and value >= 1:
        raise UsageError(f"{where} is {value:g}, and a share is below 1: for 10 % give 0.10")
    if key in RATIOS and value < 1:
        raise UsageError(f"{where} is {value:g}, which every run is beyond; give a ratio from 1 on, such as 1.25")
    return value
