"""Oracle instance caging: the instance may use so many CPUs (``cage:2``), by ``cpu_count`` and a resource plan.

Both are set in memory only, so that a restart of the instance takes them back too. Source: Oracle Database
Administrator's Guide, "Managing Multiple Database Instances on a Single Server"; Licensing Information User Manual,
"Permitted Features, Options, and Management Packs" (Enterprise Edition).
"""

from dbcpu.variants.base import Change, VariantContext, count

SCOPE = "server"
ARGUMENT = "2"
HELP = "Oracle instance caging: so many CPUs for the instance"
_PLAN, _COUNT = "resource_manager_plan", "cpu_count"
_DEFAULT_PLAN, _DEFAULT_CDB_PLAN = "DEFAULT_PLAN", "DEFAULT_CDB_PLAN"
_ROOT = "CDB$ROOT"


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
    if parameters.get("managed_service") == "Amazon RDS":
        return "Amazon RDS allows no alter system; set cpu_count in the instance's parameter group instead"
    if parameters.get("cloud_service"):
        return "an Autonomous Database allows no alter system; set its ECPU count instead"
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    parameters = context.database.parameters
    plan = parameters.get(_PLAN, "")
    usual = _DEFAULT_CDB_PLAN if parameters.get("container") == _ROOT else _DEFAULT_PLAN
    planned = () if plan else (Change(f"parameter:{_PLAN}", "", usual),)
    return (*planned, Change(f"parameter:{_COUNT}", parameters[_COUNT], argument))
