"""Missing grants, what each one makes available, and the statements that grant them: pure functions."""

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dbcpu.formatting import version_numbers
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding, noted
from dbcpu.targets.oracle import statements

_OBJECT = re.compile(r"SYS\.(G?V_\$\w+)")
IDENTITY = ("V_$PROCESS", "V_$SESSION")
"""Which server process a session has."""
_OF_THE_ROLE = (
    ". It opens the whole dictionary too, with DBA_HIST_* and V$ACTIVE_SESSION_HISTORY, whose use needs a licence for "
    "the Diagnostics Pack; after the run: `revoke select_catalog_role from {user}`"
)
_PLAIN_NAME = re.compile(r"[A-Z][A-Z0-9_$#]*")
_READ_SINCE = (12, 1, 0, 2)
_VIEWS_DENIED = ("ORA-00942", "ORA-01031", "ORA-41900")
_SERVES = {
    "counters": "physical I/O, work areas and parallel query",
    "plan_operators": "the shape of the plan",
    "cursor_plans": "whether all sessions ran the same plan",
    "session_settings": "whether a session's settings hold",
    "session_state": "whether parallel query is off, and whether a session is traced",
    "time_model": "DB time and DB CPU",
    "waits": "wait events, including those of the resource manager",
    "resource_plan": "whether the resource manager limits CPU",
    "resource_plan_11": "whether the resource manager limits CPU",
    "resource_state": "whether the resource manager manages the sessions",
    "pdb_cpus": "how many CPUs a plan of the root leaves to the pluggable database",
    "platform_name": "whether the host runs AIX, whose CPU time means something else",
    "open_mode": "whether the standby or True Cache applies redo",
    "pdb_open_mode": "whether the pluggable database is a standby of its own (Data Guard per PDB), open read-only",
    "parameters": "cpu_count and other parameters that affect the measurement",
    "osstat": "the CPUs of a host that cannot be read, and how busy they are",
    "server_process": "the server process of a session, without which nothing is sampled",
    "server_process_11": "the server process of a session, without which nothing is sampled",
    "busy_sessions": "whether other sessions are active",
    "session_limits": "the limit of sessions",
    "instance": "whether the database is a cluster",
    "cluster_instances": "the number of instances of a cluster",
    "tagged_sessions": "sessions of killed runs",
    "tagged_sessions_cluster": "sessions of killed runs on other instances",
}
"""By statement: what it checks or makes available, what a verdict rests on first."""


def missing(denied: Mapping[str, str]) -> tuple[str, ...]:
    """Objects of SYS that are not granted: ``V_$SESSION`` and so on, sorted."""
    found: set[str] = set()
    for name, code in denied.items():
        if code in _VIEWS_DENIED:
            found |= set(_OBJECT.findall(statements.header(name).get("needs", "")))
    return tuple(sorted(found))


def every() -> tuple[str, ...]:
    """Every object that dbcpu can use: for the documentation, and for those who want to grant all at once."""
    needs = (statements.header(name).get("needs", "") for name in statements.names())
    return tuple(sorted({found for text in needs for found in _OBJECT.findall(text)}))


def identifier(user: str) -> str:
    """A user as SQL has to name it: as it is usually written, or within quotes where it means another without them.

    ``user``: as the dictionary has it. Users of a directory or of Kerberos have names such as ``john@EXAMPLE.COM``.
    Source: Oracle Database SQL Language Reference, Database Object Naming Rules
    """
    return user.lower() if _PLAIN_NAME.fullmatch(user) else f'"{user}"'


def literal(user: str) -> str:
    """A user as the dictionary has it, to stand within the quotes of a text."""
    return user.replace("'", "''")


def reads(version: str) -> bool:
    """Whether the version has the privilege READ, which unlike SELECT permits no locking.

    Source: Oracle Database SQL Language Reference 12.1, GRANT
    """
    return version_numbers(version, 4) >= _READ_SINCE


def grants(objects: Iterable[str], user: str, rds: bool, *, cloud: bool = False, read: bool = False) -> tuple[str, ...]:
    """The statements for a DBA; on Amazon RDS and Autonomous Database (``cloud``) there is no SYS to log on as.

    ``read``: see ``reads``. Amazon's procedure is documented with SELECT alone.

    Source: Oracle Database Reference, About Dynamic Performance Views; Amazon RDS User Guide, Granting SELECT or
    EXECUTE privileges to SYS objects; Security Guide, SELECT_CATALOG_ROLE.
    """
    if cloud:
        return (f"grant select_catalog_role to {identifier(user)};",)
    if rds:
        call = "exec rdsadmin.rdsadmin_util.grant_sys_object('{}', '{}', 'SELECT');"
        return tuple(call.format(each, literal(user)) for each in objects)
    verb = "read" if read else "select"
    return tuple(f"grant {verb} on sys.{each.lower()} to {identifier(user)};" for each in objects)


def package_grants(user: str, rds: bool) -> tuple[str, ...]:
    """The same for the packages that loop on the server. SYS is not there on Amazon RDS."""
    names = ("DBMS_OUTPUT", "DBMS_SQL")
    if rds:
        call = "exec rdsadmin.rdsadmin_util.grant_sys_object('{}', '{}', 'EXECUTE');"
        return tuple(call.format(each, literal(user)) for each in names)
    return tuple(f"grant execute on sys.{each.lower()} to {identifier(user)};" for each in names)


def unchecked(
    denied: Mapping[str, str], user: str, rds: bool, *, cloud: bool = False, read: bool = False
) -> dict[str, str]:
    """What is not seen for want of a grant, and the statements that grant it."""
    return {
        what: " ".join(grants(missing({name: denied[name]}), user, rds, cloud=cloud, read=read))
        for name, what in _SERVES.items()
        if denied.get(name) in _VIEWS_DENIED
    }


def findings(
    denied: Mapping[str, str], user: str, rds: bool, *, cloud: bool = False, read: bool = False
) -> tuple[Finding, ...]:
    """One finding with everything that is missing, or none."""
    objects = missing(denied)
    if not objects:
        return ()
    lost = unchecked(denied, user, rds)
    blind = any(name.startswith("server_process") for name, code in denied.items() if code in _VIEWS_DENIED)
    seen = f"{user} may not read {', '.join(each.replace('V_$', 'V$') for each in objects)}"
    level = Level.WARNING if blind else None
    given = " ".join(grants(objects, user, rds, cloud=cloud, read=read))
    literals = " (granting V_$SQL shows the SQL text of all users, with its literals)" if "V_$SQL" in objects else ""
    found = noted("oracle-privileges", seen, level, lost="; ".join(lost) + literals, grants=given)
    return (replace(found, remedy=found.remedy + _OF_THE_ROLE.format(user=identifier(user))) if cloud else found,)
