"""``dbcpu simulate``: a run on a simulated host."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from dbcpu.cli._completion import offering, presets
from dbcpu.cli._options import out_option, record_option, report_option, store_option
from dbcpu.cli._simulation_options import simulation_options


@click.command(epilog="Example: dbcpu simulate --cores 8 --threads 2 --steal 0.2 --sessions 1-16; docs/simulating.md")
@click.argument("preset", required=False, shell_complete=offering(presets))
@click.option("--list", "listing", is_flag=True, help="List the presets.")
@simulation_options
@out_option("Write the report, too, into this folder.  [default with --report: reports/<run>]")
@report_option
@record_option
@click.option("--no-save", is_flag=True, help="Do not store the run.")
@store_option
def command(preset: str | None, listing: bool, out: Path | None, formats: tuple[str, ...], json_file: str | None,
            no_save: bool, store: str | None, **given: Any) -> None:  # fmt: skip
    """Simulate a host, PRESET or c4.4xlarge, changed by options; store and show the result like a measured run."""
    from dbcpu import simulator
    from dbcpu.store.database import open_store
    from dbcpu.workflows.show import keep_and_show

    if listing:
        click.echo(simulator.listing())
        return
    record = simulator.simulate_now(preset, **given)
    with nullcontext() if no_save else open_store(store) as opened:
        keep_and_show(record, opened, json_file, out, formats)
