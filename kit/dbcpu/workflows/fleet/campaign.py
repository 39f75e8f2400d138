"""A campaign before it begins: its targets and options, what it will cost, and its rows in the store."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbcpu import __version__
from dbcpu.config.inventory import Listed
from dbcpu.config.targets import Request
from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import duration, plural
from dbcpu.store.campaigns import MAX_NAME, Campaign, Item, now
from dbcpu.workflows.fleet.simulated import is_simulated
from dbcpu.workflows.fleet.sql_hash import sql_hash
from dbcpu.workflows.foresee import Forecast, forecast
from dbcpu.workflows.measure_run import Choices

ASSUMED_VCPUS = 16
"""Where the levels follow from the vCPUs, which nobody has asked the hosts for."""
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_ALL_VCPUS = ("auto", "few")


@dataclass(frozen=True, slots=True)
class Foresight:
    """What the whole campaign costs. ``lasts_s``: wall time of one target's measurement, by its name."""

    lasts_s: Mapping[str, float]
    cpu_s: float
    connections: int
    assumed: bool
    at_most: bool

    @property
    def work_s(self) -> float:
        return sum(self.lasts_s.values())


def plan_campaign(
    name: str, targets: Sequence[Listed], choices: Choices, options: Sequence[str], limits: Mapping[str, Any]
) -> tuple[Campaign, tuple[Item, ...], Foresight]:
    """The rows of a new campaign, of which nothing is kept yet.

    Args:
        options: those of ``dbcpu run`` as words of a command line; ``choices`` are the same.
        limits: ``at_once``, ``failures``, ``window``; ``resume`` starts from them.

    Raises:
        UsageError: the name, or the options for one of the targets, cannot be used.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--campaign {name[:MAX_NAME]!r} is no name; give letters, digits, '.', '_' and '-', {MAX_NAME} at most"
        )
    ahead = foresight(targets, choices)
    plan = {
        "options": list(options),
        "limits": dict(limits),
        "targets": {each.name: each.table() for each in targets},
        "lasts_s": dict(ahead.lasts_s),
    }
    made = Campaign(name, now(), __version__, sql_hash(), plan)
    items = tuple(Item(each.name, {**each.tags, "kind": each.kind}, each.group) for each in targets)
    return made, items, ahead


def foresight(targets: Sequence[Listed], choices: Choices) -> Foresight:
    """What measuring all of them costs; nothing is connected to. Raises UsageError as ``forecast``.

    A target's tag ``vcpus`` says how many it has, where the options do not. A simulated one costs nothing.
    """
    assumed = False
    ahead: dict[tuple[str, int | None], Forecast] = {}
    found: dict[str, Forecast] = {}
    for each in targets:
        if is_simulated(each.url):
            continue
        vcpus = choices.vcpus or _vcpus(each)
        if vcpus is None and choices.sessions in _ALL_VCPUS:
            assumed, vcpus = True, ASSUMED_VCPUS
        key = each.kind, vcpus
        if key not in ahead:
            try:
                ahead[key] = forecast(Request(each.name, each.kind), replace(choices, vcpus=vcpus))
            except UnknownName as error:
                raise UsageError(f"{each.name}: {error}") from None
        found[each.name] = ahead[key]
    return Foresight(
        {each.name: found[each.name].total_s if each.name in found else 0.0 for each in targets},
        sum(one.cpu_s for one in found.values()),
        max((max(one.levels) for one in found.values()), default=0),
        assumed,
        any(one.most for one in found.values()),
    )


def _vcpus(target: Listed) -> int | None:
    text = target.tags.get("vcpus", "")
    return int(text) or None if text.isascii() and text.isdecimal() and len(text) < 6 else None


def described(name: str, targets: int, ahead: Foresight, at_once: int, groups: int) -> tuple[str, ...]:
    """The preview in a few lines."""
    most = "at most " if ahead.at_most else ""
    waves_s = max(ahead.work_s / at_once, max(ahead.lasts_s.values()))
    shared = f", {plural(groups, 'group')} of targets that take turns" if groups else ""
    lines = [
        f"campaign {name}: {plural(targets, 'target')}, {at_once} at once{shared}",
        f"{most}about {duration(max(ahead.lasts_s.values()))} for a target, {most}about {duration(waves_s)} in all, "
        "more where groups are long",
        f"{most}{ahead.cpu_s / 3600:.1f} CPU-hours are used on the targets, and up to "
        f"{plural(ahead.connections, 'connection')} to one of them",
    ]
    if ahead.assumed:
        lines.append(f"levels follow from the vCPUs, which are not known before: {ASSUMED_VCPUS} are assumed here")
    return tuple(lines)
