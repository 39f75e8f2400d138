"""Sessions of killed runs that still execute on the server: found by their tag, ended if that is granted.

A dedicated server process that computes does not notice that its client is gone until its call returns
(sqlnet.expire_time and TCP keepalive help only while it waits for the client). Each session therefore carries
module ``dbcpu`` and the client identifier HOST/PID/START/WHERE of its driver, and the next command looks for those
whose driver is dead. WHERE stands for boot and pid namespace: with another one nothing is known of the driver, since
cloned machines and containers share host names, and its sessions are left alone.
"""

from collections.abc import Callable, Iterable
from functools import partial
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import DbcpuError
from dbcpu.findings import Finding, noted
from dbcpu.formatting import plural
from dbcpu.hosts.driver_process import is_gone, this_process
from dbcpu.record import Driver
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Views, query

_LONGEST_TAG = 64
_LONGEST_SILENCE_S = 3600


class Leftover(Struct, frozen=True):
    """A session of another run of dbcpu. ``dead``: its driver ran here and is gone. ``instance``: of a cluster.

    ``age_s``: since its last call began. ``active``: that call still runs.
    """

    sid: int
    serial: int
    tag: str
    age_s: int
    dead: bool
    ended: bool = False
    instance: int | None = None
    active: bool = True


def own_tag() -> str:
    """HOST/PID/START/WHERE of this driver, in the 64 bytes that a client identifier has."""
    me = this_process()
    # As shell/sqlplus-fanout has it from b2sum(1); 0 where the system does not say.
    place = blake2b(f"{me.boot_id} {me.pid_namespace}".encode(), digest_size=6).digest() if me.boot_id else b""
    where = int.from_bytes(place, "big")
    rest = f"/{me.pid}/{me.start_ticks or 0}/{where}"
    return me.hostname[: _LONGEST_TAG - len(rest)] + rest


def found(
    rows: Iterable[tuple[Any, ...]], own: str, user: str, gone: Callable[[Driver], bool] = is_gone
) -> list[Leftover]:
    """Tagged sessions that are not this driver's, from rows of tagged_sessions.sql or, in a cluster, its other form."""
    others = []
    for sid, serial, status, tag, age_s, owner, *instance in rows:
        host, _, rest = str(tag or "").partition("/")
        pid, _, rest = rest.partition("/")
        start, _, where = rest.partition("/")
        if tag == own or not (pid.isdecimal() and start.isdecimal()):
            continue
        driver = Driver(host, int(pid), int(start) or None, python="")
        near = where not in ("", "0") and where == own.rpartition("/")[2]
        dead = owner == user and near and gone(driver)
        others.append(
            Leftover(
                int(sid), int(serial), str(tag), int(age_s or 0), dead,
                instance=int(instance[0]) if instance else None, active=status == "ACTIVE",
            )
        )  # fmt: skip
    return others


def measured_by(leftovers: Iterable[Leftover], instance: int | None) -> str | None:
    """In words, which other driver measures this instance; None where none is seen.

    Its sessions compute, or called within the last hour: a driver that lost its network leaves idle ones.
    """
    alive = [each for each in leftovers if not each.dead and (each.active or each.age_s < _LONGEST_SILENCE_S)]
    near = [each for each in alive if None in (each.instance, instance) or each.instance == instance]
    if not near:
        return None
    host, _, rest = near[0].tag.partition("/")
    return f"dbcpu {rest.partition('/')[0]}@{host} ({plural(len(near), 'session')}: {_names(near)})"


def end_leftovers(
    connection: Connection, views: Views, user: str, rds: bool, *, cluster: bool = False
) -> tuple[Leftover, ...]:
    """Find them, in a cluster on every instance where that is granted, and end those whose driver is dead.

    Raises ServerError only when the connection is lost.
    """
    rows = views.rows(connection, "tagged_sessions_cluster") if cluster else None
    if rows is None:
        rows = views.rows(connection, "tagged_sessions") or []
    return tuple(
        replace(each, ended=each.dead and _ended(connection, each, rds)) for each in found(rows, own_tag(), user)
    )


def statement(each: Leftover, *, rds: bool = False) -> str:
    """What a DBA sends to end it; on Amazon RDS nobody has ALTER SYSTEM.

    Source: Amazon RDS User Guide, Terminating a session.
    """
    if rds:
        return f"exec rdsadmin.rdsadmin_util.kill(sid => {each.sid}, serial => {each.serial}, method => 'IMMEDIATE');"
    if each.instance is None:
        return statements.filled("end_session", sid=each.sid, serial=each.serial) + ";"
    return statements.filled("end_session_cluster", sid=each.sid, serial=each.serial, instance=each.instance) + ";"


def _ended(connection: Connection, each: Leftover, rds: bool) -> bool:
    if each.instance is None:
        return _sent(connection, "end_session", each.sid, each.serial, rds)
    try:
        query(connection, statement(each).removesuffix(";"))
    except DbcpuError:
        return False
    return True


def findings(leftovers: Iterable[Leftover], *, rds: bool = False) -> tuple[Finding, ...]:
    """What was found and what was done about it."""
    every = list(leftovers)
    ended, left = [e for e in every if e.ended], [e for e in every if e.dead and not e.ended]
    running = [e for e in every if not e.dead]
    made = []
    if ended:
        made.append(
            noted(
                "leftovers-ended",
                f"{plural(len(ended), 'session')} of a killed run, still executing, ended by dbcpu ({_names(ended)})",
            )
        )
    if left:
        statements = " ".join(statement(each, rds=rds) for each in left)
        seen = f"{plural(len(left), 'session')} of a killed run still executing ({_names(left)})"
        made.append(noted("leftovers", seen, statements=statements))
    if running:
        made.append(
            noted(
                "other-run",
                f"another dbcpu is connected to this database: {plural(len(running), 'session')} of {running[0].tag}, "
                f"{sum(each.active for each in running)} of them executing",
            )
        )
    return tuple(made)


def _names(leftovers: list[Leftover]) -> str:
    return ", ".join(f"{each.sid},{each.serial}" for each in leftovers[:5]) + (", ..." if len(leftovers) > 5 else "")


class FromControl:
    """Ends statements and sessions of this run over its control connection: those that heed no break.

    ``left`` gets the SID and SERIAL# of each that goes on without its driver.
    """

    def __init__(
        self,
        connection: Callable[[], Connection],
        rds: Callable[[], bool],
        left: Callable[[tuple[int, int]], object] = lambda _: None,
    ) -> None:
        self._connection, self._rds, self._left = connection, rds, left

    def cancel(self, sid: int, serial: int) -> None:
        _sent(self._connection(), "cancel_statement", sid, serial, self._rds())

    def end(self, sid: int, serial: int) -> bool:
        return _sent(self._connection(), "end_session", sid, serial, self._rds())

    def leave(self, sid: int, serial: int) -> None:
        self._left((sid, serial))


def goes_on(keys: Iterable[tuple[int, int]], *, rds: bool) -> str:
    """Sessions of this run that heeded no cancel and could not be ended, with the statements; '' for none."""
    left = [Leftover(sid, serial, "", 0, dead=True) for sid, serial in keys]
    if not left:
        return ""
    words = " ".join(statement(each, rds=rds) for each in left)
    return (
        f"{plural(len(left), 'session')} on the server heeded no cancel and may go on until the statement ends, since "
        f"this user may not end sessions; a DBA ends them by: {words}"
    )


def _sent(connection: Connection, name: str, sid: int, serial: int, rds: bool) -> bool:
    """Whether the statement was carried out; on Amazon RDS in its own form first, since only RDS Custom has both."""
    plain = partial(query, connection, statements.filled(name, sid=sid, serial=serial))
    own = partial(query, connection, statements.text(f"{name}_rds"), {"sid": sid, "serial": serial})
    for send in (own, plain) if rds else (plain,):
        try:
            send()
        except DbcpuError:
            continue
        return True
    return False
