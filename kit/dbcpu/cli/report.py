"""``dbcpu report``: write the report of a run."""

from pathlib import Path

import click

from dbcpu.cli._options import licence_option, run_argument, store_option

FORMATS = ("html", "svg", "png", "markdown", "csv", "json")


@click.command()
@run_argument
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the report.  [default: reports/<run>]")  # fmt: skip
@click.option("--format", "formats", type=click.Choice(FORMATS), multiple=True,
              help="Write only this format; can be repeated.  [default: all]")  # fmt: skip
@licence_option("Licence rule to use instead of all that apply. Can be repeated.")
@store_option
def command(run: str, out: Path | None, formats: tuple[str, ...], licences: tuple[str, ...], store: str | None) -> None:
    """Write the report of RUN: HTML page, charts, Markdown text, sessions as CSV, analysis as JSON.

    RUN is a run_id, the beginning of one, last, or a .json or .json.gz file.

    \b
    Examples: dbcpu report last
              dbcpu report last --format png --format markdown --out ticket-4711
    """
    from dbcpu.reports.write import report_folder, write_report
    from dbcpu.workflows.explain import explained_run

    record, analysis = explained_run(run, store, licences)
    for path in write_report(record, analysis, out or report_folder(record), formats or FORMATS):
        click.echo(path)
