"""The runs of a store as lines: what ``dbcpu list`` prints."""

import click

from dbcpu.config.targets import say_faults
from dbcpu.formatting import aligned
from dbcpu.store import codec, database

HEADINGS = ("run", "started (UTC)", "status", "target", "host", "workload", "levels", "rounds", "label")


def list_runs(store: str | None, target: str | None, host: str | None, limit: int, *, as_json: bool) -> None:
    """Print them, the newest first, at most ``limit`` (0: all), and what is wrong in dbcpu.toml. Raises StoreError."""
    say_faults()
    most = limit + 1 if limit else None
    with database.open_store(store, create=False) as opened:
        found = opened.list(most, target, host)
    runs = found[:limit] if limit else found
    if as_json:
        click.echo(codec.dumps([codec.encode(each) for each in runs]))
        return
    lines = [
        (r.run_id, r.started_at[:19].replace("T", " "), r.status, r.target, r.hostname, f"{r.workload} {r.size}",
         r.levels, str(r.rounds), r.label) for r in runs
    ]  # fmt: skip
    click.echo("\n".join(aligned(HEADINGS, lines)) if lines else "no run is kept yet", err=not lines)
    if len(found) > len(runs):
        click.echo(f"only the newest {limit} are shown; --limit 0 shows all", err=True)
