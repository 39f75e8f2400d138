"""Takes apart the lines that the scripts of shell/ write (docs/line-format.md), into what they say and no more."""

from datetime import UTC, datetime

from msgspec import Struct, field

from dbcpu.config.given_file import read_given
from dbcpu.errors import RecordFormatError, UsageError
from dbcpu.formatting import MAX_CPUS, MAX_NUMBER, as_whole_number, parse_cpu_list

ENDS = ("complete", "interrupted", "failed")
_LAST_LINES = tuple(f"end status={status}" for status in ENDS)
LATEST_S = 253_402_300_799.0
"""The end of 9999, the last that a date can be made of."""
FIRST_LINES = ("dbcpu-lines 2", "dbcpu-lines 1", "dbcpu-fanout 1")
"""The third is what sqlplus-fanout wrote at first; its lines mean the same as in version 1, which has no ticks."""
_NAMES = tuple(line.split()[0].encode() for line in FIRST_LINES)
_TEXT_ONLY = ("sql", "label")
_COUNTED = ("db_cpu_s", "db_time_s")
MAX_BYTES = 64 * 1024**2
MAX_SIBLINGS = 1_000_000
"""Of all CPUs together."""
DEFAULT_TICKS_PER_S = "100"
NEAR_S = 1.0
"""A look belongs to a round if it was made at most this long before or after it."""
TICK_KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_WORDS = ("", "run", "samples", "process", "cpu", "workload", "round", "session", "execution", "seen", "ticks", "end")


class Look(Struct, frozen=True):
    """A look at a process. ``at_s`` since 1970; ``run_s`` and ``delay_s`` count from the start of the process."""

    at_s: float
    cpu: int
    state: str
    run_s: float | None = None
    delay_s: float | None = None


class Ticks(Struct, frozen=True):
    """What the kernel had counted of one CPU at ``at_s`` (since 1970): user nice system idle iowait irq softirq steal.

    Source: proc_stat(5)
    """

    at_s: float
    cpu: int
    counted: tuple[int, ...]


class SessionLines(Struct):
    """What the lines say of one session; ``executions`` are (start, end, answer), seconds since 1970.

    ``cpu_s`` is by the host's count, ``db`` by the database's. ``pid``: the process that was seen to be the session's,
    ``by_samples`` where sample-psr saw it; ``reported``: its number by the server's word alone.
    """

    connect_s: float | None = None
    pid: int | None = None
    reported: int | None = None
    by_samples: bool = False
    cpu_s: float | None = None
    delay_s: float | None = None
    db: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    executions: list[tuple[float, float, str]] = field(default_factory=list)
    seen: list[Look] = field(default_factory=list)


class RoundLines(Struct):
    """One round; ``released_s`` since 1970."""

    level: int
    repeat: int
    released_s: float
    sessions: dict[int, SessionLines] = field(default_factory=dict)
    ticks: list[Ticks] = field(default_factory=list)

    @property
    def span_s(self) -> tuple[float, float]:
        """From the release, or the first start where that is earlier, to the last end."""
        executions = [execution for session in self.sessions.values() for execution in session.executions]
        starts, ends = [start for start, _, _ in executions], [end for _, end, _ in executions]
        return min([self.released_s, *starts]), max([self.released_s, *ends])


class Lines(Struct):
    """A whole file. ``run`` is empty in a file of samples, ``samples`` in one of a run."""

    run: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    workload: dict[str, str] = field(default_factory=dict)
    sql: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    cpus: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    """(id, socket, siblings)"""
    siblings: int = 0
    """So many are named by all CPUs together."""
    rounds: dict[int, RoundLines] = field(default_factory=dict)
    processes: dict[int, list[Look]] = field(default_factory=dict)
    """Looks by process number, in a file of samples."""
    commands: dict[int, str] = field(default_factory=dict)
    """What each process there is called, by number."""
    ticks: list[Ticks] = field(default_factory=list)
    """In a file of samples."""
    status: str = "interrupted"
    ended: bool = False
    """The file has its last line."""

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
        elif kind == "process":
            self._take_process(_pairs(rest))
        else:
            self._take_values(kind, _pairs(rest))

    def _take_values(self, kind: str, values: dict[str, str]) -> None:
        match kind:
            case "run":
                self.run = _run(values)
            case "samples":
                _whole(values.get("ticks_per_s", DEFAULT_TICKS_PER_S), 1)
                self.samples = values
            case "workload":
                self.workload = _workload(values)
            case "cpu":
                self._take_cpu(values)
            case "end":
                self.status, self.ended = _end(values["status"]), True
            case "round":
                begun = RoundLines(_whole(values["level"], 1), _whole(values["repeat"]), epoch_s(values["released"]))
                order = _whole(values["order"])
                if order in self.rounds:
                    raise ValueError(f"round {order} has begun before; files of two runs are imported one by one")
                self.rounds[order] = begun
            case "session":
                self._take_session(values)
            case "execution":
                self._session(values).executions.append(_execution(values))
            case "seen":
                self._seen_by(values).append(_look(values))
            case "ticks":
                (self._round(values).ticks if "order" in values else self.ticks).append(_ticks(values))

    def _take_process(self, values: dict[str, str]) -> None:
        self.commands[_whole(values["pid"])] = values.get("command", "")

    def _take_cpu(self, values: dict[str, str]) -> None:
        siblings = parse_cpu_list(values["siblings"])
        self.siblings += len(siblings)
        if self.siblings > MAX_SIBLINGS:
            raise ValueError(f"the CPUs have more than {MAX_SIBLINGS} siblings together")
        self.cpus.append((_whole(values["id"], most=MAX_CPUS - 1), _whole(values["socket"]), siblings))

    def _take_session(self, values: dict[str, str]) -> None:
        session = self._session(values)
        session.connect_s = _seconds(values["connect_s"]) if "connect_s" in values else None
        pid = values.get("pid", values.get("spid"))
        session.pid = None if pid is None else _whole(pid)
        session.reported = _whole(values["reported"]) if "reported" in values else None
        session.cpu_s = _seconds(values["cpu_s"]) if "cpu_s" in values else None
        session.delay_s = _seconds(values["delay_s"]) if "delay_s" in values else None
        session.db = {name: _seconds(values[name]) for name in _COUNTED if name in values}

    def _seen_by(self, values: dict[str, str]) -> list[Look]:
        if "pid" in values:
            return self.processes.setdefault(_whole(values["pid"]), [])
        return self._session(values).seen

    def _session(self, values: dict[str, str]) -> SessionLines:
        return self._round(values).sessions.setdefault(_whole(values["ordinal"]), SessionLines())

    def _round(self, values: dict[str, str]) -> RoundLines:
        order = _whole(values["order"])
        if order not in self.rounds:
            raise ValueError(f"no line before it begins round {order}")
        return self.rounds[order]


def recognises(content: bytes) -> bool:
    """Whether the content of a file begins as those lines do."""
    return content.startswith(_NAMES)


def read_text(path: str) -> str:
    """The file's text. Raises UntrustedFile where it is another user's FIFO; else as ``text_of``, or not readable."""
    try:
        return text_of(read_given(path, MAX_BYTES + 1), path)
    except (OSError, ValueError) as error:
        raise RecordFormatError(f"{path} could not be read: {getattr(error, 'strerror', None) or error}") from None


def text_of(content: bytes, name: str) -> str:
    """The text of a file's content; ``name`` is for messages. Raises RecordFormatError when larger than any run."""
    if len(content) > MAX_BYTES:
        raise RecordFormatError(f"{name} is larger than any run ({MAX_BYTES >> 20} MiB); give a file of one run")
    return content.decode("utf-8", errors="replace")


def parse(text: str, name: str) -> Lines:
    """What such a text says; ``name`` is for messages. Raises RecordFormatError naming a line not understood.

    A last line without its line feed was cut short, and is left out where it is not the line ``end``.
    """
    # Not splitlines: what a server or a process is called may have a separator of Unicode's in it.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if lines[0].strip() not in FIRST_LINES:
        raise RecordFormatError(f"{name} does not begin with {FIRST_LINES[0]!r}: it is damaged, or of a newer version")
    found = Lines()
    if not text.endswith("\n") and len(lines) > 1 and lines[-1] not in _LAST_LINES:
        del lines[-1]
    for number, line in enumerate(lines[1:], 2):
        try:
            found.take(line)
        except (KeyError, ValueError, OverflowError, UsageError) as error:
            reason = f"it has no {error.args[0]}=" if isinstance(error, KeyError) else str(error)[:200]
            raise RecordFormatError(f"{name}, line {number} is not understood ({reason}): {line[:80]!r}") from None
    return found


def epoch_s(text: str) -> float:
    """YYYY-MM-DDTHH:MM:SS (UTC), with or without a fraction, or seconds since 1970. Raises ValueError."""
    if "T" not in text:
        seconds = float(text)
    else:
        whole, _, fraction = text.partition(".")
        if fraction and not fraction.isdecimal():
            raise ValueError(f"{text[:40]!r} is no time")
        seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}")
    if not 0 <= seconds <= LATEST_S:
        raise ValueError(f"{text[:40]!r} is no time between 1970 and 9999")
    return seconds


def _look(values: dict[str, str]) -> Look:
    run_s, delay_s = (_whole(values[name]) / 1e9 if name in values else None for name in ("run_ns", "delay_ns"))
    return Look(epoch_s(values["at"]), _whole(values["cpu"], most=MAX_CPUS - 1), values["state"], run_s, delay_s)


def _ticks(values: dict[str, str]) -> Ticks:
    counted = tuple(_whole(each) for each in values["of"].split(","))
    if len(counted) != len(TICK_KINDS):
        raise ValueError(f"of= has {len(counted)} counts, not the {len(TICK_KINDS)} of {' '.join(TICK_KINDS)}")
    return Ticks(epoch_s(values["at"]), _whole(values["cpu"], most=MAX_CPUS - 1), counted)


def _run(values: dict[str, str]) -> dict[str, str]:
    """Raises KeyError or ValueError where a record could not be made of it."""
    epoch_s(values["started"])
    try:
        parse_cpu_list(values.get("allowed", ""))
    except UsageError as error:
        raise ValueError(str(error)) from None
    _whole(values.get("cpus", "0"), most=MAX_CPUS)
    _whole(values.get("ticks_per_s", DEFAULT_TICKS_PER_S), 1)
    return {**values, "host": values["host"]}


def _end(status: str) -> str:
    if status not in ENDS:
        raise ValueError(f"status is none of {', '.join(ENDS)}")
    return status


def _execution(values: dict[str, str]) -> tuple[float, float, str]:
    """Start, end and answer. Raises KeyError or ValueError."""
    start_s, end_s = epoch_s(values["start"]), epoch_s(values["end"])
    if end_s < start_s:
        raise ValueError("it ends before it starts")
    return start_s, end_s, values["answer"]


def _workload(values: dict[str, str]) -> dict[str, str]:
    """Raises KeyError or ValueError where a record could not be made of it."""
    _whole(values["n"])
    _whole(values["rows"], 1)
    if "for_s" in values:
        if _seconds(values["for_s"]) == 0:
            raise ValueError("for_s is not above 0")
    else:
        _whole(values["executions"], 1)
    return {**values, **{name: values[name] for name in ("name", "size", "answer")}}


def _whole(text: str, least: int = 0, most: int = MAX_NUMBER) -> int:
    """Raises ValueError."""
    if (number := as_whole_number(text, least, most)) is None:
        raise ValueError(f"{text[:40]!r} is not a whole number from {least} to {most}")
    return number


def _seconds(text: str) -> float:
    """Raises ValueError."""
    seconds = float(text)
    if not 0 <= seconds <= LATEST_S:
        raise ValueError(f"{text[:40]!r} is no time in seconds")
    return seconds


def _pairs(text: str) -> dict[str, str]:
    """Raises ValueError for a part without ``=``."""
    return dict(_pair(part) for part in text.split(" ") if part)


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"{part!r} is no NAME=VALUE")
    return name, value
