"""Oracle instance caging: the instance may use so many CPUs (``cage:2``), by ``cpu_count`` and a resource plan.

Both are set in memory only, so that a restart of the instance takes them back too. No plan is set in a container
database. In a pluggable one it would make Resource Manager switch on DEFAULT_CDB_PLAN in a root without a plan, in the
root it is that plan: either enforces the shares and every CPU_COUNT of all pluggable databases, and clearing the plan
of the pluggable one does not clear that of the root. Source: Oracle Database Reference, RESOURCE_MANAGER_PLAN,
CPU_COUNT, CPU_MIN_COUNT; Administrator's Guide, "Managing Multiple Database Instances on a Single Server"; Licensing
Information User Manual, "Permitted Features, Options, and Management Packs" (Enterprise Edition).
"""

from collections.abc import Mapping

from dbcpu.formatting import version_numbers
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import RDS
from dbcpu.record.service_remedies import by_oracle_window
from dbcpu.variants.base import Change, VariantContext, count

SCOPE = "server"
ARGUMENT = "2"
HELP = "Oracle instance caging: so many CPUs for the instance"
_PLAN, _COUNT, _LEAST = "resource_manager_plan", "cpu_count", "cpu_min_count"
_DEFAULT_PLAN = "DEFAULT_PLAN"
_ROOT = "CDB$ROOT"
_PDB_COUNT_SINCE = (12, 2)
_BY_THE_DBA = "`alter system set resource_manager_plan = 'DEFAULT_CDB_PLAN' scope = memory` there, and '' afterwards"


def check(argument: str) -> None:
    count("cage", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    if context.database.kind != "oracle":
        return f"instance caging is Oracle's, and this is {context.database.kind}; use cpus: or active:"
    parameters = context.database.parameters
    edition = parameters.get("edition", "")
    if "standard edition" in edition.lower():
        return (
            f"Resource Manager and instance caging need Enterprise Edition, and this is {edition}; use cpus: or active:"
        )
    if _COUNT not in parameters:
        return "cpu_count cannot be read (select on V_$PARAMETER), so it could not be put back"
    if context.database.service == RDS:
        return (
            "Amazon RDS refuses alter system (RDS Custom does not: there by hand); set cpu_count in the instance's "
            "parameter group instead"
        )
    if parameters.get("autonomous"):
        return "an Autonomous Database refuses alter system for cpu_count; set its ECPU count instead"
    if parameters.get("cluster") == "unknown" or not parameters.get("instance_name"):
        return (
            "whether this database is a cluster is not known, nor so which instances a cage would reach; grant select "
            "on V_$INSTANCE"
        )
    return (
        _others_forbid(parameters)
        or _container_forbids(context)
        or _plan_forbids(parameters)
        or _range_forbids(argument, parameters)
    )


def _others_forbid(parameters: Mapping[str, str]) -> str | None:
    if parameters.get("other_runs") == "unknown":
        return (
            "whether another run of dbcpu has caged this instance is not known, and the cage of one would be left by "
            "the other; grant select on V_$SESSION"
        )
    window = parameters.get("maintenance_window")
    if window or by_oracle_window(parameters.get(_PLAN, "")):
        return (
            f"scheduler window {window or 'unknown'} is open, and what it has set is not touched; measure when it has "
            "closed (all_scheduler_windows)"
        )
    return None


def _container_forbids(context: VariantContext) -> str | None:
    parameters = context.database.parameters
    container = parameters.get("container", "")
    if container == _ROOT and parameters.get("cpu_managed") != "ON":
        return (
            "no plan is seen to be active in the root, and one would enforce the shares and every cpu_count of all "
            f"pluggable databases; if that is meant, the DBA switches it on: {_BY_THE_DBA}"
        )
    if container in ("", _ROOT):
        return None
    if version_numbers(context.database.version, 2) < _PDB_COUNT_SINCE:
        return "before 12.2 cpu_count belongs to the instance, and cannot be set in a pluggable database; use active:"
    if not parameters.get("root_plan"):
        return (
            "no active plan of the root is seen from this pluggable database, and a plan set here would switch on "
            "DEFAULT_CDB_PLAN in the root, which cages other pluggable databases too; where that is meant, the DBA "
            f"switches it on in the root ({_BY_THE_DBA}); V$RSRC_SESSION_INFO or V$RSRCPDBMETRIC has to show it here"
        )
    return None


def _plan_forbids(parameters: Mapping[str, str]) -> str | None:
    """A plan that is on is left on; one of parallel servers or of active sessions alone enforces no CPU_COUNT."""
    plan = parameters.get(_PLAN)
    if not plan or parameters.get("container") or parameters.get("cpu_managed") == "ON":
        return None
    if "cpu_managed" not in parameters:
        return f"whether the plan that is on ({plan}) manages CPU is not known; grant select on V_$RSRC_PLAN"
    return (
        f"the plan that is on ({plan}) manages no CPU (CPU_MANAGED is OFF in V$RSRC_PLAN), so no cpu_count is "
        "enforced; measure where no plan is on, or under one with CPU directives"
    )


def _range_forbids(argument: str, parameters: Mapping[str, str]) -> str | None:
    """CPU_MIN_COUNT follows CPU_COUNT where it is not set, and may not exceed it. More than the host has is refused."""
    most = parameters.get("num_cpus", "")
    if most.isdecimal() and int(argument) > int(most):
        return f"the host has {most} CPUs (V$OSSTAT), and the server refuses a cpu_count above them"
    least = parameters.get(_LEAST, "")
    if least != parameters[_COUNT] and least.isdecimal() and int(least) > int(argument):
        return f"cpu_min_count is {least}, and cpu_count may not be below it; cage:{least} is possible"
    return None


def others(argument: str, context: VariantContext) -> str:
    parameters = context.database.parameters
    container = parameters.get("container", "")
    whom = {"": "every session of the instance", _ROOT: "every pluggable database of the instance"}.get(
        container, f"every session of the pluggable database {container}"
    )
    clustered = parameters.get("cluster") == "ON" or int(parameters.get("instances", "1")) > 1
    rest = (
        f"; the database is a cluster: only instance {parameters['instance_name']} is changed, the others keep theirs, "
        "and Oracle asks for the same on all"
    )
    rest = rest if clustered else ""
    if container not in ("", _ROOT):
        rest += (
            "; afterwards the value is the pluggable database's own, also where it was the root's before: it follows "
            "the root again when it is closed and opened"
        )
    return f"this limits {whom}, not the measured sessions alone{rest}"


def findings(argument: str, context: VariantContext) -> tuple[Finding, ...]:
    parameters = context.database.parameters
    if parameters.get("cpu_count_set") != "ON":
        return ()
    return (noted("count-changed", f"cpu_count = {parameters[_COUNT]} was set while the instance ran"),)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    parameters = context.database.parameters
    no_plan = not parameters.get(_PLAN) and not parameters.get("container")
    instance = parameters["instance_name"]
    planned = (Change(f"parameter:{_PLAN}@{instance}", "", _DEFAULT_PLAN),) if no_plan else ()
    return (*planned, Change(f"parameter:{_COUNT}@{instance}", parameters[_COUNT], argument))
