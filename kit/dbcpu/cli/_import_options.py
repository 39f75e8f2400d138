"""What a user knows of a CSV file that ``dbcpu import`` reads: the fields of ``RunFacts``."""

import click

from dbcpu.cli._options import together
from dbcpu.cli._refused_values import Label

_COUNT = click.IntRange(1, 65_536)

facts_options = together(
    click.option("--cpus", type=_COUNT, metavar="N", help="vCPUs of the host, of a CSV file."),
    click.option("--cores", type=_COUNT, metavar="N", help="Cores behind them."),
    click.option("--model", metavar="TEXT", help="CPU model."),
    click.option("--host", metavar="NAME", help="Name of the host.  [default: the file's]"),
    click.option("--kind", metavar="NAME", help="What did the work: a database or a program."),
    click.option("--workload", metavar="NAME", help="What the work was; only runs with the same name are compared."),
    click.option("--unit", metavar="UNIT", help="Unit of the rates, such as Mrows/s or loops/s."),
    click.option("--date", metavar="DATE", help="When it was measured, such as 2026-01-31."),
    click.option("--label", type=Label(), metavar="TEXT", help="Label stored with the run."),
)
"""``cpus cores model host kind workload unit date label``; None where not given."""
