"""One self-contained HTML file: verdict, pictures with their numbers as tables, findings, checks, environment.

It asks the network for nothing, which its content security policy enforces, and has no script. Every text is
escaped by the templates; pictures are inline SVG on a light card, so that they are read in dark mode and on paper.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dbcpu import registry
from dbcpu.analysis.checks.headline import answer
from dbcpu.analysis.checks.passed_checks import assurances
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plain
from dbcpu.record import RunRecord
from dbcpu.reports.documents.environment import environment_tables
from dbcpu.reports.documents.run import head, summary
from dbcpu.reports.documents.run_sections import sections
from dbcpu.reports.documents.run_tables import levels_table, losers_table
from dbcpu.reports.formats.html.inline import inline

SUFFIX = ".html"
BINARY = False
_BACKTICKED = re.compile(r"`([^`]+)`")


def render(record: RunRecord, analysis: Analysis) -> str:
    """The whole page."""
    return page(record, analysis, registry.load("reports", "charts").pictures_with_data(record, analysis, "svg"))


def page(record: RunRecord, analysis: Analysis, wide: Mapping[str, bytes]) -> str:
    """The same, where the run's SVG pictures with data have been drawn already."""
    narrow = registry.load("reports", "charts").pictures_with_data(record, analysis, "svg", for_phone=True)
    shown = sections(record, analysis)
    pictures = {
        each.name: (
            inline(wide[each.name].decode("utf-8"), f"{each.name}-wide", each.title),
            inline(narrow[each.name].decode("utf-8"), f"{each.name}-narrow", each.title),
        )
        for each in shown
        if each.name in wide
    }
    return (
        _templates()
        .get_template("report.html")
        .render(
            title=plain(record.header.label or record.header.run_id),
            header=record.header,
            analysis=analysis,
            answer=answer(analysis),
            head=head(record, analysis),
            levels=levels_table(analysis),
            summary=summary(record, analysis),
            losers=losers_table(analysis),
            sections=shown,
            pictures=pictures,
            assurances=assurances(record, analysis),
            environment=environment_tables(record),
            sql=record.header.plan.workload.sql.strip(),
        )
    )


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["code"] = with_code
    return made


def with_code(text: str) -> Markup:
    """Words between backticks as ``code``; everything is escaped first."""
    return Markup(_BACKTICKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped
