"""Which variants were requested, whether they are possible here, and what each would change. Nothing is changed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dbcpu import registry
from dbcpu.errors import UsageError
from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.hosts.base import Host
from dbcpu.hosts.driver_process import has_capability
from dbcpu.hosts.interrupts import interrupt_of
from dbcpu.record.findings import Finding
from dbcpu.record.header import BASELINE
from dbcpu.record.plan import MAX_SESSIONS, NOT_VARIED
from dbcpu.record.rounds import Server
from dbcpu.variants._settings import named
from dbcpu.variants.base import (
    ROOM,
    Change,
    CountsPerCpu,
    HasFindings,
    MayBeSo,
    NeedsRoot,
    ReachesOthers,
    ReadsInterrupts,
    TakesCpusOffline,
    UsesTools,
    VariantContext,
    VariantModule,
    load_variant,
    usable,
)

CAP_SYS_NICE = 23
"""Source: capabilities(7), linux/capability.h"""


class SelectedVariant(Struct, frozen=True):
    """A variant as it was requested: ``cpus:0-3`` is the member ``cpus`` with the argument ``0-3``."""

    name: str
    kind: str
    argument: str

    @property
    def module(self) -> VariantModule:
        return load_variant(self.kind)

    @property
    def scope(self) -> str:
        return self.module.SCOPE

    @property
    def tools(self) -> tuple[str, ...]:
        """Programs that it uses where they are installed."""
        module = self.module
        return module.TOOLS if isinstance(module, UsesTools) else ()

    @property
    def reads_interrupts(self) -> bool:
        """Whether it plans with the interrupts of the host."""
        module = self.module
        return isinstance(module, ReadsInterrupts) and module.INTERRUPTS

    def changes(self, context: VariantContext, sessions: int) -> tuple[Change, ...]:
        return self.module.changes(self.argument, context, sessions)

    def already(self, context: VariantContext) -> str | None:
        """Why it would change nothing there, or None."""
        module = self.module
        return module.already(self.argument, context) if isinstance(module, MayBeSo) and context.host else None

    def findings(self, context: VariantContext) -> tuple[Finding, ...]:
        module = self.module
        return module.findings(self.argument, context) if isinstance(module, HasFindings) else ()

    def others(self, context: VariantContext) -> str:
        """Who else feels it, '' where nothing is said of that."""
        module = self.module
        return module.others(self.argument, context) if isinstance(module, ReachesOthers) else ""

    def max_active(self, context: VariantContext, sessions: int = MAX_SESSIONS) -> int | None:
        """How many of so many sessions may be at work at once; None: all."""
        return next((int(change.after) for change in self.changes(context, sessions) if change.kind == "active"), None)

    def offline_cpus(self, context: VariantContext) -> tuple[int, ...]:
        """CPUs that it takes from the whole host."""
        module = self.module
        return module.offline_cpus(self.argument, context) if isinstance(module, TakesCpusOffline) else ()

    def usable_cpus(self, context: VariantContext) -> tuple[int, ...]:
        """CPUs that the sessions may use under it, together, rising; () where no CPU is known."""
        if context.host is None:
            return ()
        left = {cpu.cpu for cpu in usable(context.host)}
        changes = self.changes(context, max(1, len(left)))
        if bound := [parse_cpu_list(change.after) for change in changes if change.kind == "affinity"]:
            left &= {cpu for cpus in bound for cpu in cpus}
        return tuple(sorted(left - set(self.offline_cpus(context))))


def select_variants(text: str, per_cpu: bool = False) -> tuple[SelectedVariant, ...]:
    """The variants of ``baseline,one_per_core,cpus:0-3``, in that order, ``baseline`` first if it is not named.

    A part that begins with a digit belongs to the list before it: ``cpus:0,2``. With ``per_cpu`` a bare number behind
    ``cpus:`` is how many CPUs, not which one, and baseline is not added.

    Raises:
        UsageError: an unknown name, an argument that is not understood, one twice, or fewer than two.
    """
    parts: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if part[:1].isdecimal() and parts and ":" in parts[-1]:
            parts[-1] += f",{part}"
        elif part:
            parts.append(part)
    if not per_cpu and BASELINE not in parts:
        parts.insert(0, BASELINE)
    selected = [_select(part, per_cpu) for part in parts]
    names = [variant.name for variant in selected]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"variant {sorted(twice)[0]} is named twice; once is enough, give --repeats for more rounds")
    if len(selected) < 2:
        raise UsageError(
            f"one variant alone is no comparison; name others beside {names[0] if names else BASELINE}: "
            f"{', '.join(name for name, _ in list_variants())}"
        )
    return tuple(selected)


def list_variants() -> tuple[tuple[str, str], ...]:
    """Every variant as it is written, with an example of its argument, and what it does in a few words."""
    members = ((name, load_variant(name)) for name in registry.names(ROOM))
    return tuple((f"{name}:{module.ARGUMENT}" if module.ARGUMENT else name, module.HELP) for name, module in members)


def _select(text: str, per_cpu: bool) -> SelectedVariant:
    kind, _, argument = text.partition(":")
    module = load_variant(kind)
    if per_cpu and isinstance(module, CountsPerCpu) and argument.isdecimal():
        return _select(f"{module.COUNTED_AS}:{argument}", per_cpu=False)
    if module.ARGUMENT and not argument:
        raise UsageError(f"variant {kind} needs something behind a colon, such as {kind}:{module.ARGUMENT}")
    module.check(argument)
    return SelectedVariant(text if argument else kind, kind, argument)


def leave_out(
    variants: Sequence[SelectedVariant], context: VariantContext
) -> tuple[tuple[SelectedVariant, ...], tuple[str, ...]]:
    """Those that change something there, and a sentence for each that is so already.

    Raises:
        UsageError: fewer than two are left.
    """
    return _without(variants, {variant: variant.already(context) for variant in variants})


def leave_out_same(
    variants: Sequence[SelectedVariant], context: VariantContext, levels: Mapping[str, Sequence[int]]
) -> tuple[tuple[SelectedVariant, ...], tuple[str, ...]]:
    """The same for those that are an earlier one, baseline included, at each of their ``levels``. Raises UsageError."""
    seen: dict[object, str] = {}
    why: dict[SelectedVariant, str | None] = {}
    for variant in variants:
        own = levels[variant.name]
        made = tuple((level, variant.offline_cpus(context), _real(variant.changes(context, level))) for level in own)
        first = seen.setdefault(made, variant.name)
        nothing = "it changes nothing at these numbers of sessions"
        same = nothing if first == BASELINE else f"it is the same as {first} at these numbers of sessions"
        why[variant] = None if first == variant.name else same
    return _without(variants, why)


def _real(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Without those that leave a session the CPUs that it has."""
    return tuple(each for each in changes if each.kind != "affinity" or each.before != each.after)


def _without(
    variants: Sequence[SelectedVariant], why: Mapping[SelectedVariant, str | None]
) -> tuple[tuple[SelectedVariant, ...], tuple[str, ...]]:
    left = tuple(variant for variant in variants if why[variant] is None)
    out = tuple(f"{NOT_VARIED.format(variant.name)}{reason}" for variant, reason in why.items() if reason)
    if out and len(left) < 2:
        raise UsageError(f"{'; '.join(out)}; nothing is left to compare")
    return left, out


def check_possible(variants: Sequence[SelectedVariant], context: VariantContext) -> None:
    """Raises UsageError for the first that is not possible there, with the reason."""
    for variant in variants:
        if why := variant.module.why_not(variant.argument, context):
            raise UsageError(f"variant {variant.name} is not possible here: {why}")


def check_privileges(
    variants: Sequence[SelectedVariant], context: VariantContext, host: Host | None, server: Server, sessions: int
) -> None:
    """Raises UsageError where this user may not make a change for so many sessions, before anything is loaded.

    ``server``: one of the server processes. Of another machine nothing can be said beforehand.
    """
    if host is None or host.name != "local":
        return
    for variant in variants:
        changes = variant.changes(context, sessions)
        closed = [
            change.name
            for change in changes
            if change.kind == "file" and not os.access(change.name, os.W_OK, effective_ids=True)
        ]
        if closed:
            hint = f"; {variant.module.ROOT_HINT}" if isinstance(variant.module, NeedsRoot) else ""
            raise UsageError(f"variant {variant.name} writes {closed[0]}, which needs root: start dbcpu as root{hint}")
        if any(change.is_per_session for change in changes):
            _check_owner(variant.name, server)


def _check_owner(name: str, server: Server) -> None:
    if not server.verified or server.pid is None:
        raise UsageError(f"variant {name} acts on the server processes, and they cannot be reached: {server.how}")
    try:
        owner = Path(f"/proc/{server.pid}").stat().st_uid
    except OSError:  # it has ended
        owner = None
    if owner is None or owner == os.geteuid() or has_capability(CAP_SYS_NICE):
        return
    raise UsageError(
        f"variant {name} acts on the server processes, which run as user {owner}: "
        "start dbcpu as root or as that user, or with CAP_SYS_NICE"
    )


def describe_changes(
    variants: Sequence[SelectedVariant], context: VariantContext, levels: Mapping[str, Sequence[int]]
) -> tuple[str, ...]:
    """What would be changed, a line per variant, for the largest number of sessions."""
    lines = []
    for variant in variants:
        if variant.kind != BASELINE:
            what = _description(variant.changes(context, max(levels[variant.name])))
            others = variant.others(context)
            lines.append(f"{variant.name}: {what}" + (f"; {others}" if others else ""))
    return tuple(lines)


def _description(changes: Sequence[Change]) -> str:
    shared = [(change, interrupt_of(change.name)) for change in changes if change.is_shared]
    parts = [f"{named(each.what)} from {each.before!r} to {each.after!r}" for each, number in shared if number is None]
    if moved := [number for _, number in shared if number is not None]:
        after = next(each.after for each, number in shared if number is not None)
        parts.append(f"interrupts {ranges(moved)} to CPUs {after}")
    parts += [f"the server is started by {change.after}" for change in changes if change.kind == "launch"]
    parts += [f"{change.after} of {change.before} sessions at a time" for change in changes if change.kind == "active"]
    bound = [change.after for change in changes if change.kind == "affinity"]
    if len(set(bound)) == 1:
        parts.append(f"server processes on CPUs {bound[0]}")
    elif bound:
        shown = ", ".join(bound[:8]) + (", ..." if len(bound) > 8 else "")
        parts.append(f"server processes on a CPU each: {shown}")
    policies = [change.after for change in changes if change.kind == "policy"]
    parts += [f"server processes with policy {policies[0]}"] if policies else []
    return ", ".join(parts) or "nothing is changed at these levels"


def findings(variants: Sequence[SelectedVariant], context: VariantContext) -> tuple[Finding, ...]:
    """What keeps a variant from doing what its name says; one finding of a kind, the last."""
    found = (finding for variant in variants for finding in variant.findings(context))
    return tuple({finding.code: finding for finding in found}.values())
