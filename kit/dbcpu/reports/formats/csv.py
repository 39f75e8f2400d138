"""The records of a document as CSV, one row per thing measured, for spreadsheets and statistics programs.

UTF-8, comma, one header row; unknown is an empty cell. A text that a spreadsheet would take for a formula is led by an
apostrophe, so that no label or command runs there.
"""

import csv
from io import StringIO
from typing import Any

from dbcpu.formatting import plain
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".csv"
BINARY = False
IN_FOLDER = True
FORMULA_STARTS = tuple("=+-@|%＝＋－＠")  # noqa: RUF001 - wide forms are formulas too in some spreadsheets


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """The whole file as text, lines ending with a line feed."""
    table = document.records()
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.key for column in table.columns)
    for row in table.rows:
        writer.writerow(_cell(column.of(row), table.decimals) for column in table.columns)
    return out.getvalue()


def _cell(value: Any, decimals: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, decimals)
    if isinstance(value, int):
        return str(value)
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
