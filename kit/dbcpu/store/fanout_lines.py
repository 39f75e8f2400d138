"""Reads what ``shell/sqlplus-fanout`` wrote into a normal record; the head of that script describes the lines.

Only server stamps are known of executions, and polls of placement once a second: no CPU time or run delay of the
host's, but the database's own CPU and DB time where they could be read. A round's times count from the earliest
server stamp in it.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from dbcpu.errors import RecordFormatError, UsageError
from dbcpu.record import (
    Cpu,
    Database,
    Driver,
    Execution,
    Gate,
    Header,
    HostInfo,
    Limits,
    Plan,
    Residency,
    Round,
    RunRecord,
    Server,
    Session,
    Topology,
    WorkloadInfo,
)
from dbcpu.topology.cpu_list import parse_cpu_list

FIRST_LINE = "dbcpu-fanout 1"
_NAME = FIRST_LINE.split()[0].encode()
_NOTE = (
    "made by sqlplus-fanout: times are the server's, placement is polled once a second, CPU time is as the database "
    "counted it"
)
_COUNTED = ("db_cpu_s", "db_time_s")
_TEXT_ONLY = ("sql", "label")


def recognises(path: str) -> bool:
    """Whether the file begins as those lines do; False also for one that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_NAME)) == _NAME
    except OSError:
        return False


def read(path: str) -> RunRecord:
    """Raises RecordFormatError when the file is cut short or of another version, naming the line."""
    try:
        text = Path(path).read_text("utf-8", errors="replace")
    except OSError as error:
        raise RecordFormatError(f"{path} could not be read: {error.strerror}") from None
    return parse(text, path)


def parse(text: str, name: str) -> RunRecord:
    """The record of such a text. ``name`` is for messages."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FIRST_LINE:
        raise RecordFormatError(f"{name} does not begin with {FIRST_LINE!r}: it is damaged, or of a newer version")
    run = _Run()
    for number, line in enumerate(lines[1:], 2):
        try:
            run.take(line)
        except (KeyError, ValueError, UsageError) as error:
            raise RecordFormatError(f"{name}, line {number} is not understood ({error}): {line[:80]!r}") from None
    if not run.header or not run.workload:
        raise RecordFormatError(f"{name} has no run and workload lines: it was cut short before the first round")
    return run.record(hashlib.sha256(text.encode()).hexdigest())


@dataclass(slots=True)
class _Session:
    """What the lines say of one session."""

    connect_s: float = 0.0
    spid: int | None = None
    db: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    executions: list[tuple[float, float, str]] = field(default_factory=list)
    seen: list[tuple[float, int, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Round:
    level: int
    repeat: int
    released_s: float
    sessions: dict[int, _Session] = field(default_factory=dict)


class _Run:
    """Takes in the lines one by one."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.workload: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {kind: [] for kind in _TEXT_ONLY}
        self._cpus: list[tuple[int, int, tuple[int, ...]]] = []
        """(id, socket, siblings)"""
        self._rounds: dict[int, _Round] = {}
        self._status = "interrupted"

    def take(self, line: str) -> None:
        """Raises KeyError or ValueError when it is not one of the lines."""
        kind, _, rest = line.partition(" ")
        if kind in _TEXT_ONLY:
            self._texts[kind].append(rest)
            return
        if kind == "failed":
            order, ordinal, reason = rest.split(" ", 2)
            self._session(_pairs(f"{order} {ordinal}")).error = reason
            return
        if kind not in ("", "run", "cpu", "workload", "round", "session", "execution", "seen", "end"):
            raise ValueError("unknown word")
        values = _pairs(rest)
        match kind:
            case "run":
                self.header = values
            case "cpu":
                cpu = (int(values["id"]), int(values["socket"]), parse_cpu_list(values["siblings"]))
                self._cpus.append(cpu)
            case "workload":
                self.workload = values
            case "end":
                self._status = values["status"]
            case "round":
                each = _Round(int(values["level"]), int(values["repeat"]), _epoch_s(values["released"]))
                self._rounds[int(values["order"])] = each
            case "session":
                session = self._session(values)
                session.connect_s = float(values["connect_s"])
                session.spid = int(values["spid"]) if "spid" in values else None
                session.db = {name: float(values[name]) for name in _COUNTED if name in values}
            case "execution":
                start_s, end_s = float(values["start"]), float(values["end"])
                self._session(values).executions.append((start_s, end_s, values["answer"]))
            case "seen":
                look = (_epoch_s(values["at"]), int(values["cpu"]), values["state"])
                self._session(values).seen.append(look)

    def record(self, digest: str) -> RunRecord:
        rounds = tuple(self._round(order) for order in sorted(self._rounds) if self._rounds[order].sessions)
        return RunRecord(self._header(digest, rounds), rounds)

    def _session(self, values: dict[str, str]) -> _Session:
        return self._rounds[int(values["order"])].sessions.setdefault(int(values["ordinal"]), _Session())

    def _header(self, digest: str, rounds: Sequence[Round]) -> Header:
        run, workload = self.header, self.workload
        sql = "\n".join(self._texts["sql"])
        started = datetime.fromtimestamp(_epoch_s(run["started"]), UTC)
        levels = tuple(sorted({each.level for each in self._rounds.values()}))
        cpus = int(run.get("cpus", "0")) or None
        sampled = any(session.residency for each in rounds for session in each.sessions)
        return Header(
            run_id=f"{started:%Y%m%d-%H%M%S}-{digest[:6]}",
            label=" ".join(self._texts["label"]),
            started_at=started.isoformat(timespec="seconds"),
            status=self._status,
            tool_version=FIRST_LINE,
            plan=Plan(
                target=f"sqlplus on {run['host']}",
                workload=WorkloadInfo(
                    name=workload["name"],
                    size=workload["size"],
                    n=int(workload["n"]),
                    rows=int(workload["rows"]),
                    sql=sql,
                    sql_hash=hashlib.sha256(sql.encode()).hexdigest(),
                    answer=workload["answer"],
                ),
                levels=levels,
                repeats=1 + max((each.repeat for each in self._rounds.values()), default=0),
                seed=0,
                executions=int(workload["executions"]),
                for_s=None,
                sampler="ps" if sampled else "none",
                hz=1.0,
                vcpus=cpus,
                vcpus_source="getconf" if cpus else "unknown",
            ),
            host=self._host(),
            database=Database(
                "oracle", run.get("version", "unknown"), driver="sqlplus", driver_on_host=sampled or None
            ),
            driver=Driver(run["host"], 0, None, ""),
            notes=(_NOTE,),
        )

    def _host(self) -> HostInfo | None:
        """The host, where the lines tell its topology."""
        if not self._cpus:
            return None
        groups = {cpu: siblings for cpu, _, siblings in self._cpus}
        sockets = {cpu: socket for cpu, socket, _ in self._cpus}
        # Cores and sockets are numbered in order of their lowest CPU, as everywhere in a record.
        cores = {siblings: core for core, siblings in enumerate(sorted(set(groups.values())))}
        socket_order = list(dict.fromkeys(sockets[cpu] for cpu in sorted(sockets)))
        cpus = tuple(
            Cpu(cpu, cores[groups[cpu]], socket_order.index(sockets[cpu]), 0, groups[cpu]) for cpu in sorted(groups)
        )
        smt = any(len(siblings) > 1 for siblings in groups.values())
        return HostInfo(
            hostname=self.header["host"],
            kernel=self.header.get("release", ""),
            cpu_model="CPU not recorded",
            topology=Topology(cpus, smt_active=smt),
            limits=Limits(tuple(sorted(groups))),
        )

    def _round(self, order: int) -> Round:
        each = self._rounds[order]
        starts = [start for session in each.sessions.values() for start, _, _ in session.executions[:1]]
        released_s = min(starts, default=each.released_s)
        sessions = tuple(
            _recorded(ordinal, each.sessions[ordinal], released_s, self.workload["answer"])
            for ordinal in sorted(each.sessions)
        )
        errors = [session.error for session in sessions]
        watched = sum(session.server.verified for session in sessions)
        return Round(
            level=each.level,
            repeat=each.repeat,
            variant="baseline",
            order=order,
            released_at=datetime.fromtimestamp(released_s, UTC).isoformat(),
            released_monotonic_s=0.0,
            gate=Gate(each.level, len(sessions), watched, max(starts) - min(starts) if starts else 0.0, realtime=False),
            sessions=sessions,
            not_sampled="sqlplus-fanout polls placement only; dbcpu run on that host counts CPU time and run queues",
            error=f"every session failed: {errors[0]}" if errors and all(errors) else None,
        )


def _recorded(ordinal: int, session: _Session, released_s: float, expected: str) -> Session:
    wrong = next((answer for _, _, answer in session.executions if not _same(answer, expected)), None)
    error = session.error
    if wrong is not None:
        error = error or f"the answer was {wrong}, not {expected}: the work was not done"
    known = session.spid is not None
    how = "spid of v$process, an Oracle process there" if known else "its server process was not seen on that host"
    return Session(
        ordinal=ordinal,
        server=Server(session.spid, verified=known, how=how),
        connect_s=session.connect_s,
        executions=tuple(
            Execution(start - released_s, end - start, start - released_s, end - start)
            for start, end, _ in session.executions
        ),
        answer_ok=wrong is None if session.executions else None,
        error=error,
        db=session.db,
        residency=tuple(_stretches([(at - released_s, cpu, state) for at, cpu, state in session.seen])),
    )


def _stretches(polls: list[tuple[float, int, str]]) -> Iterable[Residency]:
    """Polls that follow each other with the same CPU and state; a change is put in the middle between two."""
    changes = [(earlier[0] + later[0]) / 2 for earlier, later in pairwise(polls) if earlier[1:] != later[1:]]
    if not polls:
        return
    kinds = [polls[0][1:], *(later[1:] for earlier, later in pairwise(polls) if earlier[1:] != later[1:])]
    edges = [polls[0][0], *changes, polls[-1][0]]
    for (cpu, state), (from_s, to_s) in zip(kinds, pairwise(edges), strict=True):
        yield Residency(cpu, state, from_s, to_s)


def _same(answer: str, expected: str) -> bool:
    try:
        return float(answer) == float(expected)
    except ValueError:
        return False


def _pairs(text: str) -> dict[str, str]:
    """Raises ValueError for a part without ``=``."""
    return dict(_pair(part) for part in text.split())


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"{part!r} is no NAME=VALUE")
    return name, value


def _epoch_s(text: str) -> float:
    """YYYY-MM-DDTHH:MM:SS, with or without a fraction, UTC."""
    whole, _, fraction = text.partition(".")
    return datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}")
