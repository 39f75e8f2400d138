"""docs/oracle-doctor.md: what doctor says of six databases, each played by the double."""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

USER = "bench"
_BIG = Instance(
    name="ORCL",
    service="orclpdb1",
    container="ORCLPDB1",
    host_name="db1",
    osstat={"NUM_CPUS": 16, "NUM_CPU_CORES": 8, "NUM_CPU_SOCKETS": 1},
    parameters={"cpu_count": "16", "shared_servers": "0"},
)
_HEAD = """\
# What `dbcpu doctor` says of an Oracle database

Six databases, each with what `dbcpu doctor TARGET --host none` prints of it: 19c, a pluggable database on a host with
16 CPUs, the user `bench`. They are played by the [test double](../tests/support/doubles/oracle/README.md), not by an
Oracle Database; a test renders this page again and compares. [findings.md](findings.md) explains each finding,
[oracle.md](oracle.md) the rest.
"""


class Scene(Struct, frozen=True):
    """One database: a title, a sentence of what it is, and how the double plays it."""

    title: str
    what: str
    faults: Faults
    instance: Instance


def _with(**parameters: str) -> Instance:
    return replace(_BIG, parameters={**_BIG.parameters, **parameters})


SCENES = (
    Scene(
        "Nothing granted",
        "The user has CREATE SESSION, and what Oracle's own scripts grant to PUBLIC.",
        Faults(ungranted=("all",)),
        _BIG,
    ),
    Scene("All granted", "Every view of [the list](oracle.md#privileges), and ALTER SYSTEM.", Faults(), _BIG),
    Scene(
        "Locked down",
        "A lockdown profile refuses ALTER SESSION, a hardening guide took DBMS_SQL, DBMS_OUTPUT and V_$RSRC_PLAN from "
        "PUBLIC, and the instance has RESULT_CACHE_MODE = FORCE.",
        Faults(
            refused_settings=(
                "result_cache_mode", "parallel query", "statistics_level", "cursor_sharing", "plsql_optimize_level",
                "optimizer_ignore_hints", "nls_numeric_characters",
            ),
            ungranted=("dbms_sql", "dbms_output", "public", "alter system"),
        ),
        _with(result_cache_mode="FORCE"),
    ),
    Scene(
        "Shared servers",
        "The listener gives a shared server, although a dedicated one is requested.",
        Faults(server="SHARED"),
        _with(shared_servers="5"),
    ),
    Scene(
        "A cpu_count below the host's CPUs",
        "CPU_COUNT is 4 on a host of 16 CPUs, and no plan of the root enforces it.",
        Faults(),
        _with(cpu_count="4"),
    ),
    Scene(
        "The same under a plan of the root",
        "V$RSRCPDBMETRIC shows what that plan leaves to the pluggable database.",
        Faults(),
        replace(_with(cpu_count="4"), root_plan=True),
    ),
)  # fmt: skip


def page(doctor: Callable[[OracleDouble], str]) -> str:
    """The page; ``doctor`` gives what the program prints of a database."""
    return "\n".join([_HEAD, *_sections(doctor)])


def _sections(doctor: Callable[[OracleDouble], str]) -> Iterator[str]:
    for scene in SCENES:
        with OracleDouble(faults=scene.faults, instance=scene.instance, user=USER) as double:
            yield f"## {scene.title}\n\n{scene.what}\n\n```\n{doctor(double).rstrip()}\n```\n"
