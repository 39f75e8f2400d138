"""``dbcpu compare``: runs against a baseline, or published measurements."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._completion import offering, runs
from dbcpu.cli._option_values import Number
from dbcpu.cli._options import format_option, licence_option, out_option, shape_options, store_option


@click.command
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=offering(runs))
@format_option
@out_option("Also write comparison.html, the other formats and the charts there.")
@click.option("--size-for", "busy", type=click.IntRange(1, 100_000), metavar="CORES",
              help="Sizing: what the load of CORES busy cores of the first run needs on the other hosts.")  # fmt: skip
@click.option("--ratio", type=Number(1.0, 10.0), metavar="X", default=1.1, show_default=True,
              help="Sizing: largest slowest / fastest ratio that counts as even.")  # fmt: skip
@shape_options
@licence_option("Licence rule; NAME=RULE for one of the runs. Can be repeated.")
@click.option("--rank-by", type=click.Choice(("vcpu", "core", "licence", "money")),
              help="Order of the ranking.  [default: licence if every run has a rule, else vcpu]")  # fmt: skip
@click.option("--aa", metavar="RUN", help="A/A run: the smallest difference to report, within one sitting.")
@click.option("--levels-per", type=click.Choice(("session", "core", "vcpu")), help="Compare at equal N, or N per unit.")
@click.option("--baseline", metavar="NAME", help="Published data: label or configuration to use as the baseline.")
@store_option
def command(runs: tuple[str, ...], form: str, out: Path | None, baseline: str | None, **given: Any) -> None:
    """Compare each RUN with the first. RUN is [NAME=]RUN[:VARIANT]; a .csv file may be a run or published measurements.
    Several runs a side show what changes between runs: RUN,RUN,RUN,RUN, or label:TEXT for all of a label.

    \b
    Examples: dbcpu compare old-box.json.gz last --size-for 12 --licence oracle-cloud-ee
              dbcpu compare label:old new=RUN5,RUN6,RUN7,RUN8
              dbcpu compare reports/examples/published/numa-policies.csv --out pictures
    """
    from dbcpu.workflows import compare, show

    show.show(compare.document(runs, baseline, given.pop("store"), compare.ComparisonOptions(**given)), form, out)
