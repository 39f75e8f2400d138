"""dbcpu for a fork server, with what a night's commands load already there."""

import gc
import signal
import sys
import warnings

from dbcpu import cli
from support.nursery import LOADED

NIGHTS = (
    "dbcpu.cli.check",
    "dbcpu.cli.delete",
    "dbcpu.cli.simulate",
    "dbcpu.reports.charts",
    "dbcpu.reports.charts.comparison.history",
    "dbcpu.reports.formats.html",
    "dbcpu.simulator.requested_run",
    "dbcpu.workflows.check",
    "dbcpu.workflows.history",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
)

for module in (*LOADED, *NIGHTS):
    __import__(module)
gc.collect()
gc.freeze()  # the collector of a child would write to each page of what it shares with all others


def main() -> None:
    warnings.simplefilter("error")  # as of PYTHONWARNINGS, which is read at the start of an interpreter
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the fork server waits for nobody
    sys.exit(cli.main())
