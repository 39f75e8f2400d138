"""A run on standard output as it is measured, for a dbcpu at the other end that keeps it; and how that one reads it.

Lines of JSON: who writes, the header, each round when it ends, and how the run ended. Nothing is kept here.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from msgspec import Struct

from dbcpu.errors import RecordFormatError, StoreError
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round
from dbcpu.store import codec
from dbcpu.store.record_checks import round_inconsistency

FORM = 1


class RunStream:
    """Writes the run to ``out``; see ``workflows.keep_rounds.Keeper``."""

    def __init__(self, tool_version: str, sql_hash: str, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._say("stream", FORM, tool_version=tool_version, sql_hash=sql_hash)

    def begin(self, header: Header) -> None:
        self._say("header", codec.header_to_data(header))

    def reopen(self, header: Header, rounds: int) -> None:
        raise StoreError("a run on standard output cannot be gone on with; give --store")

    def append(self, run_id: str, finished: Round) -> None:
        self._say("round", codec.encode(finished))

    def finish(self, run_id: str, status: str, notes: Sequence[str] = ()) -> None:
        self._say("end", status, notes=list(notes))

    def _say(self, what: str, content: object, **more: object) -> None:
        self._out.write(codec.dumps({what: content, **more}) + "\n")
        self._out.flush()


class Begun(Struct, frozen=True):
    """Who writes the stream."""

    tool_version: str
    sql_hash: str


class Ended(Struct, frozen=True):
    """How the run ended: its status, and the reason, '' for none."""

    status: str
    why: str


def read_stream(lines: Iterable[str], source: str) -> Iterator[Begun | Header | Round | Ended]:
    """What a ``RunStream`` wrote, in its order; other lines than those of JSON are passed over (a login shell's).

    ``source`` is for messages. Nothing of it is believed: it comes from another host.

    Raises:
        RecordFormatError: it is damaged, not in that order, or a round is not consistent.
    """
    header: Header | None = None
    begun = False
    for line in lines:
        if not line.startswith("{"):
            continue
        data = codec.loads(line, source)
        match data:
            case {"stream": form, "tool_version": str(version), "sql_hash": str(sql_hash)} if not begun:
                if form != FORM:
                    raise RecordFormatError(f"{source} writes runs in another form; install the same dbcpu there")
                begun = True
                yield Begun(version, sql_hash)
            case {"header": content} if begun and header is None:
                header = codec.header_from(content, source)
                yield header
            case {"round": content} if header is not None:
                yield _round(header, content, source)
            case {"end": str(status), "notes": list(notes)} if header is not None:
                yield Ended(status, "; ".join(str(each) for each in notes))
                return
            case _:
                raise codec.damaged(source, f"{line[:40]!r} is not what comes next in a run")


def _round(header: Header, content: Any, source: str) -> Round:
    found = codec.decode(Round, content, source, ".round")
    if reason := round_inconsistency(header, found):
        raise codec.damaged(source, reason)
    return found
