"""A run under several variants: the levels of each, what the preview says, and what applies them round by round."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.formatting import duration, plural
from dbcpu.hosts.base import READ_ONLY, Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.interrupts import read_interrupts
from dbcpu.measure.preview import Preview
from dbcpu.record import plan
from dbcpu.record.findings import noted
from dbcpu.record.header import HostInfo
from dbcpu.record.plan import MAX_SESSIONS, RoundSpec
from dbcpu.record.rounds import Server
from dbcpu.targets.base import Target
from dbcpu.variants._apply import VariantConditions
from dbcpu.variants._journal import check_folder
from dbcpu.variants._selection import (
    SelectedVariant,
    check_possible,
    check_privileges,
    describe_changes,
    findings,
    leave_out,
    leave_out_same,
)
from dbcpu.variants._settings import parameters_of
from dbcpu.variants.base import VariantContext

SWITCH_S = 1.0
"""What changing a host setting and its undoing may take."""
_LATE = 1.5
"""A run may take so many times its estimate, as on a host that is not quiet."""


class VariantPlan(Struct, frozen=True):
    """``levels``: by variant, in the order of the variants; ``cpus``: how many CPUs sessions have under each.

    ``left_out``: a sentence for each that would change nothing.
    """

    variants: tuple[SelectedVariant, ...]
    context: VariantContext
    levels: Mapping[str, tuple[int, ...]]
    cpus: Mapping[str, int | None]
    left_out: tuple[str, ...] = ()

    @classmethod
    def make(
        cls,
        variants: tuple[SelectedVariant, ...],
        context: VariantContext,
        levels: tuple[int, ...],
        per_cpu: Sequence[int] = (),
    ) -> "VariantPlan":
        """With ``per_cpu`` a variant has a level for each of them: so many sessions per CPU of its own.

        Raises:
            UsageError: a variant is not possible there, or its CPUs are not known.
        """
        variants, out = leave_out(variants, context)
        check_possible(variants, context)
        cpus = {variant.name: len(variant.usable_cpus(context)) or None for variant in variants}
        sessions = dict.fromkeys(cpus, levels)
        if per_cpu:
            sessions = {name: tuple(each * (count or 0) for each in per_cpu) for name, count in cpus.items()}
        if not all(1 <= count <= MAX_SESSIONS for counts in sessions.values() for count in counts):
            raise UsageError("--per-cpu needs a host whose CPUs can be seen from here; give --sessions instead")
        variants, same = leave_out_same(variants, context, sessions)
        kept = [variant.name for variant in variants]
        return cls(
            variants, context, {each: sessions[each] for each in kept}, {each: cpus[each] for each in kept}, out + same
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variant.name for variant in self.variants)

    @property
    def touches_host(self) -> bool:
        """Whether something is changed that others than the measured sessions feel."""
        return any(change.is_shared for variant in self.variants for change in variant.changes(self.context, 1))

    def check(self, host: Host | None, server: Server, *, fixed: bool) -> None:
        """Raises UsageError for what is not permitted, or not possible with a fixed time instead of fixed work."""
        capped = next((variant for variant in self.variants if variant.max_active(self.context)), None)
        if capped and not fixed:
            raise UsageError(
                f"{capped.kind}: lets sessions wait for each other's work, so --for makes no sense; give --seconds"
            )
        most = max(level for levels in self.levels.values() for level in levels)
        check_privileges(self.variants, self.context, host, server, most)
        changes = (change for variant in self.variants for change in variant.changes(self.context, most))
        if any(change.is_shared or change.is_per_session for change in changes):
            check_folder()

    def preview(self, preview: Preview, specs: Sequence[RoundSpec], solo_work_s: float, *, fixed_time: bool) -> Preview:
        """The preview with what will be changed, and how long that takes on the CPUs of each variant.

        Raises UsageError where the database itself changes meanwhile what a variant sets.
        """
        duration_s = 0.0
        for variant in self.variants:
            own = [spec for spec in specs if spec.variant == variant.name]
            limits = (self.cpus[variant.name], variant.max_active(self.context))
            at_once = MAX_SESSIONS if fixed_time else min((limit for limit in limits if limit), default=1)
            duration_s += plan.estimate_s(own, solo_work_s, at_once)
            duration_s += SWITCH_S * len(own) if variant.scope in ("host", "server") else 0.0
        self._refuse_if_overtaken(duration_s)
        rounds = min(Counter((each.variant, each.level) for each in specs if not each.anchor).values())
        few = (noted("too-few-rounds", f"{plural(rounds, 'round')} of each level"),) if rounds < plan.NORMAL else ()
        of_variants = (*few, *findings(self.variants, self.context))
        found = sorted((*preview.findings, *of_variants), key=lambda found: -found.level)
        return replace(
            preview,
            duration_s=duration_s,
            findings=tuple(found),
            changes=describe_changes(self.variants, self.context, self.levels),
            touches_host=self.touches_host,
            left_out=self.left_out,
        )

    def _refuse_if_overtaken(self, duration_s: float) -> None:
        if self.context.window is None or self.context.window[1] > duration_s * _LATE:
            return
        what, in_s = self.context.window
        for variant in self.variants:
            if any(change.kind == "parameter" for change in variant.changes(self.context, 1)):
                raise UsageError(
                    f"variant {variant.name} is not possible now: {what} opens in {duration(in_s)}, and the run "
                    f"takes about {duration(duration_s)}; measure when it has closed, or fewer --sessions or "
                    "--repeats"
                )

    def conditions(
        self,
        host: Host | None,
        request: Request,
        target: Target,
        guard: Guard,
        open_target: Callable[[Request, Guard], Target],
        notify: Callable[[str], object],
    ) -> VariantConditions:
        """What applies the variants round by round. Used as a context manager: leaving it undoes all.

        ``notify`` is called with a sentence about each setting that somebody else has changed meanwhile.
        """

        def open_server(command: str) -> Target:
            return open_target(request.with_options(launch=command), guard)

        return VariantConditions(
            self.variants,
            self.context,
            host,
            request.name,
            guard,
            parameters_of(target),
            open_server,
            notify=notify,
        )


def variant_context(
    request: Request, target: Target, host: Host | None, info: HostInfo | None, variants: Sequence[SelectedVariant]
) -> VariantContext:
    """What the variants are planned for."""
    tools = frozenset(name for variant in variants for name in variant.tools if shutil.which(name))
    read_only = isinstance(host, RemoteHost) and host.over in READ_ONLY
    interrupts = read_interrupts(host) if host and any(variant.reads_interrupts for variant in variants) else None
    own_server = request.kind == "embedded"
    parameters = parameters_of(target)
    window = parameters.next_window() if parameters else None
    return VariantContext(info, target.describe(), own_server, request.url, tools, read_only, interrupts, window)


def check_before(variants: Sequence[SelectedVariant], context: VariantContext, *, inherits: bool) -> None:
    """Raises UsageError as ``VariantPlan.make`` for what no server process can do there, before one has worked.

    ``inherits``: server processes have the CPUs of this one; else they may have any that is online.
    """
    if context.host is not None and not inherits:
        online = tuple(cpu.cpu for cpu in context.host.topology.cpus if cpu.online)
        host = replace(context.host, limits=replace(context.host.limits, allowed_cpus=online))
        context = replace(context, host=host)
    check_possible([each for each in variants if not each.already(context)], context)
