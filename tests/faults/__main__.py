"""``shell/faults``: every fault again and again, and a table of what was left."""

import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from dbcpu.formatting import aligned
from faults.faults import FAULTS, Ground, Outcome
from support.driving import Drive

KINDS = ("processes", "folders", "shared memory", "journals", "settings")
HEADINGS = ("fault", "tries", "live", *KINDS, "complaints", "exit codes")


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0.5), default=10.0, show_default=True)
@click.option("--seed", type=int, default=None, help="Fixes order and moments.  [default: the time]")
@click.option("--only", type=click.Choice(sorted(FAULTS)), multiple=True, help="These faults alone.")
def main(minutes: float, seed: int | None, only: Sequence[str]) -> None:
    """Harm runs of the embedded server at random moments; exits with 1 if anything was left or said wrongly."""
    seed = time.time_ns() % 10**9 if seed is None else seed
    chosen, outcomes, place = random.Random(seed), list[Outcome](), Path(tempfile.mkdtemp(prefix="dbcpu-faults-"))
    place.chmod(0o755)
    until_s = time.monotonic() + 60 * minutes
    try:
        (place / "kept").mkdir()
        (place / "tmp").mkdir(mode=0o755)
        drive = Drive(place / "kept", place / "tmp")
        try:
            ground = Ground(drive, chosen)
            while time.monotonic() < until_s:
                outcomes.append(FAULTS[chosen.choice(sorted(only or FAULTS))](ground))
                if not outcomes[-1].is_fine:
                    click.echo(f"{outcomes[-1]}", err=True)
        finally:
            drive.close()
    except KeyboardInterrupt:
        click.echo("stopped early", err=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    click.echo(f"seed {seed}, {len(outcomes)} faults")
    click.echo("\n".join(aligned(HEADINGS, [row(name, outcomes) for name in FAULTS])))
    sys.exit(int(not all(outcome.is_fine for outcome in outcomes)))


def row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Of the table: how often, how often a run was going on, what was left."""
    found = [outcome for outcome in outcomes if outcome.fault == name]
    left = [str(sum(outcome.left.get(kind, 0) for outcome in found)) for kind in KINDS]
    codes = Counter(code for outcome in found for code in outcome.codes)
    counted = ", ".join(f"{code} ({times}x)" for code, times in sorted(codes.items()))
    live = sum(outcome.live for outcome in found)
    return (name, str(len(found)), str(live), *left, str(sum(bool(each.complaint) for each in found)), counted)


if __name__ == "__main__":
    main()
