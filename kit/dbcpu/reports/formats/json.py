"""The analysis as JSON: names and meanings are a contract (design: the record's JSON names), more may be added.

``verdict levels[] sessions[] scaling findings[]`` carry the fields of ``analysis.base``; a finding's level is
its word. Unknown is null; there is no NaN. Seconds and ratios are rounded to six decimals.
"""

import json
from dataclasses import asdict
from typing import Any

from dbcpu.analysis.results.run import Analysis
from dbcpu.record import RunRecord

SUFFIX = ".json"
BINARY = False
SCHEMA = 1
DECIMALS = 6


def render(record: RunRecord, analysis: Analysis) -> str:
    """One JSON object, indented, ending with a newline."""
    header = record.header
    document = {
        "schema": SCHEMA,
        "run_id": header.run_id,
        "label": header.label,
        "started_at": header.started_at,
        "status": header.status,
        **{name: value for name, value in asdict(analysis).items() if name != "run_id"},
    }
    document["findings"] = [{**asdict(each), "level": each.level.label} for each in analysis.findings]
    return json.dumps(_rounded(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return value
