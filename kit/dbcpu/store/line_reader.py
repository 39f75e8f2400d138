"""Takes apart the lines that the scripts of shell/ write (docs/line-format.md), into what they say and no more."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dbcpu.errors import RecordFormatError, UsageError
from dbcpu.hosts.topology.cpu_list import parse_cpu_list

FIRST_LINES = ("dbcpu-lines 1", "dbcpu-fanout 1")
"""The second is what sqlplus-fanout wrote at first; its lines mean the same."""
_NAMES = tuple(line.split()[0].encode() for line in FIRST_LINES)
_TEXT_ONLY = ("sql", "label")
_COUNTED = ("db_cpu_s", "db_time_s")
_WORDS = ("", "run", "samples", "process", "cpu", "workload", "round", "session", "execution", "seen", "end")


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a process. ``at_s`` since 1970; ``run_s`` and ``delay_s`` count from the start of the process."""

    at_s: float
    cpu: int
    state: str
    run_s: float | None = None
    delay_s: float | None = None


@dataclass(slots=True)
class SessionLines:
    """What the lines say of one session; ``executions`` are (start, end, answer), seconds since 1970.

    ``cpu_s`` is by the host's count, ``db`` by the database's.
    """

    connect_s: float = 0.0
    pid: int | None = None
    cpu_s: float | None = None
    delay_s: float | None = None
    db: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    executions: list[tuple[float, float, str]] = field(default_factory=list)
    seen: list[Look] = field(default_factory=list)


@dataclass(slots=True)
class RoundLines:
    """One round; ``released_s`` since 1970."""

    level: int
    repeat: int
    released_s: float
    sessions: dict[int, SessionLines] = field(default_factory=dict)

    @property
    def span_s(self) -> tuple[float, float]:
        """From the release, or the first start where that is earlier, to the last end."""
        executions = [execution for session in self.sessions.values() for execution in session.executions]
        starts, ends = [start for start, _, _ in executions], [end for _, end, _ in executions]
        return min([self.released_s, *starts]), max([self.released_s, *ends])


@dataclass(slots=True)
class Lines:
    """A whole file. ``run`` is empty in a file of samples, ``samples`` in one of a run."""

    run: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    workload: dict[str, str] = field(default_factory=dict)
    sql: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    cpus: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    """(id, socket, siblings)"""
    rounds: dict[int, RoundLines] = field(default_factory=dict)
    processes: dict[int, list[Look]] = field(default_factory=dict)
    """Looks by process number, in a file of samples."""
    status: str = "interrupted"

    def take(self, line: str) -> None:
        """Raises KeyError, ValueError or UsageError when it is not one of the lines."""
        kind, _, rest = line.partition(" ")
        if kind in _TEXT_ONLY:
            (self.sql if kind == "sql" else self.label).append(rest)
        elif kind == "failed":
            order, ordinal, reason = rest.split(" ", 2)
            self._session(_pairs(f"{order} {ordinal}")).error = reason
        elif kind not in _WORDS:
            raise ValueError("unknown word")
        else:
            self._take_values(kind, _pairs(rest))

    def _take_values(self, kind: str, values: dict[str, str]) -> None:
        match kind:
            case "run":
                self.run = values
            case "samples":
                self.samples = values
            case "workload":
                self.workload = values
            case "cpu":
                self.cpus.append((int(values["id"]), int(values["socket"]), parse_cpu_list(values["siblings"])))
            case "end":
                self.status = values["status"]
            case "round":
                begun = RoundLines(int(values["level"]), int(values["repeat"]), epoch_s(values["released"]))
                self.rounds[int(values["order"])] = begun
            case "session":
                self._take_session(values)
            case "execution":
                start_s, end_s = epoch_s(values["start"]), epoch_s(values["end"])
                self._session(values).executions.append((start_s, end_s, values["answer"]))
            case "seen" if "pid" in values:
                self.processes.setdefault(int(values["pid"]), []).append(_look(values))
            case "seen":
                self._session(values).seen.append(_look(values))

    def _take_session(self, values: dict[str, str]) -> None:
        session = self._session(values)
        session.connect_s = float(values.get("connect_s", "0"))
        pid = values.get("pid", values.get("spid"))
        session.pid = None if pid is None else int(pid)
        session.cpu_s = float(values["cpu_s"]) if "cpu_s" in values else None
        session.delay_s = float(values["delay_s"]) if "delay_s" in values else None
        session.db = {name: float(values[name]) for name in _COUNTED if name in values}

    def _session(self, values: dict[str, str]) -> SessionLines:
        return self.rounds[int(values["order"])].sessions.setdefault(int(values["ordinal"]), SessionLines())


def recognises(path: str) -> bool:
    """Whether the file begins as those lines do; False also for one that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(max(map(len, _NAMES))).startswith(_NAMES)
    except OSError:
        return False


def read_text(path: str) -> str:
    """The file's text. Raises RecordFormatError when it cannot be read."""
    try:
        return Path(path).read_text("utf-8", errors="replace")
    except OSError as error:
        raise RecordFormatError(f"{path} could not be read: {error.strerror}") from None


def parse(text: str, name: str) -> Lines:
    """What such a text says; ``name`` is for messages. Raises RecordFormatError naming a line not understood."""
    lines = text.splitlines()
    if not lines or lines[0].strip() not in FIRST_LINES:
        raise RecordFormatError(f"{name} does not begin with {FIRST_LINES[0]!r}: it is damaged, or of a newer version")
    found = Lines()
    for number, line in enumerate(lines[1:], 2):
        try:
            found.take(line)
        except (KeyError, ValueError, UsageError) as error:
            raise RecordFormatError(f"{name}, line {number} is not understood ({error}): {line[:80]!r}") from None
    return found


def epoch_s(text: str) -> float:
    """YYYY-MM-DDTHH:MM:SS (UTC), with or without a fraction, or seconds since 1970. Raises ValueError."""
    if "T" not in text:
        seconds = float(text)
        if not 0 <= seconds < 1e11:
            raise ValueError(f"{text!r} is no time")
        return seconds
    whole, _, fraction = text.partition(".")
    return datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}")


def _look(values: dict[str, str]) -> Look:
    run_s, delay_s = (int(values[name]) / 1e9 if name in values else None for name in ("run_ns", "delay_ns"))
    return Look(epoch_s(values["at"]), int(values["cpu"]), values["state"], run_s, delay_s)


def _pairs(text: str) -> dict[str, str]:
    """Raises ValueError for a part without ``=``."""
    return dict(_pair(part) for part in text.split())


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"{part!r} is no NAME=VALUE")
    return name, value
