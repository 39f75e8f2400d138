"""``dbcpu import``: runs from files."""

import click

from dbcpu.cli._options import store_option


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--samples", metavar="FILE", multiple=True, help="What shell/sample-psr wrote on the host meanwhile.")
@store_option
def command(files: tuple[str, ...], samples: tuple[str, ...], store: str | None) -> None:
    """Take runs from FILEs into the store.

    FILE is .json or .json.gz, or what a script of shell/ wrote: increment, gzip-pipe, psql-fanout, sqlplus-fanout.
    Prints each run_id. A run that is there already is left as it is; a different one of the same run_id is refused.

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
                click.echo(f"run {record.header.run_id} was kept already", err=True)
            click.echo(record.header.run_id)
