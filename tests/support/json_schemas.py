"""docs/schema: JSON Schemas of the record and of the analysis of a run, made from the classes that hold them."""

import json
import sys
from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Any

import msgspec

from dbcpu.analysis.history.against_earlier_runs import BETTER, NOT_SHOWN, WORSE, AgainstHistory
from dbcpu.analysis.results.run import Analysis, Words
from dbcpu.record.finding_entry import Level
from dbcpu.record.header import SCHEMA, Header
from dbcpu.record.rounds import Round
from dbcpu.reports.formats import json as json_format
from dbcpu.store.codec import RUN_ID, STATUSES

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT = {"type": "string"}


def record_schema() -> Schema:
    """Of a record file: the header's fields and ``rounds`` in one object."""
    header, parts = _parts(Header, Round)
    members = header["properties"] | {"rounds": {"type": "array", "items": {"$ref": "#/$defs/Round"}}}
    members["schema"] = {"const": SCHEMA, "description": "version of the form"}
    members["status"] = {"enum": list(STATUSES)}
    members["run_id"] = TEXT | {"pattern": f"^{RUN_ID.pattern}$"}
    about = "A run of dbcpu as it was measured: what `dbcpu export RUN FILE.json` writes. docs/record.md explains it."
    return _whole("record", SCHEMA, about, members, [*header["required"], "schema", "rounds"], parts)


def analysis_schema() -> Schema:
    """Of what ``dbcpu show RUN --json`` prints for a run."""
    analysis, parts = _parts(Analysis)
    parts["Finding"]["properties"]["level"] = {"enum": [each.label for each in Level]}
    del parts["Level"]
    outcome: Schema = {
        "description": "The short answer; kind is '' for a soak or a pool, which answer another question.",
        "type": "object",
        "properties": {"kind": {"enum": ["good", "partly", "bad", "unknown", ""]}, "headline": TEXT, "remedy": TEXT},
        "required": ["kind", "headline", "remedy"],
    }
    of_header = {"label": TEXT, "started_at": TEXT, "status": {"enum": list(STATUSES)}}
    version: Schema = {"const": json_format.SCHEMA, "description": "version of the form"}
    history, _ = _parts(AgainstHistory)
    history["properties"]["change"] = {"enum": [WORSE, BETTER, NOT_SHOWN]}
    against = {"anyOf": [history, {"type": "null"}]}
    members = {
        "schema": version, "outcome": outcome, "against_history": against, **of_header, **analysis["properties"]
    }  # fmt: skip
    required = ["schema", "outcome", *of_header, *analysis["required"]]
    about = f"The analysis of a run: what `dbcpu show RUN --json` prints. {analysis['description']}"
    return _whole("analysis", json_format.SCHEMA, about, members, required, parts)


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    f"record-{SCHEMA}": record_schema,
    f"analysis-{json_format.SCHEMA}": analysis_schema,
}
"""By the name of the file in docs/schema, without its suffix."""


def text_of(schema: Schema) -> str:
    """As it is committed."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def closed(schema: Any) -> Any:
    """The same, with no other members than those that are named: what is written today has no more."""
    if isinstance(schema, dict):
        made = {name: closed(part) for name, part in schema.items()}
        return made | {"additionalProperties": False} if "properties" in schema else made
    return [closed(part) for part in schema] if isinstance(schema, list) else schema


def _parts(first: type, *others: type) -> tuple[Schema, dict[str, Schema]]:
    """The schema of the first, and of all others that occur in these."""
    _, parts = msgspec.json.schema_components((first, *others), schema_hook=_own, ref_template="#/$defs/{name}")
    plain: dict[str, Schema] = {name: _tidy(part) for name, part in parts.items()}
    return plain.pop(first.__name__), plain


def _own(kind: type) -> Schema:
    """Of a type of dbcpu's own: the evidence of a session is a text, made when it is read."""
    if kind is not Words:
        raise NotImplementedError(kind)
    return TEXT


def _tidy(part: Any) -> Any:
    """Docstrings without their indentation, and no limits of a float that every number of JSON keeps anyway."""
    if isinstance(part, dict):
        kept = {name: _tidy(inner) for name, inner in part.items()}
        if isinstance(kept.get("description"), str):
            kept["description"] = cleandoc(kept["description"])
        if kept.get("maximum") == sys.float_info.max:
            del kept["minimum"], kept["maximum"]
        return kept
    return [_tidy(inner) for inner in part] if isinstance(part, list) else part


def _whole(
    name: str, version: int, about: str, members: Schema, required: list[str], parts: dict[str, Schema]
) -> Schema:  # fmt: skip
    return {
        "$schema": DIALECT,
        "$id": f"urn:dbcpu:{name}:{version}",
        "title": f"dbcpu {name}, schema {version}",
        "description": about,
        "type": "object",
        "properties": members,
        "required": required,
        "$defs": dict(sorted(parts.items())),
    }
