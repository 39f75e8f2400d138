"""``dbcpu import``: runs from files."""

from typing import Any

import click

from dbcpu.cli._options import facts_options, store_option


@click.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--samples", metavar="FILE", multiple=True, help="Output of shell/sample-psr during these runs.")
@facts_options
@store_option
def command(files: tuple[str, ...], samples: tuple[str, ...], store: str | None, **facts: Any) -> None:
    """Add runs from files to the store.

    FILE is .json or .json.gz, the output of shell/increment, gzip-pipe, psql-fanout or sqlplus-fanout, or CSV with
    the columns n,repeat,session,seconds or n,repeat,rate, or a log of cputoolkit or of the gzip test of 2017
    (docs/published.md); options say what such a file does not. Prints each run_id; a run that is stored is skipped.

    \b
    Example: dbcpu import fanout.lines --samples samples.lines
             dbcpu import loops.csv --cpus 16 --cores 8 --unit loops/s
    """
    from dbcpu.store.database import open_store
    from dbcpu.store.imported_csv import RunFacts
    from dbcpu.workflows.import_runs import read_runs
    from dbcpu.workflows.kept_figures import keep_run

    found = read_runs(files, samples, RunFacts(**facts))
    with open_store(store) as opened:
        for record, warning in found:
            if warning:
                click.echo(f"warning: {warning}", err=True)
            if not keep_run(opened, record):
                click.echo(f"run {record.header.run_id} is already in the store", err=True)
            click.echo(record.header.run_id)
