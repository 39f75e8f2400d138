"""Makes a normal record of the lines that the scripts of shell/ write; docs/line-format.md describes them.

Executions have the stamps of the server, or of the session itself; placement is polled a few times a second. A
round's times count from the earliest stamp in it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from dbcpu.errors import RecordFormatError
from dbcpu.formatting import parse_cpu_list
from dbcpu.record.header import (
    BASELINE,
    BY_SCRIPT,
    UNSET,
    Cpu,
    Database,
    Driver,
    Header,
    HostInfo,
    Limits,
    Plan,
    Topology,
    WorkloadInfo,
)
from dbcpu.record.rounds import Execution, Gate, Round, RunRecord, Server, Session
from dbcpu.store.shell_kit import line_counters, line_residency, line_samples
from dbcpu.store.shell_kit.line_reader import (
    DEFAULT_TICKS_PER_S,
    Lines,
    RoundLines,
    epoch_s,
    parse,
    read_text,
    recognises,
    text_of,
)

__all__ = ["from_content", "from_text", "recognises"]

_POLLED = "placement is polled a few times a second"
_VERIFIED = {
    "oracle": "spid of v$process, an Oracle process there",
    "postgresql": "pg_backend_pid(), a postgres process there",
    "shell": "the process that was started for the session",
}
_UNKNOWN = "unknown"
_OF_DATABASE = ("server_host", "instance_name", "server", "platform")
"""What the line ``run`` says of the database, under its name in the record."""
_PLAN, _TIMES = "the shape of the plan", "DB time and DB CPU"
_NO_LINE = "the file has no line of this session: it was cut, or lines were taken out"
_IO = "physical I/O, work areas and parallel query"
_WAITS = "wait events, including those of the resource manager"
"""As ``targets.oracle.privileges`` calls what needs a grant there."""


def from_content(content: bytes, name: str, samples: Sequence[str] = ()) -> RunRecord:
    """The record of what a file holds; ``name`` is for messages.

    ``samples``: what sample-psr wrote on the database's host meanwhile, matched by process number and time.

    Raises:
        RecordFormatError: a file is cut short, of another version, or not of the kind it should be; names the line.
    """
    return from_text(text_of(content, name), name, [(read_text(path), path) for path in samples])


def from_text(text: str, name: str, samples: Sequence[tuple[str, str]] = ()) -> RunRecord:
    """The record of such a text. ``name`` is for messages; ``samples`` are (text, name). Raises as ``read``."""
    lines = parse(text, name)
    if lines.samples and not lines.run:
        raise RecordFormatError(f"{name} holds samples and no run; import the run's file, with --samples {name}")
    if not lines.run or not lines.workload:
        lacks = " and ".join(word for word, found in (("run", lines.run), ("workload", lines.workload)) if not found)
        raise RecordFormatError(
            f"{name} is damaged: it has rounds, but not what the line {lacks} says of them; measure again"
            if lines.rounds
            else f"{name} was cut short before its first round, so there is nothing to import; measure again"
        )
    # A file without its last line feed is the same run: the line `end` is whole without it.
    digest = hashlib.sha256((text if text.endswith("\n") else f"{text}\n").encode())
    for other, called in samples:
        line_samples.add_samples(lines, parse(other, called), called)
        digest.update(other.encode())
    if not lines.ended and lines.rounds:
        # The round in which the file was cut short: nothing shows that it is whole.
        lines.rounds.popitem()
        if not lines.rounds:
            raise RecordFormatError(f"{name} was cut short in its first round: no round of it is whole")
    orders = sorted(lines.rounds)
    if orders and lines.status != "complete" and not lines.rounds[orders[-1]].sessions:
        orders.pop()  # It was stopped in this round, before a session had ended.
    rounds = line_counters.with_other_processes([_round(lines, order) for order in orders])
    return RunRecord(
        _header(lines, digest.hexdigest(), rounds, line_samples.missing_words(rounds) if samples else ""), rounds
    )


def _header(lines: Lines, digest: str, rounds: Sequence[Round], lack: str) -> Header:
    run, workload = lines.run, lines.workload
    sql = "\n".join(lines.sql)
    started = datetime.fromtimestamp(epoch_s(run["started"]), UTC)
    allowed = parse_cpu_list(run.get("allowed", ""))
    cpus = len(allowed) or int(run.get("cpus", "0")) or None
    sampled = any(session.residency for round_ in rounds for session in round_.sessions)
    kind, workers = run.get("kind", "oracle"), run.get("workers", "sqlplus")
    for_s = float(workload["for_s"]) if "for_s" in workload else None
    clock = "the session's own" if kind == "shell" else "the server's"
    return Header(
        run_id=f"{started:%Y%m%d-%H%M%S}-{digest[:6]}",
        label=" ".join(lines.label),
        started_at=started.isoformat(timespec="seconds"),
        status=lines.status,
        tool_version=f"{BY_SCRIPT} 1",
        plan=Plan(
            target=f"{workers} on {run['host']}",
            workload=WorkloadInfo(
                name=workload["name"],
                size=workload["size"],
                n=int(workload["n"]),
                rows=int(workload["rows"]),
                sql=sql,
                sql_hash=hashlib.sha256(sql.encode()).hexdigest(),
                answer=workload["answer"],
                plan_shape=_plan_shape(workload),
            ),
            levels=tuple(sorted({round_lines.level for round_lines in lines.rounds.values()})),
            repeats=1 + max((round_lines.repeat for round_lines in lines.rounds.values()), default=0),
            seed=0,
            executions=None if for_s else int(workload["executions"]),
            for_s=for_s,
            sampler="ps" if sampled else "none",
            hz=1.0,
            vcpus=cpus,
            vcpus_source="affinity" if allowed else "getconf" if cpus else "unknown",
        ),
        host=_host(lines),
        database=Database(
            kind,
            run.get("version", _UNKNOWN),
            _of_database(run),
            driver=workers,
            driver_on_host=sampled or None,
            not_checked=_not_checked(lines),
        ),
        driver=Driver(run["host"], 0, None, ""),
        notes=(
            f"made by {workers}: times are {clock}, {_POLLED if sampled else 'placement is not seen'}",
            *_elsewhere(lines),
            *([lack] if lack else []),
        ),
    )


def _plan_shape(workload: Mapping[str, str]) -> str | None:
    return workload.get("plan", "").replace("+", " ").replace(">", " > ") or None


def _not_checked(lines: Lines) -> dict[str, str]:
    """What no line says of an Oracle database; nothing is known of grants that would help."""
    if lines.run.get("kind", "oracle") != "oracle":
        return {}
    sessions = [session for each in lines.rounds.values() for session in each.sessions.values()]
    query = not "\n".join(lines.sql).lstrip().lower().startswith(("begin", "declare"))
    left = {
        _PLAN: query and "plan" not in lines.workload,
        _TIMES: any(not session.db for session in sessions),
        _IO: True,
        _WAITS: True,
    }
    return {what: "" for what, missing in left.items() if missing}


def _of_database(run: Mapping[str, str]) -> dict[str, str]:
    """What the script asked of an Oracle server itself; what it did not learn is left out."""
    if run.get("kind", "oracle") != "oracle":
        return {}
    known = {key: value for key, value in run.items() if value != _UNKNOWN}
    known["platform"] = _platform(run)
    unset = "; ".join(_setting(each) for each in run.get("unset", "").split(";") if each)
    return {name: known[name] for name in _OF_DATABASE if known.get(name)} | ({UNSET: unset} if unset else {})


def _platform(run: Mapping[str, str]) -> str:
    """The server's operating system: as it says itself, and on the script's host by ``uname``; AIX by either."""
    said = run.get("platform", _UNKNOWN)
    if _is_elsewhere(run) or "aix" in said.casefold():
        return said
    system = run.get("system", "")
    return system if said == _UNKNOWN or "aix" in system.casefold() else said


def _setting(text: str) -> str:
    """``NAME:VALUE:ERROR`` in the words of the record; value and error may be empty."""
    name, _, rest = text.partition(":")
    value, _, error = rest.rpartition(":")
    return f"{name} ({value or 'value not known'}, {f'refused with {error}' if error else 'set without effect'})"


def _is_elsewhere(run: Mapping[str, str]) -> bool:
    """Whether the server says that its host is not that of the script. Files of earlier versions do not say."""
    server = run.get("server_host", run["host"])
    return server.partition(".")[0].casefold() != run["host"].partition(".")[0].casefold()


def _elsewhere(lines: Lines) -> tuple[str, ...]:
    """A note where the CPUs of the server's host were not seen by the script."""
    if lines.cpus or not _is_elsewhere(lines.run):
        return ()
    server, host = lines.run["server_host"], lines.run["host"]
    where = "an unknown host" if server == _UNKNOWN else server
    return (f"the server ran on {where} and the script on {host}: the topology of the server's host is unknown",)


def _host(lines: Lines) -> HostInfo | None:
    """The host, where the lines have its topology."""
    if not lines.cpus:
        return None
    groups = {cpu: siblings for cpu, _, siblings in lines.cpus}
    sockets = {cpu: socket for cpu, socket, _ in lines.cpus}
    # Cores and sockets are numbered in order of their lowest CPU, as everywhere in a record.
    cores = {siblings: core for core, siblings in enumerate(sorted(set(groups.values())))}
    socket_order = list(dict.fromkeys(sockets[cpu] for cpu in sorted(sockets)))
    cpus = tuple(
        Cpu(cpu, cores[groups[cpu]], socket_order.index(sockets[cpu]), 0, groups[cpu]) for cpu in sorted(groups)
    )
    # Where no CPUs share a core, SMT may be off, absent or hidden.
    smt = True if any(len(siblings) > 1 for siblings in groups.values()) else None
    return HostInfo(
        hostname=lines.run["host"],
        kernel=lines.run.get("release", ""),
        cpu_model="CPU not recorded",
        topology=Topology(cpus, smt_active=smt),
        limits=Limits(_allowed(lines) or tuple(sorted(groups))),
    )


def _allowed(lines: Lines) -> tuple[int, ...]:
    """The CPUs of the host that the sessions could use; () where they could use all."""
    known = {cpu for cpu, _, _ in lines.cpus}
    return tuple(cpu for cpu in parse_cpu_list(lines.run.get("allowed", "")) if cpu in known)


def _round(lines: Lines, order: int) -> Round:
    round_lines = lines.rounds[order]
    starts = [start for session in round_lines.sessions.values() for start, _, _ in session.executions[:1]]
    released_s = min(starts, default=round_lines.released_s)
    kind = lines.run.get("kind", "oracle")
    allowed = _allowed(lines)
    sessions = tuple(
        replace(_session(ordinal, round_lines, released_s, lines.workload["answer"], kind), allowed_cpus=allowed)
        for ordinal in sorted(round_lines.sessions)
    )
    sessions += _missing(round_lines)
    times_s, series = line_counters.timeline(
        round_lines.ticks, released_s, int(lines.run.get("ticks_per_s", DEFAULT_TICKS_PER_S))
    )
    errors = [session.error for session in sessions]
    watched = sum(session.server.verified for session in sessions)
    counted = any(session.cpu_s is not None for session in sessions)
    return Round(
        level=round_lines.level,
        repeat=round_lines.repeat,
        variant=BASELINE,
        order=order,
        released_at=datetime.fromtimestamp(released_s, UTC).isoformat(),
        released_monotonic_s=0.0,
        gate=Gate(
            round_lines.level, len(sessions), watched, max(starts) - min(starts) if starts else 0.0, realtime=False
        ),
        sessions=sessions,
        timeline_s=times_s,
        cpu_timeline=series,
        not_sampled=None
        if counted
        else f"{lines.run.get('workers', 'sqlplus')} polls placement only; "
        "dbcpu run on that host counts CPU time and run queues",
        error=f"every session failed: {errors[0]}" if errors and all(errors) else None,
    )


def _missing(round_lines: RoundLines) -> tuple[Session, ...]:
    """Those of the level of which the file has no line: as failed, for without them the round is none of its level."""
    free = [ordinal for ordinal in range(round_lines.level) if ordinal not in round_lines.sessions]
    lost = free[: max(0, round_lines.level - len(round_lines.sessions))]
    return tuple(Session(ordinal, Server(None, how=_NO_LINE), None, (), error=_NO_LINE) for ordinal in lost)


def _session(ordinal: int, round_lines: RoundLines, released_s: float, expected: str, kind: str) -> Session:
    session = round_lines.sessions[ordinal]
    wrong = next((answer for _, _, answer in session.executions if not _same(answer, expected)), None)
    error = session.error
    if wrong is not None:
        error = error or f"the answer was {wrong}, not {expected}: the work was not done"
    known = session.pid is not None
    how = _VERIFIED.get(kind, f"reported by {kind}") if known else "its server process was not seen on that host"
    if session.by_samples:
        how = "reported by the server, and such a process was seen by sample-psr on its host"
    return Session(
        ordinal=ordinal,
        server=Server(session.pid, verified=known, how=how),
        connect_s=session.connect_s or None,
        executions=tuple(
            Execution(start - released_s, end - start, start - released_s, end - start)
            for start, end, _ in session.executions
        ),
        answer_ok=wrong is None if session.executions else None,
        error=error,
        # Its own count only: looks miss both ends.
        cpu_s=session.cpu_s,
        cpu_source=None if session.cpu_s is None else "schedstat",
        run_delay_s=session.delay_s,
        db=session.db,
        residency=line_residency.residency(session, released_s),
    )


def _same(answer: str, expected: str) -> bool:
    try:
        return float(answer) == float(expected)
    except ValueError:
        return False
