"""``dbcpu list``: the runs in the store."""

import click

from dbcpu.cli.options import json_flag, store_option

_HEADINGS = ("run", "started (UTC)", "status", "target", "host", "workload", "levels", "rounds", "label")


@click.command()
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="At most so many; 0 for all.")
@click.option("--target", metavar="NAME", help="Only runs of this target.")
@json_flag
@store_option
def command(limit: int, target: str | None, as_json: bool, store: str | None) -> None:
    """List the runs that are kept, newest first.

    \b
    Example: dbcpu list --target embedded --limit 5
    """
    from dbcpu.columns import aligned
    from dbcpu.store import codec
    from dbcpu.store.database import open_store

    with open_store(store, create=False) as opened:
        found = opened.list(limit + 1 if limit else None, target)
    runs = found[:limit] if limit else found
    if as_json:
        click.echo(codec.dumps([codec.encode(each) for each in runs]))
        return
    lines = [
        (r.run_id, r.started_at[:19].replace("T", " "), r.status, r.target, r.hostname, f"{r.workload} {r.size}",
         r.levels, str(r.rounds), r.label) for r in runs
    ]  # fmt: skip
    click.echo("\n".join(aligned(_HEADINGS, lines)) if lines else "no run is kept yet", err=not lines)
    if len(found) > len(runs):
        click.echo(f"only the newest {limit} are shown; --limit 0 shows all", err=True)
