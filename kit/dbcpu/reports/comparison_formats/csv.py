"""A comparison as CSV: the columns of the form for published measurements, and ratio, low and high.

UTF-8, comma, one header row; unknown is an empty cell. Without the last three columns it can be read again. A text
that a spreadsheet would take for a formula is led by an apostrophe.
"""

import csv
from io import StringIO

from dbcpu.formatting import plain
from dbcpu.reports.document import Sheet

SUFFIX = ".csv"
BINARY = False
COLUMNS = ("label", "configuration", "n", "cpus", "metric", "value", "ratio", "low", "high")
FORMULA_STARTS = tuple("=+-@|%＝＋－＠")  # noqa: RUF001 - wide forms are formulas too in some spreadsheets


def render(sheet: Sheet) -> str:
    """The whole file as text, lines ending with a line feed."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in sheet.lines:
        writer.writerow(_cell(getattr(each, name)) for name in COLUMNS)
    return out.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
