"""``dbcpu compare``: runs against a baseline, or published measurements."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._options import FORMS, licence_option, store_option


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(FORMS), default="table", show_default=True, help="Output format.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Also write the comparison in all formats and the charts there.")  # fmt: skip
@click.option("--size-for", "busy", type=click.IntRange(1, 100_000), metavar="CORES",
              help="Sizing: what the load of CORES busy cores of the first run needs on the other hosts.")  # fmt: skip
@click.option("--ratio", type=click.FloatRange(1.0, 10.0), metavar="X", default=1.1, show_default=True,
              help="Sizing: largest slowest / fastest ratio that counts as even.")  # fmt: skip
@licence_option("Licence rule; NAME=RULE for one of the runs. Can be repeated.")
@click.option("--rank-by", type=click.Choice(("vcpu", "core", "licence", "money")),
              help="Order of the ranking.  [default: licence if every run has a rule, else vcpu]")  # fmt: skip
@click.option("--aa", metavar="RUN", help="A/A run that sets the smallest difference to report.")
@click.option("--baseline", metavar="NAME", help="Published data: label or configuration to use as the baseline.")
@store_option
def command(runs: tuple[str, ...], form: str, out: Path | None, baseline: str | None, **given: Any) -> None:
    """Compare each RUN with the first. RUN is [NAME=]RUN[:VARIANT], or a .csv file of published measurements.

    \b
    Examples: dbcpu compare old-box.json.gz last --size-for 12 --licence oracle-cloud-ee
              dbcpu compare reports/examples/published/numa-policies.csv --out pictures
    """
    from dbcpu import registry
    from dbcpu.workflows import compare

    published = compare.are_published(runs)
    sheet = compare.published_sheet(runs, baseline) if published else compare.comparison_sheet(runs, **given)
    click.echo(registry.load("reports.comparison_formats", form).render(sheet).rstrip("\n"))
    for path in compare.write_sheet(sheet, out) if out else ():
        click.echo(path, err=True)
