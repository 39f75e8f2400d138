"""Remedies as they can be carried out where the database is, and the way back from those that change it: pure.

A managed service lets nobody onto its host and refuses ALTER SYSTEM for most parameters, or all.
Source: Amazon RDS User Guide, Parameter groups for RDS for Oracle; Using Oracle Autonomous Database Serverless, SQL
Commands, Initialization Parameters, Idle Time Limits; AWS CLI, modify-db-parameter-group, reset-db-parameter-group
and describe-db-parameters
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import without_password
from dbcpu.findings import Finding, noted
from dbcpu.formatting import plain, short_ranges
from dbcpu.record import AA, ANONYMOUS, AUTONOMOUS, BASELINE, RDS, Header, Plan

NOT_REQUESTED = "requested by --host none"
"""Why a host is not sampled that nobody wanted to be."""
UNKNOWN_VALUE = "VALUE"
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
_OF_AUTONOMOUS = {
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

_NAME = re.compile(r"[\w:,.-]+")
"""Of a variant, as it can stand in a shell."""
_TARGET = re.compile(r"[\w./:@+-]+")
"""The same of a target, its URL included."""
_REPEATS = re.compile(r"`--repeats (\w+)`")


class _Origin(Struct, frozen=True):
    """Words of a remedy of ``dbcpu run`` and what stands for them; ``repeats`` for so many: a pattern's replacement."""

    words: Mapping[str, str]
    repeats: str


def _script(name: str, levels: str, longer: str, rounds: str) -> _Origin:
    """``longer`` has longer executions, ``rounds`` longer rounds; ``levels`` goes on with numbers of sessions."""
    words = {
        "a longer `--size`, or more `--executions`": longer,
        "more `--executions`, or a longer `--size`": rounds,
        "`--size long`": longer,
        "`--workload ": "`-w ",
        "`--sessions 1,...`": f"`{levels} 1,...`",
        "`--sessions auto`": f"`{levels} 1-V`, V twice the vCPUs",
        "measure again: `dbcpu run`": f"measure again: `{name}`",
    }
    return _Origin(words, r"`-r \1`")


_SCRIPTS = {
    "increment": _script("increment", "increment", "`increment -s long`", "more SECONDS of `increment`"),
    "gzip-pipe": _script("gzip-pipe", "gzip-pipe", "more MB of `gzip-pipe`", "more MB of `gzip-pipe`"),
    **{
        name: _script(f"{name}-fanout", f"{name}-fanout -n", f"`{name}-fanout -s long`", f"`{name}-fanout -s long`")
        for name in ("psql", "sqlplus")
    },
}
"""By the driver of a database: scripts of the shell kit."""
_TIMES = _Origin(
    {
        ": a longer `--size`, or more `--executions`": "",
        ": more `--executions`, or a longer `--size`": "",
        ": `--size long`": "",
        " (`--size long`)": "",
        " (`--workload arithmetic`)": "",
        ": `--sessions 1,...`": "",
        "`--sessions auto`": "1 to twice the vCPUs",
        "measure again: `dbcpu run`": "measure again",
    },
    r"\1 rounds of each level",
)
"""Times that another program measured: nobody knows its options."""


_COMMANDS = {"soak": "soak", "pool": "pool"}
"""By experiment."""
_USUAL = ("cartesian", "increment")
"""Workloads that nobody has to name: of databases, and of a shell."""


_AGAIN = {"measure again with level 1 included: `--sessions 1,...`": "measure again"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "soak": {
        "more `--executions`, or a longer `--size`": "a longer `--for`",
        "a longer `--size`, or more `--executions`": "a longer `--size`",
        "shorter rounds (`--executions`, `--size`)": "a shorter `--for`",
        "`--repeats 6`, or `--repeats 10` to compare hosts": "a longer `--for`",
        **_AGAIN,
    },
    "pool": {
        "more `--executions`, or a longer `--size`": "more `--work`, or a longer `--size`",
        "a longer `--size`, or more `--executions`": "a longer `--size`",
        "shorter rounds (`--executions`, `--size`)": "shorter rounds (`--work`, `--size`)",
        **_AGAIN,
    },
    "together": _AGAIN,
}
"""By experiment: options of ``dbcpu run`` in remedies, and what its own command has in their place."""


def command(header: Header) -> str:
    """What measures such a run of its target: ``dbcpu soak db1 --sessions 4 --for 600s``, ``dbcpu vary db1 ...``."""
    variants, plan = header.plan.variants, header.plan
    # A target of several as a run of its own is called by its name, alone and beside the others.
    party = len(variants) == 1 and variants[0].removesuffix("+together") == plan.target
    if party or plan.experiment == "together":
        return "dbcpu run A B --together"
    name = _COMMANDS.get(plan.experiment, "run")
    own: tuple[str, ...] = _size(plan)
    if name == "soak":
        own = (f"--sessions {max(plan.levels)}", f"--for {_time(plan.for_s)}", *_sizes(plan))
    elif name == "pool":
        own = (f"--work {plan.pieces}", f"--active {short_ranges(plan.levels)}", *_of_a_pool(plan), *_size(plan))
    elif variants == AA:
        own = ("--aa", *own)
    elif variants != (BASELINE,):
        name, own = "vary", ()
        if all(map(_NAME.fullmatch, variants)):
            # Without a baseline it is a scaling test, whose levels follow from --per-cpu.
            levels = (f"--sessions {short_ranges(plan.levels)}",) if BASELINE in variants else ()
            own = (f"--variants {','.join(variants)}", *levels, *_size(plan))
    return " ".join((f"dbcpu {name}", *_target(header), *own))


def _target(header: Header) -> tuple[str, ...]:
    """As it can be typed; nothing where it was left out of the record, or no database was measured. No password."""
    name = header.plan.target
    if not header.driver.python or header.run_id.endswith(ANONYMOUS) or name == "embedded":
        return ()
    return (name,) if _TARGET.fullmatch(name) and "***" not in without_password(name) else ("TARGET",)


def _size(plan: Plan) -> tuple[str, ...]:
    """Workload and size where they are not the usual ones, and a fixed time."""
    work = plan.workload
    workload = (f"--workload {work.name}",) if work.name not in _USUAL else ()
    fixed = (f"--for {_time(plan.for_s)}",) if plan.for_s and plan.experiment == "sweep" else ()
    return (*workload, *((f"--size {work.size}",) if work.size != "short" else ()), *fixed)


def _sizes(plan: Plan) -> tuple[str, ...]:
    if not plan.sizes:
        return _size(plan)
    workload = tuple(each for each in _size(plan) if each.startswith("--workload"))
    return (*workload, f"--sizes {','.join(each.size for each in (plan.workload, *plan.sizes))}")


def _of_a_pool(plan: Plan) -> Iterator[str]:
    if plan.blocking:
        yield f"--blocking {plan.blocking}"
        yield f"--block-for {_time(plan.block_s)}"
    if plan.connections:
        yield f"--connections {plan.connections}"
    if plan.one_at_a_time:
        yield "--one-at-a-time"


def _time(value_s: float | None) -> str:
    return f"{value_s or 0:.10g}s"


def more(header: Header, options: str = "") -> str:
    """How rounds are added to a run, wherever this is read: another host, or another store, cannot."""
    if header.run_id.endswith(ANONYMOUS):
        return "on that host"
    return f"on its host: `{' '.join(filter(None, ('dbcpu more', header.run_id, options)))}`"


def as_typed(text: str, header: Header) -> str:
    """A remedy or verdict of ``dbcpu run``, with the options of the command, or of the script, that measured it."""
    if header.driver.python or header.driver.pid:  # dbcpu measured it, or had a script do so by its own options
        for ours, theirs in _OPTIONS.get(header.plan.experiment, {}).items():
            text = text.replace(ours, theirs)
        return text.replace("measure again: `dbcpu run`", f"measure again: `{command(header)}`")
    origin = _SCRIPTS.get(header.database.driver, _TIMES)
    for ours, theirs in origin.words.items():
        text = text.replace(ours, theirs)
    return _REPEATS.sub(origin.repeats, text)


def where(finding: Finding, service: str) -> Finding:
    """The finding with a remedy that can be carried out on a managed service; itself for ''."""
    if not service:
        return finding
    if finding.code in _OF_SERVICE:
        return replace(finding, remedy=_OF_SERVICE[finding.code].format(service=service))
    if service == AUTONOMOUS and finding.code in _OF_AUTONOMOUS:
        return replace(finding, remedy=_OF_AUTONOMOUS[finding.code])
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
