"""``dbcpu simulate``: a run on a simulated host."""

from typing import Any

import click

from dbcpu.cli._options import Duration, store_option


@click.command(epilog="Example: dbcpu simulate 2x20x2 --sessions 1,40,41,80 --scheduler sticky")
@click.argument("preset", default="c4.4xlarge")
@click.option("--list", "listing", is_flag=True, help="List the presets.")
@click.option("--sessions", default="auto", metavar="N", help="Concurrency levels, as for run.  [default: auto]")
@click.option("--size", default="medium", show_default=True, metavar="NAME", help="tiny, short, medium, long or seed.")
@click.option("--executions", type=click.IntRange(1, 10_000), metavar="N", help="Executions per session. [default: 1]")
@click.option("--seconds", type=Duration(), metavar="TIME", help="As many executions as one session does in TIME.")
@click.option("--for", "for_s", type=Duration(), metavar="TIME", help="Fixed time: executions start until then.")
@click.option("--repeats", type=click.IntRange(1, 1000), default=5, show_default=True, metavar="N", help="Per level.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Random seed.")
@click.option("--variants", metavar="LIST", help="baseline,smt_off: alternate both; then: dbcpu compare RUN.")
@click.option("--scheduler", metavar="NAME", help="frozen, sticky, rotating or smt_balancing instead of the preset's.")
@click.option("--json", "json_file", metavar="FILE", help="Write the record to FILE; - is standard output, no table.")
@click.option("--no-save", is_flag=True, help="Do not store the run.")
@store_option
def command(preset: str, listing: bool, json_file: str | None, no_save: bool, store: str | None, **given: Any) -> None:
    """Simulate the host PRESET, and store and show the result like a measured run."""
    from dbcpu import simulator
    from dbcpu.store import database, record_file
    from dbcpu.workflows.show import print_document, record_document

    if listing:
        click.echo(simulator.listing())
        return
    record = simulator.simulate_now(preset, **given)
    if not no_save:
        database.keep(record, store)
    if json_file:
        record_file.write_record(json_file, record)
    if json_file != "-":
        print_document(record_document(record))
