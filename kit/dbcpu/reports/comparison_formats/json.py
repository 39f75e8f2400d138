"""A comparison as JSON: the fields of ``analysis.comparison``, ``sizing`` or ``published``; more may be added."""

import json
from datetime import date
from typing import Any

from dbcpu.reports.document import Sheet

SUFFIX = ".json"
BINARY = False
SCHEMA = 1
DECIMALS = 6


def render(sheet: Sheet) -> str:
    """One JSON object, indented, ending with a newline; unknown is null, there is no NaN."""
    document = {"schema": SCHEMA, "title": sheet.title, "verdict": sheet.verdict, **sheet.data, "notes": sheet.notes}
    return json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
