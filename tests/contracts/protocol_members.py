"""Every member of every room assigned to its protocol, so that mypy compares them; a test finds what is missing.

Variants and hosts are compared in tests of their own.
"""

from dbcpu.cli import (
    CommandModule,
    check,
    compare,
    delete,
    doctor,
    export,
    fleet,
    import_,
    more,
    report,
    restore,
    run,
    show,
    simulate,
    store,
    topology,
    vary,
)
from dbcpu.cli import list as list_
from dbcpu.cli import pool as pool_command
from dbcpu.cli import soak as soak_command
from dbcpu.measure.experiments import pool, soak, sweep, together
from dbcpu.measure.experiments.base import ExperimentModule, ExperimentShape
from dbcpu.measure.experiments.pool import PoolShape
from dbcpu.measure.experiments.soak import SoakShape
from dbcpu.measure.experiments.sweep import SweepShape
from dbcpu.measure.experiments.together import TargetGroup, TogetherShape
from dbcpu.measure.samplers import container, none, procfs, sql, ssh, trace
from dbcpu.measure.samplers._local import ProcfsSampler
from dbcpu.measure.samplers._remote import RemoteSampler
from dbcpu.measure.samplers.base import Sampler, SamplerModule
from dbcpu.measure.samplers.none import NoSampler
from dbcpu.measure.samplers.trace import TraceSampler
from dbcpu.reports.formats import csv, html, json, markdown, metrics, table
from dbcpu.reports.formats.base import FormatModule
from dbcpu.targets import embedded, oracle, postgresql, shell, sqlite
from dbcpu.targets.base import DatabaseSession, Target, TargetModule
from dbcpu.targets.embedded import EmbeddedTarget
from dbcpu.targets.oracle.session import OracleSession
from dbcpu.targets.oracle.target import OracleTarget
from dbcpu.targets.postgresql.session import LibpqSession
from dbcpu.targets.postgresql.target import LibpqTarget
from dbcpu.targets.shell import ShellSession, ShellTarget
from dbcpu.targets.sqlite import SqliteSession, SqliteTarget

TARGET_MODULES: dict[str, TargetModule] = {
    "embedded": embedded,
    "oracle": oracle,
    "postgresql": postgresql,
    "shell": shell,
    "sqlite": sqlite,
}
TARGETS: tuple[type[Target], ...] = (
    EmbeddedTarget,
    LibpqTarget,
    OracleTarget,
    ShellTarget,
    SqliteTarget,
    TargetGroup,
)
SESSIONS: tuple[type[DatabaseSession], ...] = (LibpqSession, OracleSession, ShellSession, SqliteSession)

SAMPLER_MODULES: dict[str, SamplerModule] = {
    "container": container, "none": none, "procfs": procfs, "sql": sql, "ssh": ssh, "trace": trace,
}  # fmt: skip
SAMPLERS: tuple[type[Sampler], ...] = (NoSampler, ProcfsSampler, RemoteSampler, TraceSampler)

EXPERIMENT_MODULES: dict[str, ExperimentModule] = {"pool": pool, "soak": soak, "sweep": sweep, "together": together}
SHAPES: tuple[type[ExperimentShape], ...] = (PoolShape, SoakShape, SweepShape, TogetherShape)

FORMAT_MODULES: dict[str, FormatModule] = {
    "csv": csv,
    "html": html,
    "json": json,
    "markdown": markdown,
    "metrics": metrics,
    "table": table,
}

COMMAND_MODULES: dict[str, CommandModule] = {
    "check": check,
    "compare": compare,
    "delete": delete,
    "doctor": doctor,
    "export": export,
    "fleet": fleet,
    "import": import_,
    "list": list_,
    "more": more,
    "pool": pool_command,
    "report": report,
    "restore": restore,
    "run": run,
    "show": show,
    "simulate": simulate,
    "soak": soak_command,
    "store": store,
    "topology": topology,
    "vary": vary,
}
