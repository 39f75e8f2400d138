"""``dbcpu import``: runs from files."""

import click

from dbcpu.cli._options import store_option


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--samples", metavar="FILE", multiple=True, help="Output of shell/sample-psr during these runs.")
@store_option
def command(files: tuple[str, ...], samples: tuple[str, ...], store: str | None) -> None:
    """Add runs from files to the store.

    FILE is .json or .json.gz, or the output of shell/increment, gzip-pipe, psql-fanout or sqlplus-fanout.
    Prints each run_id. A run that is already in the store is skipped; a different run with the same run_id is refused.

    \b
    Example: dbcpu import old-box.json.gz fanout.lines --samples samples.lines
    """
    from dbcpu.store import line_file, record_file
    from dbcpu.store.database import open_store

    records = [
        line_file.read(file, samples) if line_file.recognises(file) else record_file.read(file) for file in files
    ]
    with open_store(store) as opened:
        for record in records:
            if not opened.save(record):
                click.echo(f"run {record.header.run_id} is already in the store", err=True)
            click.echo(record.header.run_id)
