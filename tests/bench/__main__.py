"""``shell/bench``: run the benches, print what they found, keep it if asked."""

import importlib
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from bench import report
from bench.pairs import MIN_ROUNDS, Result, Setup
from dbcpu.errors import DbcpuError
from dbcpu.hosts.cleanup_guard import Guard

BENCHES = (
    "skew", "oracle_skew", "server_start", "idle", "cost", "pace_cost", "tracing_cost", "truth", "thousand", "startup",
    "explaining", "scaling", "pages", "soak", "fleet_driving", "fleet_explaining", "fleet_ranking",
)  # fmt: skip


@click.command()
@click.option("--only", type=click.Choice(BENCHES), multiple=True, help="Run this one; may be repeated.")
@click.option("--rounds", type=click.IntRange(1), default=MIN_ROUNDS, show_default=True, help="Turns per contestant.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write all results to this file; - for stdout.")
@click.option(
    "--write-docs", is_flag=True, help="Keep the results and write docs/benchmarks.md from all that are kept."
)
def main(only: tuple[str, ...], rounds: int, file: Path | None, write_docs: bool) -> None:
    """Measure what dbcpu costs and how exact it is, on this machine. No figure makes it fail."""
    if write_docs and rounds < MIN_ROUNDS:
        raise click.UsageError(f"--write-docs keeps results of {MIN_ROUNDS} rounds or more; --rounds is {rounds}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and traces are cleaned up
    to_stdout = file is not None and str(file) == "-"
    found = []
    for name in only or BENCHES:
        click.echo(f"{name}: {importlib.import_module(f'bench.{name}').TITLE}", err=True)
        data = measured(name, rounds)
        found.append(data)
        click.echo(f"## {data['title']}\n\n{report.as_text(data)}\n", err=to_stdout)
        if write_docs:
            report.keep(data)
    if file is not None:
        text = json.dumps(found, indent=1) + "\n"
        click.echo(text, nl=False) if to_stdout else file.write_text(text, "utf-8")
    if write_docs:
        report.DOCUMENT.parent.mkdir(exist_ok=True)
        report.DOCUMENT.write_text(report.page(BENCHES), "utf-8")


def measured(name: str, rounds: int) -> dict[str, Any]:
    """Run one bench in a folder of its own."""
    module = importlib.import_module(f"bench.{name}")
    about = report.begin(rounds)
    began_s = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="dbcpu-bench-"))
    try:
        with Guard() as guard:
            guard.remove_later(folder)
            result: Result = module.run(Setup(rounds, folder, guard, lambda text: click.echo(f"  {text}", err=True)))
            guard.forget(folder)
    except DbcpuError as error:
        raise SystemExit(f"{name}: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.as_data(name, module, result, about | {"took_s": round(time.monotonic() - began_s, 1)})


if __name__ == "__main__":
    main()
