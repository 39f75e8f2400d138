"""A document as files in a folder: a page, pictures, a text for a ticket, rows as CSV and data as JSON."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbcpu.config.written_files import folder_for_files, replace_files
from dbcpu.errors import PlugInError, StoreError, UnknownName
from dbcpu.formatting import encodable
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.formats.base import FormatModule, format_names, load_format, rendered

if TYPE_CHECKING:
    from dbcpu.reports.document import Document

PICTURES = ("svg", "png")
NO_REPORT = "none"
"""In place of a format: write nothing."""


def report_folder(record: RunRecord) -> Path:
    """``reports/<run_id>`` below the current folder; an imported run_id cannot lead out of it."""
    name = re.sub(r"[^\w.-]+", "_", record.header.run_id).lstrip(".")
    return Path("reports") / (name or "run")


def write_document(document: "Document", folder: Path, formats: Iterable[str] = ()) -> tuple[Path, ...]:
    """Write it into ``folder``, which is made if need be; files of the same names are replaced, all or none.

    ``formats`` may be pictures (``svg``, ``png``) too; by default both and every format that is usual in a folder.

    Returns:
        The files written, pictures first.

    Raises:
        UnknownName: a format that there is not.
        UsageError: a format is not for such a document.
        StoreError: a file could not be written.
        UntrustedFile: the way to the folder leads through a link of another user.
    """
    members, forms = _chosen(tuple(formats))
    try:
        with folder_for_files(folder):
            files = _files(document, members, forms, all_wanted=bool(formats))
            return replace_files((folder / name, content) for name, content in files)
    except OSError as error:
        where = error.filename or folder
        raise StoreError(
            f"the {document.name} could not be written to {where}: {error.strerror}; none of its files was changed; "
            "give another folder with --out"
        ) from None


def _chosen(formats: Sequence[str]) -> tuple[Mapping[str, FormatModule], Sequence[str]]:
    known = tuple(sorted((*format_names(), *PICTURES)))
    for form in formats:
        if form not in known:
            raise UnknownName("report format", form, known)
    if not formats:
        return dict(_usual()), PICTURES
    members = {form: load_format(form) for form in formats if form not in PICTURES}
    return members, [form for form in PICTURES if form in formats]


def _usual() -> Iterator[tuple[str, FormatModule]]:
    """The formats that a folder has by default; one of a package that cannot be used is named and left out."""
    for name in format_names():
        try:
            member = load_format(name)
        except PlugInError as error:
            _say_left_out(error)
            continue
        if member.IN_FOLDER:
            yield name, member


def _say_left_out(error: PlugInError) -> None:
    sys.stderr.write(f"dbcpu: {error}\n")


def _files(
    document: "Document", members: Mapping[str, FormatModule], forms: Sequence[str], *, all_wanted: bool
) -> Iterator[tuple[str, bytes]]:
    """``all_wanted``: a format that fails ends it; else one of a package is named and left out."""
    pictures: Mapping[str, bytes] = {}
    if forms:
        from dbcpu.reports import charts  # matplotlib is loaded for pictures only

        drawn = charts.drawn(document.charts, forms, with_empty=True)
        pictures = drawn.get("svg", {})
        for form, made in drawn.items():
            for name, picture in made.items():
                yield f"{name}.{form}", picture
    for form, member in members.items():
        try:
            content = rendered(form, member, document, pictures)
        except PlugInError as error:
            if all_wanted:
                raise
            _say_left_out(error)
            continue
        name = document.file_names.get(form, document.name) + member.SUFFIX
        yield name, content if isinstance(content, bytes) else encodable(content).encode("utf-8")
