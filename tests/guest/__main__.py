"""``python -m guest``: run the experiment in the emulated guest and keep its record."""

import sys
import time
from pathlib import Path

import click

from guest.emulated import Shape, why_not
from guest.experiment import RESULT, builder, measure


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where the record goes.")
@click.option("--hidden", is_flag=True, help="The same pinning, but the guest is not told of its siblings.")
@click.option("--smt-off", is_flag=True, help="The guest switches SMT off before it measures.")
def main(out: Path, hidden: bool, smt_off: bool) -> None:
    """Measure 1 to 4 sessions on 2 cores x 2 threads of emulated SMT (siblings share one CPU)."""
    reason = why_not()
    if reason:
        raise click.ClickException(reason)
    made = builder()
    click.echo(f"building in {made.folder} (once)", err=True)
    made.build()
    click.echo("measuring: some minutes", err=True)
    began_s = time.monotonic()
    hint = ", the guest is not told" if hidden else ", switched off" if smt_off else ""
    result = measure(made, Shape(told=not hidden), f"emulated SMT: siblings share one CPU{hint}", smt_off)
    click.echo(result.output)
    if RESULT not in result.files:
        click.echo(result.console[-2000:], err=True)
        sys.exit(3)
    out.write_bytes(result.files[RESULT])
    click.echo(f"{out}: {len(result.files[RESULT])} bytes, after {time.monotonic() - began_s:.0f} s", err=True)


if __name__ == "__main__":
    main()
