"""Runs as files: ``.json``, or ``.json.gz`` in the same form compressed. Written whole or not at all."""

import gzip
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dbcpu.config.given_file import read_given
from dbcpu.config.written_files import draft_of, is_descriptor, open_device
from dbcpu.errors import RecordFormatError, StoreError, UsageError
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import codec

SUFFIXES = (".json", ".json.gz")
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_GZIP_MAGIC = b"\x1f\x8b"


def is_file_name(text: str) -> bool:
    """Whether ``text`` means a record file rather than a run_id. Raises UsageError for a URL, which is neither."""
    refuse_url(text)
    return text.endswith(SUFFIXES) or "/" in text


def takes_record(path: Path | str) -> bool:
    """Whether a record can be written there, by its name: a file, standard output, a pipe or a device."""
    return str(path) == "-" or str(path).endswith(SUFFIXES) or _is_device(Path(path))


def refuse_url(run: str) -> None:
    """Raises UsageError where a URL was given for a run; it is not repeated, because it may hold a password."""
    if found := _URL.match(run):
        raise UsageError(f"a run was expected, and not {found[0]}***; give the store by --store URL")


def read(path: Path | str) -> RunRecord:
    """The run in a file; whether it is compressed is seen from its content.

    Raises:
        StoreError: the file is missing or cannot be read.
        UntrustedFile: it is a FIFO of another user.
        RecordFormatError: it holds no run, a damaged one, or one of a newer schema.
    """
    return from_content(content_of(path), str(path))


def from_content(content: bytes, source: str) -> RunRecord:
    """The run in what ``content_of`` gave. Raises RecordFormatError as ``read``."""
    if not source.endswith(SUFFIXES) and content[:1] not in (b"{", b"["):
        raise RecordFormatError(
            f"{source} is no record; if it is lines or CSV of a run, import it: dbcpu import {source}"
        )
    return codec.from_data(codec.loads(content, source), source)


def content_of(path: Path | str) -> bytes:
    """What is in a file, uncompressed. Raises StoreError, RecordFormatError or UntrustedFile as ``read``."""
    source = str(path)
    try:
        content = read_given(path, codec.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{source} could not be read: {reason}; give a file from dbcpu export") from None
    if len(content) > codec.MAX_BYTES:
        raise RecordFormatError(
            f"{source} is larger than any run ({codec.MAX_BYTES >> 20} MiB); give a file of one run"
        )
    return codec.uncompressed(content, source) if content.startswith(_GZIP_MAGIC) else content


def write(path: Path | str, header: Header, rounds: Iterable[Round]) -> None:
    """Write a run, round by round; ``-`` is standard output.

    Raises:
        UsageError: not a .json or .json.gz name.
        StoreError: as ``write_file``.
        UntrustedFile: as ``write_file``.
        RecordFormatError: the run holds a value that JSON cannot.
    """
    pieces = codec.json_pieces(header, rounds)
    if str(path) == "-":
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    target = Path(path)
    if not takes_record(path):
        raise UsageError(
            f"{target} does not end in .json or .json.gz; name the file so, and it is written in that form"
        )
    write_file(target, (piece.encode("ascii") for piece in pieces))


def write_file(target: Path, pieces: Iterable[bytes]) -> None:
    """Write a file, compressed if it ends in .gz. What was there stays until the new file is whole.

    Raises:
        StoreError: disk full, or not writable; nothing is changed then.
        UntrustedFile: the way there leads through a link of another user, or a device there is another user's.
    """
    try:
        with _replacing(target) as stream:
            for piece in pieces:
                stream.write(piece)
    except OSError as error:
        raise StoreError(f"{target} could not be written: {error.strerror or error}; no file was changed") from None


def write_record(path: Path | str, record: RunRecord) -> None:
    """``write`` for a run that is in memory. What could not be read again is not written: RecordFormatError."""
    codec.refuse_unreadable(record)
    write(path, record.header, record.rounds)


def _is_device(target: Path) -> bool:
    return is_descriptor(target) or (target.exists() and not target.is_file() and not target.is_dir())


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """A stream whose content takes the place of ``target`` in one step, once all of it is on the disk."""
    if (device := open_device(target)) is not None:
        with device:
            yield device
        return
    with draft_of(target) as raw:
        if target.suffix == ".gz":
            # No name and no time in the header: the same run gives the same bytes.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield raw
        raw.flush()
        os.fsync(raw.fileno())
