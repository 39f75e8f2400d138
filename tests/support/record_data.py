"""Runs as their files hold them."""

import json
from typing import Any

from dbcpu.record.rounds import RunRecord
from dbcpu.store import codec


def text_of(record: RunRecord) -> str:
    """The text of its file."""
    return "".join(codec.json_pieces(record.header, record.rounds))


def data_of(record: RunRecord) -> Any:
    """The same, parsed: what a test may change and read again."""
    return json.loads(text_of(record))
