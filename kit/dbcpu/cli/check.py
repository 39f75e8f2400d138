"""``dbcpu check``: is a run as it should be? Silent when it is."""

import click

from dbcpu.cli._options import json_flag, limit_option, store_option


@click.command()
@click.argument("run", metavar="RUN", required=False)
@click.option("--last", is_flag=True, help="The newest run; with --target the newest of that target.")
@click.option("--target", metavar="NAME", help="Only with --last.")
@limit_option("--slowdown", "Of the slowest session over one alone, where each has a core.  [default: 1.25]")
@limit_option("--max-over-min", "Slowest over fastest session, where each has a core.  [default: 1.25]")
@limit_option("--throughput-drop", "Share below the target's own history.  [default: 0.10]")
@limit_option("--connect-s", "Seconds to connect, median of a level.  [default: 1]")
@limit_option("--steal", "Stolen share of the CPU time, median of rounds.  [default: 0.05]")
@json_flag
@store_option
def command(run: str | None, last: bool, target: str | None, as_json: bool, store: str | None, **given: float) -> int:
    """Hold RUN against limits and the history of its target: a line per violation, and exit code 1; else nothing.

    A limit of 0 switches it off; dbcpu.toml can set all of them in [check].

    \b
    Examples: dbcpu check --last --target old-box
              dbcpu check 20260105 --max-over-min 1.5
    """
    from dbcpu.store import codec
    from dbcpu.workflows import check

    if (run is None) != last or (target and not last):
        raise click.UsageError("give either a RUN, or --last (with --target NAME for the newest of one target)")
    record, found = check.violations(run, store, target, given)
    if as_json:
        click.echo(codec.dumps({"run_id": record.header.run_id, "violations": [codec.encode(each) for each in found]}))
    else:
        for each in found:
            click.echo(f"{record.header.plan.target} {record.header.run_id}: {each.text}")
    return int(bool(found))
