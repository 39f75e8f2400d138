"""Of a header what a history shows of it: of ten thousand runs the whole one takes many times as long to read.

The names are those of ``dbcpu.record``, which describes them; what is not named here is passed over.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct, field

from dbcpu.record.header import BASELINE, ROWS_UNIT, SWEEP, Finite, Topology, is_imported

TOPOLOGIES = 1000
"""That are kept as they were read: the nights of a host have one and the same text."""


class BriefWork(Struct, frozen=True):
    name: str
    size: str
    sql: str | None
    unit: str = ROWS_UNIT


class BriefPlan(Struct, frozen=True):
    target: str
    workload: BriefWork
    executions: int | None
    for_s: Finite | None
    sampler: str
    vcpus: int | None
    variants: tuple[str, ...] = (BASELINE,)
    experiment: str = SWEEP
    pieces: int | None = None
    blocking: int | None = None
    block_s: Finite | None = None
    connections: int | None = None
    one_at_a_time: bool = False
    levels: tuple[int, ...] = ()


class BriefLimits(Struct, frozen=True):
    allowed_cpus: tuple[int, ...]
    quota_cpus: Finite | None = None


class BriefHost(Struct, frozen=True):
    hostname: str
    kernel: str
    cpu_model: str
    topology_text: Raw = field(name="topology")
    limits: BriefLimits
    hypervisor: str | None = None
    container: str | None = None
    governor: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _topology(bytes(self.topology_text))  # one that is damaged is found out here, as all else

    @property
    def topology(self) -> Topology:
        return _topology(bytes(self.topology_text))


class BriefDatabase(Struct, frozen=True):
    kind: str
    version: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    driver_on_host: bool | None = None


class BriefHeader(Struct, frozen=True):
    run_id: str
    label: str
    started_at: str
    tool_version: str
    plan: BriefPlan
    host: BriefHost | None
    database: BriefDatabase
    schema: int

    @property
    def is_imported(self) -> bool:
        return is_imported(self.plan.sampler, self.tool_version)


@lru_cache(TOPOLOGIES)
def _topology(text: bytes) -> Topology:
    return msgspec.json.decode(text, type=Topology)
