"""``dbcpu report``: write the report of a run."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._option_values import Format
from dbcpu.cli._options import licence_option, out_option, run_argument, store_option


@click.command
@run_argument
@out_option("Folder of the report.  [default: reports/<run>]")
@click.option("--format", "formats", type=Format(pictures=True), multiple=True,
              help="Write only this format; can be repeated.  [default: all but metrics]")  # fmt: skip
@click.option("--round", "drawn", metavar="N[:ROUND]",
              help="Draw this round: its sessions, or sessions:round.  [default: of the most uneven N]")  # fmt: skip
@licence_option("Licence rule to use instead of all that apply. Can be repeated.")
@store_option
def command(run: str, out: Path | None, formats: tuple[str, ...], store: str | None, **given: Any) -> None:
    """Write the report of RUN: HTML page, charts, Markdown text, sessions as CSV, analysis as JSON.

    RUN is a run_id, the beginning of one, last, or a .json or .json.gz file.

    \b
    Examples: dbcpu report last
              dbcpu report last --format png --format markdown --out ticket-4711
              dbcpu report last --round 8 --out eight-sessions
    """
    from dbcpu.analysis.levels.representative_round import with_round
    from dbcpu.reports.documents import run as of_run
    from dbcpu.reports.write import report_folder, write_document
    from dbcpu.workflows.explain import explained_run

    record, analysis, against = explained_run(run, store, given["licences"])
    analysis = with_round(analysis, given["drawn"]) if given["drawn"] else analysis
    for path in write_document(of_run.document(record, analysis, against), out or report_folder(record), formats):
        click.echo(path)
