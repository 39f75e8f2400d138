"""What a run does with its sessions: the shape of the experiment, which is asked at each step of the run.

A member module offers what ``ExperimentModule`` asks for: ``sweep`` for ``dbcpu run``, and others.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from dbcpu import registry
from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import RoundSetup
from dbcpu.measure.workloads import Workload
from dbcpu.record import plan
from dbcpu.record.header import Plan, WorkloadInfo
from dbcpu.record.plan import NextRound, RoundSpec
from dbcpu.record.rounds import Round
from dbcpu.targets.base import Target, Work, open_target


def workload_info(target: Target, work: Work) -> WorkloadInfo:
    """The work as the record names it, with the plan that ``target`` makes of it."""
    return WorkloadInfo(
        name=work.name,
        size=work.size,
        n=work.n,
        rows=work.rows,
        sql=work.sql,
        sql_hash=hashlib.sha256(work.sql.encode()).hexdigest(),
        answer=work.answer,
        plan_shape=target.explain(work),
    )


class GroupMember(Struct, frozen=True):
    """One of several targets that are measured together: its sessions, and the CPUs its processes are held on."""

    name: str
    request: Request
    sessions: int
    cpus: tuple[int, ...] = ()


class ExperimentOptions(Struct, frozen=True, kw_only=True):
    """What the commands ask of experiments beyond ``Choices``; each takes what concerns it."""

    for_s: float = 600.0
    """How long a soak lasts in all."""
    sizes: tuple[str, ...] = ()
    """Sizes that take turns in a soak, the first that of the run."""
    pieces: int = 100
    """Executions that the sessions of a pool share."""
    blocking: int = 0
    """So many of them only wait, ``block_s`` each."""
    block_s: float = 1.0
    connections: int = 0
    """They come as calls over so many TCP connections; 0: nobody calls."""
    one_at_a_time: bool = False
    """Over each of these the next call is sent when the last one is answered."""
    group: tuple[GroupMember, ...] = ()
    """Targets that are measured together."""


class ExperimentShape(Protocol):
    """The steps of a run in which experiments differ; what most have in common is written out here.

    A class names this as its base and gives ``specs`` and ``rounds``.
    """

    survives_failures: bool = False
    """Whether a round that failed as a whole is kept as a gap, and the run goes on."""
    levels_option: str = "--sessions"
    """How its command asks for the levels."""

    def open(self, request: Request, guard: Guard) -> Target:
        """The target, not yet started. Raises as ``TargetModule.open_target``."""
        return open_target(request, guard)

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        """Numbers of sessions at once, from ``levels_option``. Raises UsageError."""
        return plan.parse_levels(text, vcpus, cores, self.levels_option)

    @abstractmethod
    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """The rounds in their order."""

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        """The preview, where the estimates of a sweep do not fit. ``solo_s``: one execution alone."""
        return preview

    def opened(self, target: Target, workload: Workload) -> None:
        """Hears once of the open target and its workload. Raises UsageError where they cannot be used so."""
        return

    def planned(self, made: Plan, target: Target) -> Plan:
        """The plan with what this experiment adds to it."""
        return made

    @abstractmethod
    def rounds(
        self,
        setup: RoundSetup,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        """Each round as soon as it is finished. Raises as ``measure``."""


@runtime_checkable
class ExperimentModule(Protocol):
    """What a member module of this room offers."""

    def open_experiment(self, options: ExperimentOptions) -> ExperimentShape:
        """A shape for one run."""


def load_experiment(name: str) -> ExperimentModule:
    """The member called ``name``. Raises UnknownName."""
    member = registry.load("measure.experiments", name)
    if not isinstance(member, ExperimentModule):
        raise registry.misfit("measure.experiments", name, "open_experiment(options)")
    return member
