"""The Python API: read runs, explain them, compare them, simulate them. docs/python.md shows it with examples.

Nothing here measures, prints, or reads ``dbcpu.toml``: the same arguments give the same answers. Fields of
what comes back cannot be set. Every expected failure is a ``DbcpuError`` whose text is one sentence.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Self, get_args

import msgspec
from msgspec.structs import asdict

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.decisions import floor_from
from dbcpu.analysis.comparison.measured_run import MeasuredSide
from dbcpu.analysis.explain import explain as explained
from dbcpu.analysis.explain import explain_rounds
from dbcpu.analysis.levels import variant_rounds
from dbcpu.analysis.results.comparison import Comparison
from dbcpu.analysis.results.run import Analysis
from dbcpu.errors import DbcpuError, UnknownName, UsageError
from dbcpu.formatting import DAY_S
from dbcpu.hosts.topology import allowed_cores, usable_vcpus
from dbcpu.record.header import Header
from dbcpu.record.plan import parse_levels
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, host_with
from dbcpu.simulator import simulate as simulated
from dbcpu.simulator.presets import USUAL
from dbcpu.store import database, record_file
from dbcpu.store.codec import STATUSES
from dbcpu.store.database import RunSummary

__all__ = [
    "Analysis",
    "Comparison",
    "DbcpuError",
    "Header",
    "Round",
    "RunRecord",
    "RunSummary",
    "SimulatedHost",
    "Store",
    "analysis_json",
    "compare",
    "explain",
    "one_variant",
    "open_store",
    "read_record",
    "simulate",
    "write_record",
]

LevelsPer = Literal["session", "core", "vcpu"]
_LEVELS = "numbers of sessions, or a text such as '1-8,16'"


def explain(record: RunRecord) -> Analysis:
    """All that follows from a run: its verdict, levels, sessions with their causes, findings.

    Raises:
        UsageError: what is given is no run.
    """
    return explained(_run(record))


def analysis_json(record: RunRecord) -> str:
    """What ``dbcpu show FILE --json`` prints of a record file: one JSON object, by docs/schema/analysis-1.json.

    Other runs of its target are not looked at: without a store, ``against_history`` is null.

    Raises:
        UsageError: what is given is no run.
    """
    from dbcpu.reports.documents.run import document  # whoever only reads and explains needs no reports
    from dbcpu.reports.formats.json import render

    return render(document(record, explain(record)))


def read_record(path: str | os.PathLike[str]) -> RunRecord:
    """The run in a record file; whether it is compressed is seen from its content.

    Raises:
        UsageError: what is given is no path, or an empty one.
        StoreError: the file is missing or cannot be read.
        RecordFormatError: it holds no run, a damaged one, or one of a newer schema.
    """
    place = _path(path)
    if not place:
        raise UsageError("'' is no file to read; give a path, such as ./run.json.gz")
    return record_file.read(place)


def write_record(path: str | os.PathLike[str], record: RunRecord) -> None:
    """A record file, ``.json`` or ``.json.gz`` by its name. What is there is replaced in one step, or stays.

    Raises:
        UsageError: what is given is no run, or is not named so, or is ``-``: nothing here prints.
        RecordFormatError: ``read_record`` would refuse it as damaged; the sentence names the first thing in it.
        StoreError: it cannot be written.
    """
    place = _path(path)
    if place in ("", "-"):
        raise UsageError(f"{place!r} is no file to write to; give a path, such as ./run.json.gz")
    record_file.write_record(place, _run(record))


def open_store(url: str | os.PathLike[str] | None = None) -> "Store":
    """The store at ``url`` (a SQLite file or ``postgresql://...``), else at DBCPU_STORE, else the user's own.

    Raises:
        UsageError: what is given is no address.
        StoreError: it cannot be reached or read, or there is none.
    """
    address = None if url is None else _path(url)
    if address is not None and (not address or "\0" in address):
        raise UsageError(f"{address!r} is no store; give a file or a URL, or nothing for the usual one")
    return Store(database.open_store(address, create=False))


class Store(AbstractContextManager["Store"]):
    """Runs in a store, to be read. A ``run`` is a run_id, the beginning of one, ``last``, or a summary from ``runs``.

    All methods raise StoreError when the database fails. Those that take a run raise UsageError when there is none, or
    several, and RecordFormatError when it is damaged or newer than this program.
    """

    def __init__(self, opened: database.Store) -> None:
        self._opened = opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database. A connection is open only while a method runs."""
        self._opened.close()

    def runs(
        self,
        *,
        target: str | None = None,
        host: str | None = None,
        label: str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> tuple[RunSummary, ...]:
        """What is known of each run without reading it, newest first; at most ``limit``.

        Only those of this target, host, label and status (complete, running, interrupted, failed), where given.
        A ``limit`` of 0 gives none, as it does in Python (on the command line ``--limit 0`` is all); None gives all.
        Raises UsageError for a status that there is not, or a limit below 0.
        """
        if status not in (None, *STATUSES):
            raise UnknownName("status of a run", str(status), STATUSES)
        if limit is not None:
            _check_whole("limit", limit, 0)
        most = limit if label is None and status is None else None
        found = self._opened.list(most, target, host)
        return tuple(each for each in found if label in (None, each.label) and status in (None, each.status))[:limit]

    def header(self, run: str | RunSummary) -> Header:
        """All of a run but its rounds."""
        return self._opened.header(_name_of(run))

    def rounds(self, run: str | RunSummary) -> Iterator[Round]:
        """Its rounds in the order they ran, read one by one."""
        return self._opened.rounds(self._opened.resolve(_name_of(run)))

    def record(self, run: str | RunSummary) -> RunRecord:
        """A whole run."""
        return self._opened.load(_name_of(run))

    def explain(self, run: str | RunSummary) -> Analysis:
        """The same as ``explain(store.record(run))``; a soak of days is read round by round."""
        header = self.header(run)
        return explain_rounds(header, self._opened.rounds(header.run_id))[1]


def one_variant(record: RunRecord, variant: str | None = None) -> RunRecord:
    """The rounds of one variant as a run of their own; by default of the first.

    Raises:
        UsageError: there is no such variant, or what is given is no run.
    """
    _check("variant", variant, str | None, "the name of a variant, such as 'smt_off'")
    return variant_rounds.one_variant(_run(record), variant)


def compare(
    sides: Mapping[str, RunRecord | Sequence[RunRecord]],
    *,
    levels_per: LevelsPer | None = None,
    aa: RunRecord | None = None,
) -> Comparison:
    """Sides by name against the first of them. A side is a run, or several runs of the same target and work.

    Of a run of several variants the first is compared; ``one_variant`` gives another. ``levels_per``: what levels are
    shared by, as ``dbcpu compare --levels-per``. ``aa``: an A/A run of this host, whose noise no claim goes below.

    Raises:
        UsageError: fewer than two sides, or they cannot be compared.
    """
    if levels_per not in (None, *get_args(LevelsPer)):
        raise UnknownName("unit of levels", str(levels_per), get_args(LevelsPer))
    _check("sides", sides, Mapping, "a dict, such as {'old': record, 'new': other}")
    measured = [_side(name, side) for name, side in sides.items()]
    return compare_sides(measured, floor_from(_run(aa)) if aa is not None else None, levels_per)


def simulate(
    host: str | SimulatedHost = USUAL,
    *,
    levels: str | Sequence[int] = "auto",
    repeats: int = 6,
    seed: int = 1,
    size: str = "medium",
    executions: int | None = None,
    for_s: float | None = None,
    label: str = "",
    changes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """A run on a simulated host: a preset of ``dbcpu simulate --list``, or a host of your own.

    ``levels`` are numbers of sessions, or a text such as ``1-8,16``. Each session does ``executions`` (default 1) of
    this size, or as many as begin within ``for_s`` seconds. ``changes`` are fields of ``SimulatedHost`` that differ
    from the preset, such as ``{"steal": 0.1}``. The same arguments give the same record.

    Raises:
        UsageError: an unknown name, a number that makes no sense, or not of the type that is needed.
    """
    _check("host", host, str | SimulatedHost, "the name of a preset, or a SimulatedHost")
    _check("levels", levels, str | Sequence, _LEVELS)
    if isinstance(levels, bytes | bytearray | memoryview):  # sequences of numbers, too, which nobody means
        raise UsageError(f"levels is of the type {type(levels).__name__}; give {_LEVELS}")
    _check("size", size, str, "tiny, short, medium or long")
    _check("label", label, str, "a text")
    _check("changes", changes, Mapping | None, "a dict, such as {'steal': 0.1}")
    if executions is not None and for_s is not None:
        raise UsageError("executions and for_s contradict each other; give one of them")
    if executions is not None:
        _check_whole("executions", executions, 1)
    is_number = isinstance(for_s, int | float) and not isinstance(for_s, bool)
    if for_s is not None and not (is_number and 0 < for_s <= DAY_S):
        raise UsageError(
            f"for_s is {for_s!r}; give a number of seconds above 0, at most {DAY_S}: every one is simulated"
        )
    _check_whole("repeats", repeats, 1)
    _check_whole("seed", seed, 0)
    chosen = _changed(host, dict(changes or {}))
    if isinstance(levels, str):
        info = chosen.info()
        levels = parse_levels(levels, usable_vcpus(info)[0], allowed_cores(info), "levels")
    elif not levels:
        raise UsageError(f"no levels are given; give {_LEVELS}")
    for level in levels:
        _check_whole("a level", level, 1)
    return simulated(chosen, tuple(levels), repeats, seed, size, executions=executions, for_s=for_s, label=label)


def _changed(host: str | SimulatedHost, wanted: Mapping[str, Any]) -> SimulatedHost:
    known = SimulatedHost.__struct_fields__
    for name in wanted:
        if name not in known:
            raise UnknownName("field of a simulated host", str(name), known)
    try:
        typed = msgspec.convert({**asdict(SimulatedHost()), **wanted}, SimulatedHost)
    except msgspec.ValidationError as error:
        raise UsageError(f"changes do not fit a simulated host: {error}") from None
    named = {name: getattr(typed, name) for name in wanted}
    return host_with(host, named) if isinstance(host, str) else msgspec.structs.replace(host, **named)


def _name_of(run: str | RunSummary) -> str:
    _check("run", run, str | RunSummary, "a run_id, or a summary from runs()")
    return run if isinstance(run, str) else run.run_id


def _side(name: str, side: RunRecord | Sequence[RunRecord]) -> MeasuredSide:
    records = (side,) if isinstance(side, RunRecord) or not isinstance(side, Iterable) else tuple(side)
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{name!r} is no name of a side; give a text, such as 'old'")
    if not records:
        raise UsageError(f"side {name!r} has no run; give one or several")
    return measured_side(name, [Candidate(name, _run(each)) for each in records])


def _run(given: RunRecord) -> RunRecord:
    """What is given for a run: a path or an analysis in its place would fail somewhere inside."""
    if not isinstance(given, RunRecord):
        raise UsageError(f"a RunRecord is needed here, not {type(given).__name__}; read_record(path) reads one")
    _check("header of a RunRecord", given.header, Header, "a Header")
    _check("rounds of a RunRecord", given.rounds, tuple, "a tuple of Round")
    for each in given.rounds:
        _check("a round of a RunRecord", each, Round, "a Round")
    return given


def _path(given: str | os.PathLike[str]) -> str:
    _check("path", given, str | os.PathLike, "a text or a pathlib.Path")
    return os.fspath(given)


def _check(name: str, value: object, kind: Any, words: str) -> None:
    """What has another type would fail somewhere inside, with an error of Python's."""
    if not isinstance(value, kind):
        raise UsageError(f"{name} is of the type {type(value).__name__}; give {words}")


def _check_whole(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name} is {value!r}; give a whole number from {least} on")
