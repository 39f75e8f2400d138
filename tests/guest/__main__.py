"""``python -m guest``: run an experiment in the emulated guest and keep what it brought."""

import sys
import time
from pathlib import Path

import click

from dbcpu.store import record_file
from guest.emulated import Result, Shape, why_not
from guest.experiment import (
    COUNTED,
    EXECUTIONS,
    RESULT,
    UNDONE,
    builder,
    kit,
    kit_complaints,
    measure,
    not_undone,
    undo,
    vary,
)
from guest.two_nodes import TOLD, complaints, nodes


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where the record goes.")
@click.option("--hidden", is_flag=True, help="The same pinning, but the guest is not told of its siblings.")
@click.option("--smt-off", is_flag=True, help="The guest switches SMT off before it measures.")
@click.option("--vary", "varied", is_flag=True, help="As it is, SMT off, one per core, spread and pack, in turns.")
@click.option("--undo", "undone", is_flag=True, help="Kill a driver at every step of switching SMT off.")
@click.option("--kit", "by_kit", is_flag=True, help="The shell kit: SMT off and back, topology, capture, N shells.")
@click.option("--nodes", "noded", is_flag=True, help="Two memory nodes: memory policies, and interrupts moved.")
@click.option("--sessions", default="1-4", show_default=True, help="Levels of --vary.")
@click.option(
    "--executions", default=EXECUTIONS, show_default=True, help="Of each session, but for --vary; 64: witness."
)
@click.option("--repeats", default=5, show_default=True, help="Rounds of each level and variant of --vary.")
def main(
    out: Path, hidden: bool, smt_off: bool, varied: bool, undone: bool, by_kit: bool, noded: bool, sessions: str,
    executions: int, repeats: int,
) -> None:  # fmt: skip
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
    label = f"emulated SMT: siblings share one CPU{hint}"
    if undone:
        keep(undo(made), UNDONE, out, began_s)
        wrong = not_undone(out.read_text())
        sys.exit("\n".join(["not as before:", *wrong]) if wrong else 0)
    if by_kit:
        result = kit(made)
        keep(result, COUNTED, out, began_s)
        wrong = kit_complaints(result)
        sys.exit("\n".join(["not as it should be:", *wrong]) if wrong else 0)
    if noded:
        result = nodes(made)
        keep(result, RESULT, out, began_s)
        told = result.files[TOLD].decode()
        out.with_name(out.name.partition(".")[0] + ".txt").write_text(told)
        wrong = complaints(record_file.read(out), told)
        sys.exit("\n".join(["not as it should be:", *wrong]) if wrong else 0)
    result = (
        vary(made, label, sessions, repeats)
        if varied
        else measure(made, Shape(told=not hidden), label, smt_off, executions)
    )
    keep(result, RESULT, out, began_s)


def keep(result: Result, name: str, out: Path, began_s: float) -> None:
    """Write the file that came back, or say what happened and leave."""
    click.echo(result.output)
    if name not in result.files:
        click.echo(result.console[-2000:], err=True)
        sys.exit(3)
    out.write_bytes(result.files[name])
    click.echo(f"{out}: {len(result.files[name])} bytes, after {time.monotonic() - began_s:.0f} s", err=True)


if __name__ == "__main__":
    main()
