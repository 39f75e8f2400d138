"""The report of a very large run: how long the page takes to draw, and how large it is."""

import statistics
import time

from bench.pairs import Bar, Result, Setup, Table, shown
from dbcpu.analysis.explain import explain
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats.base import load_format
from dbcpu.simulator import preset, simulate

TITLE = "A report of 256 levels up to 512 sessions"
HOW = (
    "A simulated host of 64 vCPUs, levels 1 and 2, 4, 6 ... 512, one round each: about 65,800 sessions. The record is "
    "explained once; then the page with all its pictures, for screen and phone, is rendered again and again. Seconds "
    "are CPU seconds of this process, so that other work on the machine does not count."
)
LEVELS = (1, *range(2, 513, 2))
LIMIT_S = 10.0
LIMIT_BYTES = 10_000_000


def run(setup: Setup) -> Result:
    record = simulate(preset("graviton"), LEVELS, repeats=1, seed=1, size="short", hz=5.0)
    began_s = time.process_time()
    analysis = explain(record)
    explained_s = time.process_time() - began_s
    html = load_format("html")
    taken, sizes = [], []
    for turn in range(setup.rounds):
        setup.say(f"round {turn + 1} of {setup.rounds}")
        began_s = time.process_time()
        page = str(html.render(document(record, analysis)))
        taken.append(time.process_time() - began_s)
        sizes.append(len(page.encode("utf-8")))
    rows = (
        ("sessions", f"{sum(len(each.sessions) for each in record.rounds):,}"),
        ("explaining the record, s", shown([explained_s])),
        ("rendering the page, s", shown(taken)),
        ("size of the page, MB", shown([size / 1e6 for size in sizes])),
    )
    bars = (
        Bar("rendering the page", statistics.median(taken), LIMIT_S, "s"),
        Bar("size of the page", max(sizes) / 1e6, LIMIT_BYTES / 1e6, "MB"),
    )
    samples = {"render_s": taken, "bytes": [float(size) for size in sizes], "explain_s": [explained_s]}
    return Result(bars, (Table(("what", "figure"), rows),), samples)
