"""What a table of exported data is: its columns with type, unit and meaning, and the rows that a run gives it."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Any

from msgspec import Struct

from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.record.header import Cpu, Header
from dbcpu.record.rounds import Round


class Type(StrEnum):
    """What a column holds: its SQL type, as DuckDB and Parquet have it. A time is UTC, without a zone."""

    TEXT = "varchar"
    WHOLE = "bigint"
    NUMBER = "double"
    BOOLEAN = "boolean"
    TIME = "timestamp"


class ExplainedRun(Struct, frozen=True, dict=True):
    """A run without its rounds, and what was made of it, by which version of dbcpu."""

    header: Header
    analysis: Analysis
    explained_by: str

    @cached_property
    def views(self) -> Mapping[tuple[int, int], SessionView]:
        """By order of the round and ordinal of the session. A long soak has those of some rounds only."""
        return {(each.order, each.ordinal): each for each in self.analysis.sessions}

    @cached_property
    def cpus(self) -> Mapping[int, Cpu]:
        """The CPUs of the host by number; none where it was not seen."""
        host = self.header.host
        return {each.cpu: each for each in host.topology.cpus} if host else {}


class ExportedColumn(Struct, frozen=True):
    """``value`` is taken of a row of the table; None is written as an empty cell, or null."""

    name: str
    type: Type
    meaning: str
    value: Callable[[Any], Any]
    unit: str = ""


class ExportedTable(Struct, frozen=True):
    """``of_run`` gives the rows of a run as a whole, ``of_round`` those of one of its rounds."""

    name: str
    row: str
    columns: tuple[ExportedColumn, ...]
    of_run: Callable[[ExplainedRun], Iterable[Any]] = lambda _: ()
    of_round: Callable[[ExplainedRun, Round], Iterable[Any]] = lambda _, __: ()


def read(path: str) -> Callable[[Any], Any]:
    """The attribute at ``path`` of a row, such as ``view?.cause``: None where the part with the question mark is."""
    before, optional, after = path.partition("?.")
    first = attrgetter(before)
    if not optional:
        return first
    then = attrgetter(after)
    return lambda row: None if (part := first(row)) is None else then(part)


def column(name: str, kind: Type, meaning: str, source: str | Callable[[Any], Any], unit: str = "") -> ExportedColumn:
    """A column that is read at the path ``source``, or by a function. Names in ``_s`` are in seconds."""
    value = read(source) if isinstance(source, str) else source
    return ExportedColumn(
        name, kind, meaning, value, unit or ("s" if name.endswith("_s") and "_per_s" not in name else "")
    )
