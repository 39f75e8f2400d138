"""Reads ``[licences.NAME]``, ``[prices.NAME]`` and ``[check]`` of dbcpu.toml; what is wrong is said with its place.

``rulebook`` shows the form of the rules, ``check_limits`` that of [check].
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from dbcpu.config import rulebook, targets
from dbcpu.config.check_limits import CheckLimits, read_limits
from dbcpu.config.rules import Price, SizingRules
from dbcpu.errors import UsageError


class Settings(Struct, frozen=True):
    """What ``[licences.NAME]``, ``[prices.NAME]`` and ``[check]`` of all configuration files come to."""

    sizing: SizingRules = field(default_factory=SizingRules)
    limits: CheckLimits = field(default_factory=CheckLimits)


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
        limits |= read_limits(_table(content, "check", str(file)), f"{file}, [check]")
    return Settings(SizingRules(rulebook.licences(licences), tuple(prices.values())), CheckLimits(**limits))


def _table(content: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {name} is not a table; docs/configuration.md shows its form")
    return table
