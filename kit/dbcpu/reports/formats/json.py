"""A document as JSON for programs: names and meanings are a contract, more may be added.

Of a run: ``verdict levels[] sessions[] scaling findings[]``, the fields of ``analysis.results``. Unknown is null; there
is no NaN. Numbers are rounded to six decimals.
"""

import json
from datetime import date
from io import StringIO
from typing import Any

from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".json"
BINARY = False
IN_FOLDER = True
SCHEMA = 1
DECIMALS = 6


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """One JSON object, indented, ending with a newline."""
    data, out = _simple({"schema": SCHEMA, **document.data()}), StringIO()
    # Not dumps: its list of all the small parts takes several times the memory of the text.
    json.dump(data, out, indent=1, ensure_ascii=False, allow_nan=False)
    return out.getvalue() + "\n"


def _simple(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _simple(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(part) for part in value]
    return value
