"""The runs of a store as lines: what ``dbcpu list`` prints."""

import click

from dbcpu.config.targets import say_faults
from dbcpu.formatting import UNKNOWN, aligned
from dbcpu.store import codec, database

HEADINGS = ("run", "started (UTC)", "status", "target", "host", "workload", "levels", "rounds", "label")


def list_runs(
    store: str | None, target: str | None, host: str | None, limit: int, *, as_json: bool, with_verdict: bool = False
) -> None:
    """Print them, the newest first, at most ``limit`` (0: all), and what is wrong in dbcpu.toml.

    ``with_verdict``: the runs that are listed are explained, and their answers shown. Raises StoreError.
    """
    say_faults()
    most = limit + 1 if limit else None
    with database.open_store(store, create=False) as opened:
        found = opened.list(most, target, host)
        runs = found[:limit] if limit else found
        words = None
        if with_verdict:
            from dbcpu.workflows.list_verdicts import verdicts  # the analysis: a list without it starts faster

            words = verdicts(opened, runs)
    if as_json:
        beside = [{"verdict": words[r.run_id] or None} if words is not None else {} for r in runs]
        click.echo(codec.dumps([codec.encode(each) | own for each, own in zip(runs, beside, strict=True)]))
        return
    lines = [
        (r.run_id, r.started_at[:19].replace("T", " "), r.status, r.target, r.hostname,
         *([words[r.run_id] or UNKNOWN] if words is not None else []),
         f"{r.workload} {r.size}", r.levels, str(r.rounds), r.label) for r in runs
    ]  # fmt: skip
    headings = HEADINGS if words is None else (*HEADINGS[:5], "verdict", *HEADINGS[5:])
    click.echo("\n".join(aligned(headings, lines)) if lines else "no run is kept yet", err=not lines)
    if len(found) > len(runs):
        click.echo(f"only the newest {limit} are shown; --limit 0 shows all", err=True)
