"""``dbcpu show``: the analysis of a run, or the history up to it."""

from pathlib import Path

import click

from dbcpu.cli import _options as options


@click.command
@options.run_argument
@options.format_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json: the analysis, not the record.")
@options.licence_option("Licence rule to use instead of all that apply. Can be repeated.")
@options.brief_option
@click.option("--history", is_flag=True, help="Show the history of its target up to this run instead.")
@options.newest_option("With --history: of its newest N runs; 0 for all.  [default: 60]")
@options.out_option("With --history: also write history.html, the other formats and the chart there.")
@options.store_option
def command(run: str, form: str, as_json: bool, licences: tuple[str, ...], brief: bool, history: bool,
            limit: int | None, out: Path | None, store: str | None) -> None:  # fmt: skip
    """Show which sessions of RUN were slowed, and why.

    RUN is a run_id, the beginning of one, last, or a .json or .json.gz file.

    \b
    Examples: dbcpu show last
              dbcpu show last --json | jq .verdict
              dbcpu show last --history --out trend
    """
    from dbcpu.workflows.history import history_document
    from dbcpu.workflows.show import run_document
    from dbcpu.workflows.show import show as shown

    if (out or limit is not None) and not history:
        raise click.UsageError("--out and --limit go with --history; dbcpu report RUN writes the files of a run")
    form = "json" if as_json else form
    document = history_document(run, store, limit) if history else run_document(run, store, licences)
    shown(document.brief() if brief else document, form, out)
