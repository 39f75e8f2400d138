"""What the double plays: the generations of servers whose conversations differ, and one database's properties."""

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import Struct, field

from support.doubles.oracle.faults import settings

_FAST_AUTH, _END_OF_RESPONSE = 0x10000000, 0x02000000
_NEW = _FAST_AUTH | _END_OF_RESPONSE


class Profile(Struct, frozen=True):
    """One generation. ``accept_flags`` and ``field_version`` decide which fields the messages have."""

    name: str
    accept_version: int
    accept_flags: int
    field_version: int
    version: tuple[int, int, int, int, int]
    release: str
    product: str

    @property
    def end_of_response(self) -> bool:
        """Each response ends with a message of its own and a flag on its last packet."""
        return bool(self.accept_flags & _END_OF_RESPONSE)

    @property
    def version_text(self) -> str:
        return ".".join(str(part) for part in self.version)

    @property
    def version_number(self) -> int:
        """AUTH_VERSION_NO, whose layout changed with 18c."""
        a, b, c, d, e = self.version
        if self.field_version >= 11:
            return a << 24 | b << 16 | c << 12 | d << 4 | e
        return a << 24 | b << 20 | c << 12 | d << 8 | e


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("12c", 315, 0, 7, (12, 1, 0, 2, 0), "12.1.0.2.0", "Oracle Database 12c"),
        Profile("19c", 318, 0, 12, (19, 3, 0, 0, 0), "19.0.0.0.0", "Oracle Database 19c"),
        Profile("23ai", 319, _NEW, 24, (23, 6, 0, 24, 10), "23.0.0.0.0", "Oracle Database 23ai"),
    )
}


class Instance(Struct, frozen=True):
    """What the database says of itself. ``parameters`` override v$parameter; ``osstat`` overrides v$osstat.

    ``plan`` is the active resource manager plan ('' for none), ``cpu_managed`` and ``instance_caging`` its columns
    of v$rsrc_plan, and ``window`` an open scheduler window; ``next_window_s`` from now the next one opens.
    ``instances``: sessions go round over that many (RAC).
    ``cloud_service``: the kind of Autonomous Database. ``rds``: Amazon RDS, with the package RDSADMIN_UTIL.
    ``old_plan``: V$SQL has each statement also with another plan, executed yesterday.
    ``decimal_comma``: numbers become text with a comma, until a session sets the point.
    ``container``: '' for a database that is no container database. ``platform``: DBMS_UTILITY.PORT_STRING.
    ``parameters_of``: what the parameter file has for single instances of a cluster, by number as text.
    ``hides_instances``: INSTANCE_NAME is refused, as by a gateway in front of the database.
    ``fixed_date_s``: FIXED_DATE, at which SYSDATE stands still; 0 for none.
    ``dates_ahead_s``: by so much DATEs of the views are ahead of SYSTIMESTAMP, as with a listener of another time zone.
    ``limits``: of the user's profile, as USER_RESOURCE_LIMITS has them; CPU_PER_CALL alone is enforced.
    ``foreign_sessions``: further active user sessions shown, as (username, program) without a process, and with the
    class of what they wait for as a third, such as ``Idle``.
    ``root_plan``: the root of the container database has an active plan, under which CPU_COUNT limits.
    ``role``: of Data Guard, with V$DATABASE's ``open_mode``, and V$PDBS's ``pdb_mode``.
    ``processor_group``: the CPUs of PROCESSOR_GROUP_NAME, which is then a parameter: server processes are bound to
    those that this machine has, and CPU_COUNT is their number where it is not set.
    ``platform_name``: V$DATABASE has it. ``product_system``: what stands behind "TNS for".
    """

    name: str = "DOUBLE"
    service: str = "doublepdb"
    container: str = "DOUBLEPDB"
    edition: str = "Enterprise Edition"
    host_name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    osstat: Mapping[str, float] = field(default_factory=dict)
    plan: str = ""
    cpu_managed: bool = False
    instance_caging: bool = False
    window: str = ""
    next_window_s: float = 43200.0
    instances: int = 1
    cloud_service: str = ""
    rds: bool = False
    old_plan: bool = False
    decimal_comma: bool = False
    limits: Mapping[str, str] = field(default_factory=dict)
    foreign_sessions: tuple[tuple[str, ...], ...] = ()
    root_plan: bool = False
    processor_group: tuple[int, ...] = ()
    role: str = "PRIMARY"
    open_mode: str = "READ WRITE"
    pdb_mode: str = "READ WRITE"
    platform: str = "x86_64/Linux 2.4.xx"
    platform_name: str = "Linux x86 64-bit"
    product_system: str = "Linux"
    parameters_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hides_instances: bool = False
    fixed_date_s: float = 0.0
    dates_ahead_s: float = 0.0

    @classmethod
    def from_text(cls, pairs: Iterable[str]) -> Self:
        """``name=value`` each, the value as JSON or, if it is none, as text."""
        return cls(**settings(pairs))
