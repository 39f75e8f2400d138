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
from dbcpu.formatting import plural
from dbcpu.hosts.driver_process import is_gone, this_process
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import Driver
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Views, query
from dbcpu.targets.oracle.error_messages import codes
from dbcpu.targets.oracle.facts import Facts
from dbcpu.targets.oracle.identity import SessionKey

_FORBIDDEN = frozenset({"ORA-01031", "ORA-06550"})
"""The privilege is missing; the second is that of Amazon RDS's package."""
_MARKED = "ORA-00031"
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


def end_leftovers(connection: Connection, views: Views, facts: Facts) -> tuple[Leftover, ...]:
    """Find them, in a cluster on every instance where that is granted, and end those whose driver is dead.

    Raises ServerError only when the connection is lost.
    """
    rows = views.rows(connection, "tagged_sessions_cluster") if facts.several_instances else None
    if rows is None:
        rows = views.rows(connection, "tagged_sessions") or []
        # These are all of this instance.
        rows = [(*row, facts.instance) for row in rows] if _named(facts) else rows
    return tuple(
        replace(each, ended=each.dead and not _unended(connection, "end_session", _key(each), facts.rds))
        for each in found(rows, own_tag(), facts.user)
    )


def statement(key: SessionKey, *, rds: bool = False) -> str:
    """What a DBA sends to end it; on Amazon RDS nobody has ALTER SYSTEM.

    Source: Amazon RDS User Guide, Terminating a session.
    """
    if rds:
        return f"exec rdsadmin.rdsadmin_util.kill(sid => {key.sid}, serial => {key.serial}, method => 'IMMEDIATE');"
    return _filled("end_session", key) + ";"


def _key(each: Leftover) -> SessionKey:
    return SessionKey(each.sid, each.serial, each.instance)


def _named(facts: Facts) -> bool:
    """Whether a session's instance is named to the server: wherever it may be one of several."""
    return facts.instance is not None and (facts.several_instances or facts.cluster is None)


def _filled(name: str, key: SessionKey) -> str:
    if key.instance is None:
        return statements.filled(name, sid=key.sid, serial=key.serial)
    return statements.filled(f"{name}_cluster", sid=key.sid, serial=key.serial, instance=key.instance)


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
        statements = " ".join(statement(_key(each), rds=rds) for each in left)
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
    return ", ".join(_name(_key(each)) for each in leftovers[:5]) + (", ..." if len(leftovers) > 5 else "")


def _name(key: SessionKey) -> str:
    return f"{key.sid},{key.serial}" + ("" if key.instance is None else f",@{key.instance}")


class Unended(Struct, frozen=True):
    """A session of this run that goes on without its driver. ``why``: the server's error when it was to be ended."""

    key: SessionKey
    why: str


class FromControl:
    """Ends statements and sessions of this run over its control connection: those that heed no break.

    ``left`` gets each that goes on without its driver.
    """

    def __init__(
        self,
        connection: Callable[[], Connection],
        facts: Callable[[], Facts],
        left: Callable[[Unended], object] = lambda _: None,
    ) -> None:
        self._connection, self._facts, self._left = connection, facts, left
        self._why: dict[SessionKey, str] = {}

    def cancel(self, key: SessionKey) -> None:
        self._send("cancel_statement", key)

    def end(self, key: SessionKey) -> bool:
        self._why[key] = self._send("end_session", key)
        return not self._why[key]

    def leave(self, key: SessionKey) -> None:
        self._left(Unended(self._known(key), self._why.get(key, "")))

    def _send(self, name: str, key: SessionKey) -> str:
        return _unended(self._connection(), name, self._known(key), self._facts().rds)

    def _known(self, key: SessionKey) -> SessionKey:
        """Without the instance where there is one alone: its statements are those of every version."""
        return key if _named(self._facts()) else replace(key, instance=None)


def goes_on(left: Iterable[Unended], *, rds: bool) -> str:
    """Sessions of this run that heeded no cancel and could not be ended, why, and the statements; '' for none."""
    by_reason: dict[str, list[SessionKey]] = {}
    for each in left:
        forbidden = not _FORBIDDEN.isdisjoint(codes(each.why))
        failed = f": ending failed with {each.why.removesuffix('.')}"
        reason = ", since this user may not end sessions" if forbidden else failed
        by_reason.setdefault(reason if each.why else "", []).append(each.key)
    return "; ".join(
        f"{plural(len(keys), 'session')} on the server heeded no cancel and may go on until the statement ends"
        f"{reason}; a DBA ends them by: {' '.join(statement(each, rds=rds) for each in keys)}"
        for reason, keys in by_reason.items()
    )


def _unended(connection: Connection, name: str, key: SessionKey, rds: bool) -> str:
    """The error with which it was refused, '' where it was carried out.

    On Amazon RDS in its own form first, since only RDS Custom has both; an error that is no missing privilege counts
    more than one that is. A session that is marked (ORA-00031) ends by itself.
    """
    plain = partial(query, connection, _filled(name, key))
    own = partial(query, connection, statements.text(f"{name}_rds"), {"sid": key.sid, "serial": key.serial})
    refused: list[str] = []
    for send in (own, plain) if rds else (plain,):
        try:
            send()
        except DbcpuError as error:
            if _MARKED in codes(str(error)):
                return ""
            refused.append(str(error))
            continue
        return ""
    return next((each for each in refused if _FORBIDDEN.isdisjoint(codes(each))), refused[0])
