"""``dbcpu check``: a run against limits and the history of its target."""

import click

from dbcpu.cli._completion import offering, runs, targets
from dbcpu.cli._options import check_limit_option, json_flag, store_option


@click.command
@click.argument("run", metavar="[RUN]", required=False, shell_complete=offering(runs))
@click.option("--last", is_flag=True, help="Check the newest run; with --target the newest of that target.")
@click.option("--target", metavar="NAME", help="Only with --last.", shell_complete=offering(targets))
@check_limit_option("--slowdown", "Slowdown of the slowest session, up to one session per core.  [default: 1.25]")
@check_limit_option("--max-over-min", "Slowest / fastest session, up to one session per core.  [default: 1.25]")
@check_limit_option("--throughput-drop", "Throughput below the target's history, as a share.  [default: 0.10]")
@check_limit_option("--connect-s", "Seconds to connect, median per level.  [default: 1]")
@check_limit_option("--steal", "CPU steal as a share of CPU time, median of rounds.  [default: 0.05]")
@click.option("--fail-on", type=click.Choice(["violation", "inconclusive"]), default="violation",
              help="Exit code 1 for violations, or for inconclusive figures too.  [default: violation]")  # fmt: skip
@json_flag
@store_option
def command(run: str | None, last: bool, target: str | None, fail_on: str, as_json: bool, store: str | None,
            **given: float) -> int:  # fmt: skip
    """Check RUN against limits and history: prints violations and exits with 1, or is silent. It exits with 4 if the
    host was busy with strangers meanwhile: then these may be the cause, and not the host. A figure that may be noise
    is inconclusive. A limit of 0 switches it off; see [check] in dbcpu.toml.

    Example: dbcpu check --last --target old-box --max-over-min 1.5
    """
    from dbcpu.store import codec
    from dbcpu.workflows import check

    if (run is None) != last or (target and not last):
        raise click.UsageError("give either a RUN, or --last (with --target NAME for the newest of one target)")
    found = check.checked(run, store, target, given, fail_on == "inconclusive")
    click.echo(codec.dumps(found.data()) + "\n" if as_json else "".join(found.lines()), nl=False)
    if found.not_checked and not as_json:
        click.echo(f"dbcpu: {found.not_checked}", err=True)
    return found.exit_code
