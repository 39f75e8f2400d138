"""``dbcpu export``: write a run to a file."""

from pathlib import Path

import click

from dbcpu.cli._options import run_argument, store_option


@click.command(short_help="Write the record of a run to a file.")
@run_argument
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--anonymise", is_flag=True, help="Replace names of hosts, users, databases, groups and processes.")
@store_option
def command(run: str, file: str, force: bool, anonymise: bool, store: str | None) -> None:
    """Write the record of RUN to FILE (.json, or .json.gz for compression; - is standard output).

    \b
    Example: dbcpu export last before-upgrade.json.gz
    """
    from dbcpu.config.drafts import is_descriptor
    from dbcpu.store import anonymise as names
    from dbcpu.store import record_file
    from dbcpu.store.database import open_store

    if file != "-" and Path(file).is_file() and not force and not is_descriptor(Path(file)):
        raise click.UsageError(f"{file} exists already; give another name, or --force to replace it")
    if record_file.is_file_name(run):
        record = record_file.read(run)
        record_file.write_record(file, names.anonymised(record) if anonymise else record)
        return
    with open_store(store, create=False) as opened:
        if anonymise:
            record_file.write_record(file, names.anonymised(opened.load(run)))
        else:
            header = opened.header(run)
            record_file.write(file, header, opened.rounds(header.run_id))
