"""What every question about the rounds of one variant needs to know."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.placement.regimes import core_count, usable_cores, vcpu_count
from dbcpu.analysis.placement.valid_sessions import Timed, timed
from dbcpu.analysis.results.run import Reference
from dbcpu.record import RunRecord


@dataclass(frozen=True, slots=True)
class RunContext:
    """A record with its sessions and their reference; ``core_by_cpu``, ``vcpus`` and ``cores`` that they may use."""

    record: RunRecord
    sessions: tuple[Timed, ...]
    reference: Reference | None
    vcpus: int | None
    cores: int | None
    core_by_cpu: Mapping[int, int]

    @property
    def rows(self) -> int:
        """The work in one execution."""
        return self.record.header.plan.workload.rows

    @property
    def threads(self) -> tuple[int, ...]:
        """Usable threads of each core; () where a limit leaves fewer vCPUs than they are."""
        return tuple(Counter(self.core_by_cpu.values()).values()) if self.vcpus == len(self.core_by_cpu) else ()


def run_context(record: RunRecord, known: Reference | None = None) -> RunContext:
    """``known`` is the reference of another variant, if that is what counts."""
    sessions = timed(record)
    return RunContext(
        record,
        sessions,
        known or reference(record, sessions),
        vcpu_count(record),
        core_count(record),
        usable_cores(record),
    )
