"""A campaign before it begins: its targets and options, what it will cost, and its rows in the store."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu import __version__
from dbcpu.config.inventory import Listed
from dbcpu.config.origins import HERE, ORIGINS, SHELL_KIT, THERE
from dbcpu.config.request import Request
from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import duration, listed, plural
from dbcpu.hosts.shell_routes import transport_of
from dbcpu.measure.preview import foreseen_time
from dbcpu.measure.workloads import sql_hash
from dbcpu.store.campaigns import MAX_NAME, Campaign, Item, now
from dbcpu.workflows.fleet.order import Queued, StartLimits, lasts_s, min_duration_s
from dbcpu.workflows.fleet.simulated import is_simulated
from dbcpu.workflows.fleet.station import command_refused
from dbcpu.workflows.fleet.window import Window
from dbcpu.workflows.foresee import Forecast, forecast, runs_here
from dbcpu.workflows.measure_run import Choices

ASSUMED_VCPUS = 16
"""Where the levels follow from the vCPUs, which nobody has asked the hosts for."""
MAX_ORDERED = 500
"""Targets whose order is played through for the preview."""
MAX_NAMED = 5
HOUR_S = 3600
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_ALL_VCPUS = ("auto", "few")
_IN_WORDS = {THERE: "by the dbcpu there", SHELL_KIT: "by the shell kit there"}


class Foresight(Struct, frozen=True):
    """What the whole campaign costs. ``lasts_s``: wall time of one target's measurement, by its name.

    ``refused``: by name why a station whose environment is this one's does not start it; without cost.
    ``same``: a sentence for each URL that several targets have. ``origins``: how many are measured from where.
    """

    lasts_s: Mapping[str, float]
    cpu_s: float
    connections: int
    assumed: bool
    at_most: bool
    simulated: int
    same: tuple[str, ...]
    origins: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


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
    groups = groups_of(targets)
    items = tuple(Item(each.name, {**each.tags, "kind": each.kind}, groups[each.name]) for each in targets)
    return made, items, ahead


def placed(targets: Sequence[Listed], origin: str | None, host: str | None) -> tuple[Listed, ...]:
    """Measured from ``origin``, and those from here watched by the route ``host``, where these are given.

    Raises UsageError for a target that cannot be measured so.
    """
    made = []
    for each in targets:
        moved = each.measured_from(origin) if origin and not is_simulated(each.url) else each
        if moved.origin != HERE:
            transport_of(moved.host or "")
        made.append(replace(moved, host=host) if host and moved.origin == HERE else moved)
    return tuple(made)


def foresight(targets: Sequence[Listed], choices: Choices) -> Foresight:
    """What measuring all of them costs; nothing is connected to. Raises UsageError as ``forecast``.

    What runs here has this machine's vCPUs. Of another target the tag ``vcpus`` says how many it has, where the options
    do not. A simulated one costs nothing.
    """
    assumed = False
    ahead: dict[tuple[str, bool, int | None], Forecast] = {}
    found: dict[str, Forecast] = {}
    for each in targets:
        if is_simulated(each.url):
            continue
        here = runs_here(each.kind) and each.origin == HERE
        vcpus = choices.vcpus or (None if here else each.vcpus)
        if vcpus is None and not here and choices.sessions in _ALL_VCPUS:
            assumed, vcpus = True, ASSUMED_VCPUS
        key = each.kind, here, vcpus
        if key not in ahead:
            try:
                ahead[key] = forecast(Request(each.name, each.kind), replace(choices, vcpus=vcpus), here=here)
            except UnknownName as error:
                raise UsageError(f"{each.name}: {error}") from None
        found[each.name] = ahead[key]
    refused = {each.name: why for each in targets if (why := command_refused(each.table()))}
    costly = [forecasted for name, forecasted in found.items() if name not in refused]
    return Foresight(
        {each.name: found[each.name].total_s if each.name in found else 0.0 for each in targets},
        sum(one.cpu_s for one in costly),
        max((max(one.levels) for one in costly), default=0),
        assumed,
        any(one.at_most for one in costly),
        len(targets) - len(found),
        tuple(_same_url(targets)),
        Counter(each.origin for each in targets),
        refused,
    )


def _same_url(targets: Sequence[Listed]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for each in targets:
        if each.origin == HERE and not is_simulated(each.url):  # from there it is that host's own
            names.setdefault(each.url, []).append(each.name)
    for several in names.values():
        if len(several) > 1:
            named = listed(several, most=MAX_NAMED)
            yield f"{named} have the same url: the database would be measured {len(several)} times"


def groups_of(targets: Sequence[Listed]) -> Mapping[str, str]:
    """By name the group: as the inventory says, and where it says none that of the host that the URL names.

    Two databases on one host would measure each other. What runs here, such as SQLite, is on one host, too.
    """
    hosts = {each.name: _host_of(each) for each in targets}
    named = {hosts[each.name]: each.group for each in targets if each.group}
    shared = Counter(hosts[each.name] for each in targets)
    made: dict[str, str] = {}
    for each in targets:
        host = hosts[each.name]
        turns = named.get(host, f"host {host}") if host and shared[host] > 1 else ""
        made[each.name] = each.group or turns
    return made


def _host_of(target: Listed) -> str:
    """The host as the inventory or the URL names it; "here" for what has none, and '' for what is simulated."""
    if is_simulated(target.url):
        return ""
    if target.host:
        return target.host
    if "://" not in target.url:
        return "here"
    try:
        return (urlsplit(target.url).hostname or "here").lower()
    except ValueError:
        return ""


def described(name: str, items: Sequence[Item], ahead: Foresight, at_once: int, window: Window | None) -> Iterator[str]:
    """The preview, line by line."""
    turns = [group for group, count in Counter(each.group for each in items if each.group).items() if count > 1]
    shared = f", {plural(len(turns), 'group')} of targets that take turns" if turns else ""
    chains = len({each.group or ("", each.target) for each in items})
    yield f"campaign {name}: {plural(len(items), 'target')}, {min(at_once, chains)} at once{shared}"
    yield from ahead.same
    if far := [f"{ahead.origins[each]} {_IN_WORDS[each]}" for each in ORIGINS[1:] if ahead.origins.get(each)]:
        yield f"not measured from here: {listed(far)}"
    if ahead.simulated:
        simulated = f"{plural(ahead.simulated, 'target')} simulated"
        yield f"{simulated}: that takes CPU time of this machine, which these figures are without"
    for why in sorted(set(ahead.refused.values())):
        names = [name for name, each in ahead.refused.items() if each == why]
        yield f"not measured by a station with this environment: {listed(names, most=MAX_NAMED)} ({why})"
    items = [each for each in items if each.target not in ahead.refused]
    if ahead.simulated < len(items):
        longest_s = max(ahead.lasts_s[each.target] for each in items)
        yield (
            f"{foreseen_time(longest_s, at_most=ahead.at_most)} for a target, and about "
            f"{duration(_all_s(items, ahead, at_once))} for all"
        )
        used = f"{ahead.cpu_s / HOUR_S:.1f} CPU-hours" if ahead.cpu_s >= HOUR_S else f"{ahead.cpu_s:.0f} CPU-seconds"
        yield (f"{used} are used on the targets, and up to {plural(ahead.connections, 'connection')} to one of them")
    if ahead.assumed:
        yield f"levels follow from the vCPUs, which are not known before: {ASSUMED_VCPUS} are assumed here"
    if window:
        opens_s = window.opens_in_s(datetime.now())
        when = f"it opens in {duration(opens_s)}" if opens_s else "it is open"
        yield f"measurements start from {window.begin:%H:%M} to {window.end:%H:%M} only; {when}"


def _all_s(items: Sequence[Item], ahead: Foresight, at_once: int) -> float:
    targets = [Queued(each.target, each.group, lasts_s=ahead.lasts_s[each.target]) for each in items]
    return min_duration_s(targets, at_once) if len(targets) > MAX_ORDERED else lasts_s(targets, StartLimits(at_once))
