"""A run under several variants: the levels of each, what is refused, what the preview says, what rounds are under."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbcpu import plan
from dbcpu.config.targets import Request
from dbcpu.errors import UsageError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.preview import Preview
from dbcpu.plan import MAX_SESSIONS, RoundSpec
from dbcpu.record import HostInfo, Server
from dbcpu.targets.base import Target
from dbcpu.variants import _selection as selection
from dbcpu.variants._apply import Conditions
from dbcpu.variants._selection import Chosen
from dbcpu.variants._settings import parameters_of
from dbcpu.variants.base import Place

TOOLS = ("numactl",)
SWITCH_S = 1.0
"""What changing a host setting and its undoing may take."""


@dataclass(frozen=True, slots=True)
class Varied:
    """``levels``: by variant, in the order of the variants; ``cpus``: how many CPUs sessions have under each."""

    variants: tuple[Chosen, ...]
    place: Place
    levels: Mapping[str, tuple[int, ...]]
    cpus: Mapping[str, int | None]

    @classmethod
    def plan(cls, variants: tuple[Chosen, ...], place: Place, levels: tuple[int, ...], per_cpu: int | None) -> "Varied":
        """With ``per_cpu`` a variant has one level: so many sessions per CPU of its own.

        Raises:
            UsageError: a variant cannot be had there, or its CPUs are not known.
        """
        selection.refuse(variants, place)
        cpus = {each.name: len(selection.cpus_under(each, place)) or None for each in variants}
        if per_cpu is None:
            return cls(variants, place, {each.name: levels for each in variants}, cpus)
        sessions = {name: per_cpu * (count or 0) for name, count in cpus.items()}
        if not all(1 <= count <= MAX_SESSIONS for count in sessions.values()):
            raise UsageError("--per-cpu needs a host whose CPUs can be seen from here; give --sessions instead")
        return cls(variants, place, {name: (count,) for name, count in sessions.items()}, cpus)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.variants)

    def refuse(self, host: Host | None, server: Server, fixed: bool) -> None:
        """Raises UsageError for what is not permitted, or makes no sense with a fixed time."""
        if not fixed and any(each.kind == "active" for each in self.variants):
            raise UsageError(
                "active: lets sessions wait for each other's work, so --for makes no sense; give --seconds"
            )
        most = max(level for each in self.levels.values() for level in each)
        selection.refuse_without_privilege(self.variants, self.place, host, server, most)

    def told(self, preview: Preview, specs: Sequence[RoundSpec], solo_work_s: float, fixed_time: bool) -> Preview:
        """The preview with what will be changed, and how long that takes on the CPUs of each variant."""
        duration_s = 0.0
        for each in self.variants:
            own = [spec for spec in specs if spec.variant == each.name]
            at_most = int(each.argument) if each.kind == "active" else None
            places = min([n for n in (self.cpus[each.name], at_most) if n], default=1)
            duration_s += plan.estimate_s(own, solo_work_s, plan.MAX_SESSIONS if fixed_time else places)
            duration_s += SWITCH_S * len(own) if each.scope in ("host", "server") else 0.0
        found = tuple(
            sorted((*preview.findings, *selection.findings(self.variants, self.place)), key=lambda f: -f.level)
        )
        return replace(
            preview,
            duration_s=duration_s,
            findings=found,
            changes=selection.sentences(self.variants, self.place, self.levels),
            touches_host=selection.touches_the_host(self.variants, self.place),
        )

    def conditions(
        self,
        host: Host | None,
        request: Request,
        target: Target,
        guard: Guard,
        open_target: Callable[[Request, Guard], Target],
        tell: Callable[[str], object],
    ) -> Conditions:
        """What applies the variants round by round. Used as a context manager: leaving it undoes all.

        ``tell``: hears of settings that somebody else has changed meanwhile.
        """

        def server(command: str) -> Target:
            return open_target(replace(request, options={**request.options, "launch": command}), guard)

        return Conditions(
            self.variants, self.place, host, request.name, guard, parameters_of(target), server, tell=tell
        )


def place_of(request: Request, target: Target, host: Host | None, info: HostInfo | None) -> Place:
    """What the variants are planned for."""
    tools = frozenset(name for name in TOOLS if shutil.which(name))
    read_only = isinstance(host, RemoteHost) and host.over == "sql"
    return Place(info, target.describe(), request.kind == "embedded", request.url, tools, read_only)
