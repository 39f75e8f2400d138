"""``dbcpu show``: one run, explained."""

import sys

import click

from dbcpu.cli.options import FORMS, run_argument, store_option


@click.command()
@run_argument
@click.option("--format", "form", type=click.Choice([*FORMS, "metrics"]), default="table",
              show_default=True, help="How it is shown.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: the analysis, not the record.")
@store_option
def command(run: str, form: str, as_json: bool, store: str | None) -> None:
    """Show who got less CPU in RUN, and why.

    RUN is a run_id, the beginning of one, last, or a .json or .json.gz file.

    \b
    Examples: dbcpu show last
              dbcpu show last --json | jq .verdict
    """
    from dbcpu import registry
    from dbcpu.present import explained

    record, analysis = explained(run, store)
    renderer = registry.load("renderers", "json" if as_json else form)
    if hasattr(renderer, "show") and sys.stdout.isatty():
        from rich.console import Console

        renderer.show(record, analysis, Console())
    else:
        click.echo(renderer.render(record, analysis).rstrip("\n"))
