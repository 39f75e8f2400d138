"""The two example runs, each explained, drawn and rendered once per process: that is most of the time of many tests."""

from collections.abc import Mapping
from functools import cache

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.document import Document
from dbcpu.reports.documents import run as of_run
from dbcpu.reports.formats import html
from support.builders.example import nine_on_eight, three_on_two

RUNS: Mapping[str, RunRecord] = {"three_on_two": three_on_two(), "nine_on_eight": nine_on_eight()}


@cache
def analysis_of(name: str) -> Analysis:
    return explain(RUNS[name])


@cache
def document_of(name: str) -> Document:
    return of_run.document(RUNS[name], analysis_of(name))


@cache
def page_of(name: str) -> str:
    return html.render(document_of(name))


@cache
def pictures_of(name: str) -> Mapping[str, bytes]:
    """As SVG, also those without data."""
    return charts.drawn(document_of(name).charts, ["svg"], with_empty=True)["svg"]
