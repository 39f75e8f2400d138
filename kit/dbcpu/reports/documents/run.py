"""One run as a document: the answer, what was measured, levels, slowed sessions, findings; and the page with charts."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dbcpu.analysis.conclusions.advice import advice_words
from dbcpu.analysis.conclusions.headline import Headline, headline
from dbcpu.analysis.conclusions.refusal import refusal
from dbcpu.analysis.conclusions.remedy_commands import with_own_options
from dbcpu.analysis.history.against_earlier_runs import BETTER, WORSE, AgainstHistory
from dbcpu.analysis.results.answer import Outcome
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plain
from dbcpu.record.header import SIMULATED, Header
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Document, FactList, Front, Section
from dbcpu.reports.documents.experiments import experiment_facts, experiment_lines, experiment_tables
from dbcpu.reports.documents.quoted import quoted_tile
from dbcpu.reports.documents.run_page import levels_section, page_sections, slowed_section
from dbcpu.reports.documents.run_sessions import session_rows
from dbcpu.reports.documents.run_summary import measured_lines, of_first_variant
from dbcpu.reports.plain_data import plain_data

WIDTH = 120
EVERY_SESSION = "Does every database session get the same CPU?"
VARIED = "What does each variant change?"
QUESTIONS = {
    "soak": "Do times stay as they are under constant load?",
    "pool": "How many active sessions are enough?",
    "together": "How much do the targets slow each other?",
}
"""Of an experiment."""


def document(record: RunRecord, analysis: Analysis, against: AgainstHistory | None = None) -> Document:
    """The whole document of a run. Its JSON is a contract: names and meanings stay, more may be added.

    ``against``: the runs of its target before it, which it begins with.
    """
    header, summary = record.header, headline(analysis)
    said, tone = summary.headline, summary.kind
    answer = of_first_variant(analysis, analysis.verdict)
    sentences: tuple[str, ...] = (answer,)
    if analysis.variants is not None and not refusal(analysis):
        from dbcpu.analysis.comparison.variant_sentences import (
            variant_sentences,
            variants_headline,
        )  # few runs have them

        said, tone = variants_headline(analysis.variants), Outcome.NEITHER
        sentences = (*variant_sentences(analysis.variants), answer)
    name = plain(header.label or header.run_id)
    simulated = header.database.kind == SIMULATED
    if simulated:
        name += " (simulated)"
    return Document(
        title=f"CPU consistency: {name}",
        name="report",
        verdict=(*([against.sentence] if against else []), answer),
        sections=(*_experiment(analysis), *levels_section(record, analysis), *slowed_section(analysis)),
        data=lambda: _data(record, analysis, against),
        records=lambda: session_rows(record, analysis),
        facts=measured_lines(record, analysis),
        findings=analysis.findings,
        front=Front(
            question=VARIED if analysis.variants is not None else QUESTIONS.get(header.plan.experiment, EVERY_SESSION),
            heading=name,
            headline=f"{said} (simulated)" if simulated else said,
            tone=tone,
            remedy=_remedy(header, analysis, summary),
            sentences=sentences,
            tiles=(
                *(() if refusal(analysis) else experiment_facts(analysis)),
                *quoted_tile(record, analysis),
                *summary.facts,
            ),
            lead=against.sentence if against else "",
            lead_tone=_tone(against) if against else Outcome.NEITHER,
        ),
        make_page=lambda: page_sections(record, analysis, sentences),
        footer=f"dbcpu {header.tool_version}, run {header.run_id}.",
        width=WIDTH,
        file_names={"csv": "sessions", "json": "analysis"},
        run=(record, analysis),
    )


def _tone(against: AgainstHistory) -> Outcome:
    if against.change == WORSE:
        return Outcome.PARTLY if against.strangers else Outcome.BAD
    return Outcome.GOOD if against.change == BETTER else Outcome.NEITHER


def _experiment(analysis: Analysis) -> tuple[Section, ...]:
    """Tables of a soak, a pool or several targets."""
    lines = experiment_lines(analysis)
    facts = (FactList(lines),) if lines else ()
    tables = experiment_tables(analysis)
    return tuple(Section("experiment", table.caption, tables=(table,), facts=facts) for table in tables)


def _remedy(header: Header, analysis: Analysis, summary: Headline) -> str:
    """What helps, with what the variants of this run show that it costs."""
    advice = [replace(each, text=with_own_options(each.text, header)) for each in summary.advice]
    if analysis.variants is None:
        return advice_words(advice)
    from dbcpu.analysis.comparison.measured_remedy import measured_remedy_words  # few runs have variants

    prices = [measured_remedy_words(each.text, analysis.variants) for each in advice]
    parts = zip(advice, prices, strict=True)
    return advice_words([replace(each, text=f"{each.text}; {price}") if price else each for each, price in parts])


def _data(record: RunRecord, analysis: Analysis, against: AgainstHistory | None) -> Mapping[str, Any]:
    """``verdict levels[] sessions[] scaling findings[]`` carry the fields of ``analysis.results``."""
    header, summary = record.header, headline(analysis)
    remedy = _remedy(header, analysis, summary)
    return {
        "run_id": header.run_id,
        "label": header.label,
        "started_at": header.started_at,
        "status": header.status,
        "outcome": {
            "kind": summary.kind,
            "headline": summary.headline,
            "remedy": remedy,
        },
        "against_history": plain_data(against) if against else None,
        **{name: value for name, value in plain_data(analysis).items() if name != "run_id"},
        "findings": [{**plain_data(finding), "level": finding.level.label} for finding in analysis.findings],
    }
