"""Which variants were asked for, whether they can be had here, and what each would change: planning, no doing."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from dbcpu import registry
from dbcpu.errors import UsageError
from dbcpu.findings import Finding, noted
from dbcpu.hosts.base import Host
from dbcpu.hosts.topology import parse_cpu_list
from dbcpu.plan import BASELINE
from dbcpu.record import Server
from dbcpu.variants.base import Change, Place, usable

ROOM = "variants"
CAP_SYS_NICE = 23
"""Source: capabilities(7), linux/capability.h"""
_ONLINE = "/sys/devices/system/cpu/cpu"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A variant as it was asked for: ``cpus:0-3`` is of kind ``cpus`` with the argument ``0-3``."""

    name: str
    kind: str
    argument: str

    @property
    def member(self) -> ModuleType:
        return registry.load(ROOM, self.kind)

    @property
    def scope(self) -> str:
        return str(self.member.SCOPE)

    def changes(self, place: Place, sessions: int) -> tuple[Change, ...]:
        found: tuple[Change, ...] = self.member.changes(self.argument, place, sessions)
        return found


def chosen(text: str, per_cpu: bool = False) -> tuple[Chosen, ...]:
    """The variants of ``baseline,one_per_core,cpus:0-3``, in that order, ``baseline`` first if it is not named.

    A part that begins with a digit belongs to the list before it: ``cpus:0,2``. With ``per_cpu`` a bare number behind
    ``cpus:`` is how many CPUs, not which one, and baseline is not added.

    Raises:
        UsageError: an unknown name, an argument that is not understood, one twice, or fewer than two.
    """
    parts: list[str] = []
    for part in (each.strip() for each in text.split(",")):
        if part[:1].isdecimal() and parts and ":" in parts[-1]:
            parts[-1] += f",{part}"
        elif part:
            parts.append(part)
    if per_cpu:
        parts = [f"n{each}" if each.startswith("cpus:") and each[5:].isdecimal() else each for each in parts]
    elif BASELINE not in parts:
        parts.insert(0, BASELINE)
    found = [_chosen(part) for part in parts]
    names = [each.name for each in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"variant {sorted(twice)[0]} is named twice; once is enough, give --repeats for more rounds")
    if len(found) < 2:
        raise UsageError(
            f"one variant alone is no comparison; name others beside {names[0] if names else BASELINE}: "
            f"{', '.join(known())}"
        )
    return tuple(found)


def known() -> tuple[str, ...]:
    """Every variant as it is written."""
    members = ((name, registry.load(ROOM, name)) for name in registry.names(ROOM))
    return tuple(f"{name}:{member.ARGUMENT}" if member.ARGUMENT else name for name, member in members)


def _chosen(text: str) -> Chosen:
    kind, colon, argument = text.partition(":")
    member = registry.load(ROOM, kind)
    if member.ARGUMENT and not argument:
        raise UsageError(f"variant {kind} needs something behind a colon, such as {kind}:{member.ARGUMENT}")
    member.check(argument)
    return Chosen(text if colon and argument else kind, kind, argument)


def refuse(variants: Sequence[Chosen], place: Place) -> None:
    """Raises UsageError for the first that cannot be had at that place, with the reason."""
    for each in variants:
        if why := each.member.why_not(each.argument, place):
            raise UsageError(f"variant {each.name} cannot be had here: {why}")


def refuse_without_privilege(
    variants: Sequence[Chosen], place: Place, host: Host | None, server: Server, most: int
) -> None:
    """Raises UsageError where a change is not permitted to this user, before anything is loaded."""
    if host is None or host.name != "local":
        return
    for each in variants:
        changes = each.changes(place, most)
        closed = [c.name for c in changes if c.kind == "file" and not os.access(c.name, os.W_OK)]
        if closed:
            instead = "; one_per_core needs no root" if each.kind == "smt_off" else ""
            raise UsageError(f"variant {each.name} writes {closed[0]}, which needs root: start dbcpu as root{instead}")
        if any(c.kind in ("affinity", "policy") for c in changes):
            _refuse_foreign(each.name, server)


def _refuse_foreign(name: str, server: Server) -> None:
    if not server.verified or server.pid is None:
        raise UsageError(f"variant {name} acts on the server processes, and they cannot be reached: {server.how}")
    owner = Path(f"/proc/{server.pid}").stat().st_uid if Path(f"/proc/{server.pid}").exists() else None
    if owner is None or owner == os.geteuid() or _may_nice():
        return
    raise UsageError(
        f"variant {name} acts on the server processes, which run as user {owner}: "
        "start dbcpu as root or as that user, or with CAP_SYS_NICE"
    )


def _may_nice() -> bool:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return False
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> CAP_SYS_NICE & 1)


def cpus_under(each: Chosen, place: Place) -> tuple[int, ...]:
    """CPUs that the sessions may use under it, together; () where no CPU is known."""
    if place.host is None:
        return ()
    there = {cpu.cpu: cpu for cpu in usable(place.host)}
    left = set(there)
    changes = each.changes(place, max(1, len(there)))
    bound = [set(parse_cpu_list(c.after)) for c in changes if c.kind == "affinity"]
    if bound:
        left &= {cpu for cpus in bound for cpu in cpus}
    for c in changes:
        if c.kind == "file" and c.name.startswith(_ONLINE):
            left.discard(int(c.name.removeprefix(_ONLINE).partition("/")[0]))
        elif c.kind == "file":  # smt/control
            left &= {cpu for cpu, one in there.items() if cpu == min(one.siblings)}
    return tuple(sorted(left))


def sentences(variants: Sequence[Chosen], place: Place, levels: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """What would be changed, a line per variant, for the largest number of sessions."""
    return tuple(
        f"{each.name}: {_sentence(each.changes(place, max(levels[each.name])))}"
        for each in variants
        if each.kind != BASELINE
    )


def _sentence(changes: Sequence[Change]) -> str:
    parts = [f"{c.name} from {c.before!r} to {c.after!r}" for c in changes if c.kind in ("file", "parameter")]
    parts += [f"the server is started by {c.after}" for c in changes if c.kind == "launch"]
    parts += [f"{c.after} of {c.before} sessions at a time" for c in changes if c.kind == "active"]
    bound = [c.after for c in changes if c.kind == "affinity"]
    if len(set(bound)) == 1:
        parts.append(f"server processes on CPUs {bound[0]}")
    elif bound:
        shown = ", ".join(bound[:8]) + (", ..." if len(bound) > 8 else "")
        parts.append(f"server processes on a CPU each: {shown}")
    policies = [c.after for c in changes if c.kind == "policy"]
    parts += [f"server processes with policy {policies[0]}"] if policies else []
    return ", ".join(parts) or "nothing is changed at these levels"


def findings(variants: Sequence[Chosen], place: Place) -> tuple[Finding, ...]:
    """What will keep a variant from doing what its name says."""
    found: list[Finding] = []
    for each in variants:
        if each.kind == "policy" and each.argument != "other" and each.member.ineffective(place):
            found.append(noted("autogroup", f"autogroup is on, and {each.name} was asked for"))
        if each.kind == "node" and not any(c.kind == "launch" for c in each.changes(place, 1)):
            why = "numactl is not installed" if place.ours else "the server runs already"
            found.append(noted("memory-not-bound", f"{each.name} binds CPUs only: {why}"))
    return tuple({each.code: each for each in found}.values())


def touches_the_host(variants: Sequence[Chosen], place: Place) -> bool:
    """Whether something is changed that others than the measured sessions feel."""
    return any(c.kind in ("file", "parameter") for each in variants for c in each.changes(place, 1))
