"""A form in which an analysed run is shown. A renderer writes what it is given; it computes nothing.

A member module offers ``SUFFIX`` (``.md``), ``BINARY`` and ``render(record, analysis) -> str | bytes``;
``chart`` has several pictures and offers ``pictures(record, analysis, form) -> Mapping[name, bytes]`` as well.
All members take their numbers from ``Analysis``, so that all formats agree.
"""

from typing import Protocol

from dbcpu.analysis.base import Analysis
from dbcpu.record import RunRecord


class Renderer(Protocol):
    """What a member module looks like."""

    SUFFIX: str
    BINARY: bool

    def render(self, record: RunRecord, analysis: Analysis) -> str | bytes: ...
