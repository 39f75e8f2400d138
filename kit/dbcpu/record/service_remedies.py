"""Remedies as they can be carried out where the database is, and the way back from those that change it: pure.

A managed service lets nobody onto its host and refuses ALTER SYSTEM for most parameters, or all.
Source: Amazon RDS User Guide, Parameter groups for RDS for Oracle; Using Oracle Autonomous Database Serverless, SQL
Commands, Initialization Parameters, Idle Time Limits, Manage CPU/IO Shares, CS_RESOURCE_MANAGER Package; AWS CLI,
modify-db-parameter-group, reset-db-parameter-group and describe-db-parameters
"""

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dbcpu.formatting import plain
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import AUTONOMOUS, RDS

NOT_REQUESTED = "requested by --host none"
"""Why a host is not sampled that nobody wanted to be."""
UNKNOWN_VALUE = "VALUE"
IN_THE_ROOT = (
    "nothing, if the plan is meant; it is one of the root, whose DBA sees it by `show parameter resource_manager_plan` "
    "there and can change it"
)
NO_PLAN_SET = (
    "`show parameter resource_manager_plan` says whether a plan is on now: when the run began, none was set that could "
    "be cleared; in a pluggable database see the root, too. Standard Edition 2, Free and Express Edition limit the "
    "CPUs without one; for a cage see `instance-caging`"
)
_IN_NO_ROOT = (
    "nothing that a user can change: the plan is one of the root, and nobody has the root on Amazon RDS; compare runs "
    "under the same plan"
)
_WHICH_GRANTS = "as a user with more privileges; for Oracle `dbcpu doctor TARGET` prints the grants"
_SET_BY_WINDOW = re.compile(r"SCHEDULER\[\w*\]:")
"""What stands before a plan that a scheduler window has set."""
_SAFE = re.compile(r"[\w$#:.]*")
_INSTANCE = re.compile(r"[\w$#]{1,16}")
_CHANGE = re.compile(r"alter system set (\w+) = '?([^'` ]*)'? scope = (memory|spfile)(?: sid = '[^']*')?")
_GROUP = "--db-parameter-group-name GROUP --parameters ParameterName={},"
_NO_ALTER_SYSTEM = (
    "nothing that a user can change: the service sets it, and `alter system` for it is refused on Autonomous Database; "
    "compare runs under the same setting"
)
_OF_SERVICE = {
    "setting-refused": "{service} sets the lockdown profile, and no user changes it there; `--workload arithmetic` has "
    "no optimizer and no cache",
    "not-dedicated": "use another service of the database that has dedicated servers; `lsnrctl` is not there on "
    "{service}",
    "one-container": "where `v$osstat` is granted and no process is sampled, each round shows what others used; nobody "
    "has the root on {service}",
    "data-guard-standby": "measure the primary; nobody stops the apply by ALTER DATABASE on {service}. `--workload "
    "cartesian` makes no table",
    "threaded-execution": "nothing to do: on {service} no process or thread is sampled",
    "not-sampled": "nothing on {service}, which lets nobody onto the database's host; for full attribution measure on "
    "a host of your own: `dbcpu run` there",
}
_SHARES = (
    "nothing, if the shares of the consumer groups are meant; ADMIN changes them by "
    "`cs_resource_manager.update_plan_directive`, for all sessions of a group, and sees before by `select * from "
    "cs_resource_manager.list_current_rules()` what to put back. `alter system` for a plan is refused on Autonomous "
    "Database; compare runs under the same shares and service"
)
_OF_AUTONOMOUS = {
    "resource-manager": _SHARES,
    "resource-manager-waits": _SHARES,
    "several-instances": "fewer sessions, or a service that runs on one instance: `_tp` or `_low`; nobody names an "
    "instance of an Autonomous Database",
    "idle-limits": "ADMIN may set MAX_IDLE_TIME there (Using Autonomous Database Serverless, Idle Time Limits): before "
    "a soak or a run of many sessions `alter system set max_idle_time = 0`, afterwards the value above; a session that "
    "holds what others need may still be ended after 5 minutes",
    "work-area-spill": "run fewer sessions, or give the database more ECPUs: memory comes with them, and no user of "
    "Autonomous Database sets `pga_aggregate_target`",
    "hard-parses": "`select * from v$sql_shared_cursor where sql_id = ...` shows why there are several cursors; no "
    "user of Autonomous Database sets `shared_pool_size`, memory comes with ECPUs",
}
_MEMORY = {"work-area-spill": "pga_aggregate_target", "hard-parses": "shared_pool_size"}
"""By finding: the parameter that its remedy raises."""
_GROUP_NOTE = (
    ". GROUP is one of your own, since the default one cannot be changed; `aws rds describe-db-parameters "
    "--db-parameter-group-name GROUP` lists what it has, and what needs a reboot. Amazon RDS refuses ALTER SYSTEM, but "
    "RDS Custom does not"
)
_LEAVE_OUT = (
    "leave out `--host none`: then dbcpu looks for a way to the database's host; `dbcpu doctor` says what it finds"
)


def where(finding: Finding, service: str) -> Finding:
    """The finding with a remedy that can be carried out on a managed service; itself for ''."""
    if not service:
        return finding
    if finding.code in _OF_SERVICE:
        return replace(finding, remedy=_OF_SERVICE[finding.code].format(service=service))
    if service == AUTONOMOUS and finding.code in _OF_AUTONOMOUS:
        return replace(finding, remedy=_OF_AUTONOMOUS[finding.code])
    if service == RDS and finding.remedy == IN_THE_ROOT:
        return replace(finding, remedy=_IN_NO_ROOT)
    if service == RDS and finding.code in _MEMORY and "aws rds" not in finding.remedy:
        change = f"{_GROUP.format(_MEMORY[finding.code])}ParameterValue=BYTES,ApplyMethod=pending-reboot"
        return replace(finding, remedy=f"{finding.remedy}: `aws rds modify-db-parameter-group {change}`{_GROUP_NOTE}")
    if not _CHANGE.search(finding.remedy):
        return finding
    if service == AUTONOMOUS:
        count = "`--vcpus N` says how many count; besides that " if finding.code == "cpu-count" else ""
        return replace(finding, remedy=count + _NO_ALTER_SYSTEM)
    remedy = _CHANGE.sub(_in_parameter_group, finding.remedy)
    return replace(finding, remedy=f"{remedy}{_GROUP_NOTE}")


def not_visible(left: Sequence[Mapping[str, str]]) -> Finding | None:
    """What the user's privileges left unchecked (``Database.not_checked``), with the grants; None for nothing."""
    what = dict.fromkeys(plain(name) for each in left for name in each)
    if not what:
        return None
    grants = dict.fromkeys(
        plain(one.strip()) for each in left for text in each.values() for one in text.split(";") if one.strip()
    )
    found = noted("not-checked", f"not visible to the database user: {'; '.join(what)}", grants="; ".join(grants))
    # None where only a superuser may, or where names were left out of the record.
    return found if grants else replace(found, remedy=_WHICH_GRANTS)


def without_host(finding: Finding, reason: str, service: str) -> Finding:
    """The finding ``not-sampled``, whose remedy depends on why the host is not seen."""
    if not service and NOT_REQUESTED in reason:
        return replace(finding, remedy=_LEAVE_OUT)
    return where(finding, service)


def value_to_restore(parameters: Mapping[str, str], name: str, otherwise: str = UNKNOWN_VALUE) -> str:
    """What puts a parameter back to what was read: a plan without the window that set it; ``VALUE`` where unknown."""
    value = _SET_BY_WINDOW.sub("", parameters.get(name) or otherwise)
    return value if _SAFE.fullmatch(value) else UNKNOWN_VALUE


def plan_to_restore(parameters: Mapping[str, str], active: str) -> str:
    """What puts RESOURCE_MANAGER_PLAN back: '' where V$PARAMETER was read and has none; else ``active``, as it is seen.

    Without a plan that is set V$RSRC_PLAN still names one, such as INTERNAL_PLAN.
    """
    if "cpu_count" in parameters and not parameters.get("resource_manager_plan"):
        return ""
    return value_to_restore(parameters, "resource_manager_plan", active)


def by_oracle_window(plan: str) -> bool:
    """Whether a window of Oracle's scheduler has set this RESOURCE_MANAGER_PLAN: it goes when the window closes."""
    return _SET_BY_WINDOW.match(plan) is not None


def instance_name(name: str) -> str:
    """As it can stand in a statement: ``INSTANCE`` where it is not known."""
    return name if _INSTANCE.fullmatch(name) else "INSTANCE"


def _in_parameter_group(change: re.Match[str]) -> str:
    """The same by the AWS CLI; an empty value is the engine's own."""
    name, value, scope = change[1], change[2], change[3]
    apply = f"ApplyMethod={'immediate' if scope == 'memory' else 'pending-reboot'}"
    if not value:
        return f"aws rds reset-db-parameter-group {_GROUP.format(name)}{apply}"
    return f"aws rds modify-db-parameter-group {_GROUP.format(name)}ParameterValue={value},{apply}"
