"""What in an Oracle database would spoil a measurement, as findings: pure functions of ``Facts``.

Sources: Oracle Database Administrator's Guide, Managing Resources with Oracle Database Resource Manager and
Managing Automated Database Maintenance Tasks; Reference, CPU_COUNT, STATISTICS_LEVEL, CURSOR_SHARING; Using
Oracle Autonomous Database Serverless, Database Service Names.
"""

from collections.abc import Callable, Iterator

from dbcpu.findings import Finding, Level
from dbcpu.oracle import privileges
from dbcpu.oracle.facts import Facts
from dbcpu.oracle.identity import refusal
from dbcpu.oracle.vcpus import FREE_CPUS, edition_cap

_PARALLEL_LEVELS = ("_high", "_medium")
_SERIAL_LEVELS = ("_low", "_tp", "_tpurgent")


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Everything that is to be said of the database, in no particular order."""
    told = [each for check in CHECKS for each in check(facts)]
    return (*told, *privileges.findings(facts.denied, facts.user, facts.rds))


def _served(facts: Facts) -> Iterator[Finding]:
    if facts.server is not None and facts.server != "DEDICATED":
        yield Finding(
            "not-dedicated",
            Level.PROBLEM,
            f"this service gives {facts.server} servers",
            refusal(facts.server),
            "name a service or port that gives dedicated servers",
        )
    if facts.server is None:
        yield Finding(
            "not-identified",
            Level.INFO,
            "whether each session has a server process of its own cannot be seen",
            "a dedicated one was asked for; with shared servers the sessions would queue for few processes",
            "grant V$SESSION and V$PROCESS",
        )
    if facts.threads:
        yield Finding(
            "threaded-execution",
            Level.INFO,
            "sessions are threads of few processes (threaded_execution)",
            "each is told from the others by its thread and sampled as one",
        )


def _user(facts: Facts) -> Iterator[Finding]:
    if facts.as_sysdba or facts.user in ("SYS", "SYSTEM"):
        yield Finding(
            "privileged-user",
            Level.WARNING,
            f"the sessions run as {facts.user}{' as SYSDBA' if facts.as_sysdba else ''}",
            "the resource manager treats these users unlike any application",
            "measure as an ordinary user",
        )


def _resource_manager(facts: Facts) -> Iterator[Finding]:
    count = facts.parameters.get("cpu_count", "unknown")
    if facts.caged:
        yield Finding(
            "instance-caging",
            Level.WARNING,
            f"instance caging keeps the instance at cpu_count = {count}",
            "sessions beyond it wait for the resource manager, not for a CPU; more sessions cannot do more",
            "alter system set cpu_count = 0, or take it as part of what is measured",
        )
    elif facts.plan and facts.plan[1]:
        yield Finding(
            "resource-manager",
            Level.WARNING,
            f"resource plan {facts.plan[0]} manages CPU (consumer group {facts.consumer_group or 'not visible'})",
            "sessions may be held back although CPUs are idle; such waits get the cause resource_manager",
            "alter system set resource_manager_plan = ''",
        )
    if facts.window:
        yield Finding(
            "maintenance-window",
            Level.WARNING,
            f"maintenance window {facts.window[0]} is open"
            + (f" with resource plan {facts.window[1]}" if facts.window[1] else ""),
            "maintenance tasks take CPU and a resource plan may be on; the run is labelled so",
            "measure outside of the window",
        )


def _edition(facts: Facts) -> Iterator[Finding]:
    cap = edition_cap(facts.product)
    cpus = facts.osstat.get("NUM_CPUS")
    if cap is None or (cap[0] > FREE_CPUS and (cpus is None or cpus <= cap[0])):
        return
    yield Finding(
        "edition-cap",
        Level.WARNING,
        f"{facts.product} uses {cap[0]} CPUs at most" + (f" of the host's {cpus:.0f}" if cpus else ""),
        "sessions beyond that cannot do more work: this measures the edition, not the host",
        "measure an edition without the cap to learn about the host",
    )


def _settings(facts: Facts) -> Iterator[Finding]:
    value = {name: text.upper() for name, text in facts.parameters.items()}
    if value.get("sql_trace") == "TRUE":
        yield Finding(
            "sql-trace",
            Level.WARNING,
            "SQL trace is on for the whole instance",
            "every call writes to a file while it is measured",
            "alter system set sql_trace = false",
        )
    if value.get("statistics_level") == "ALL":
        yield Finding(
            "statistics-level",
            Level.INFO,
            "statistics_level is ALL",
            "it costs CPU for each row; the measured sessions set it to TYPICAL for themselves",
        )
    if value.get("cursor_sharing", "EXACT") != "EXACT":
        yield Finding(
            "cursor-sharing",
            Level.INFO,
            f"cursor_sharing is {value['cursor_sharing']}",
            "the server rewrites the measured text, so that its plan is not found",
            "alter system set cursor_sharing = exact",
        )
    if value.get("parallel_degree_policy", "MANUAL") != "MANUAL" and value.get("parallel_max_servers") != "0":
        yield Finding(
            "parallel-servers",
            Level.INFO,
            f"parallel_degree_policy is {value['parallel_degree_policy']}, with up to "
            f"{value.get('parallel_max_servers', 'unknown')} parallel servers",
            "the measured sessions switch parallel query off for themselves; other work may still use these servers",
        )
    if value.get("shared_servers", "0") != "0":
        yield Finding(
            "shared-servers",
            Level.INFO,
            f"{value['shared_servers']} shared servers are configured",
            "each session asks for a dedicated one and is refused if it does not get it",
        )


def _managed(facts: Facts) -> Iterator[Finding]:
    if facts.cloud_service:
        service = facts.service.lower().split(".")[0]
        parallel = service.endswith(_PARALLEL_LEVELS)
        yield Finding(
            "autonomous",
            Level.PROBLEM if parallel else Level.INFO,
            f"Autonomous Database ({facts.cloud_service}), service {facts.service}",
            "HIGH and MEDIUM run statements in parallel and queue them: not a test of one session's CPU"
            if parallel
            else "no view of the host; the service level and auto-scaling share out CPU, and may change it meanwhile",
            "connect to the service ending in _tp or _low" if parallel else "",
        )
    if facts.rds:
        yield Finding(
            "rds",
            Level.INFO,
            "Amazon RDS: no access to the host",
            "elapsed times, the curve and the database's own counters; who shares a core cannot be seen, and burstable "
            "classes (db.t*) slow down when their credits are gone",
        )
    if facts.instances is not None and facts.instances > 1:
        yield Finding(
            "cluster",
            Level.INFO,
            f"a cluster of {facts.instances} instances; all sessions go to {facts.instance_name}",
            "one instance is one host: a mixture would compare hosts",
        )


def _activity(facts: Facts) -> Iterator[Finding]:
    if facts.busy:
        yield Finding(
            "database-busy",
            Level.WARNING,
            f"{facts.busy} other sessions are executing statements",
            "their CPU is taken from the measured sessions and shows up as their loss",
            "measure when the database is idle",
        )


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _served,
    _user,
    _resource_manager,
    _edition,
    _settings,
    _managed,
    _activity,
)
