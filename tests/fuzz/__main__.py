"""``shell/fuzz``: new inputs for as long as it is given. What fails is made small, and kept below ``found``.

It is stopped early by Ctrl-C or SIGTERM: the input at hand is finished, and the account is given.
"""

import hashlib
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure

from dbcpu.cli._option_values import Duration
from fuzz.sandbox import CPU_TIME, Failure, Sandbox
from fuzz.surfaces import SURFACES, Surface

FOUND = Path(__file__).parent / "found"
IN_MEMORY = Path("/dev/shm")
"""A store waits for the disk at each write."""
AT_ONCE = 200


@click.command()
@click.argument("time_s", metavar="TIME", type=Duration())
@click.option("--surface", "names", multiple=True, type=click.Choice(list(SURFACES)), help="Only these.")
@click.option("--seed", "first", type=int, help="Of the first inputs.  [default: a new one, which is shown]")
def main(time_s: float, names: tuple[str, ...], first: int | None) -> None:
    """Feed generated inputs to dbcpu for TIME (90, 30m, 2h). Exit code 1: something failed."""
    warnings.simplefilter("error")
    first = random.SystemRandom().randrange(2**31) if first is None else first
    click.echo(f"seed {first}")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    deadline_s, turn = time.monotonic() + time_s, first

    def is_over() -> bool:
        return stop.is_set() or time.monotonic() > deadline_s

    inputs: Counter[str] = Counter()
    places: dict[str, str] = {}
    while not is_over():
        for name in names or SURFACES:
            with (
                tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder,
                Sandbox(Path(folder) / "box") as box,
            ):
                failure = _feed(SURFACES[name], box, turn, places, is_over)
                inputs[name] += box.inputs
            if failure is not None:
                places[failure.place] = name
                click.echo(f"{name}, after {sum(inputs.values())} inputs: {failure}\n  kept in {_keep(name, failure)}")
        turn += 1
        click.echo(f"{sum(inputs.values())} inputs", err=True)
    for name, count in inputs.items():
        click.echo(f"{count:8} {name}")
    click.echo(f"{sum(inputs.values()):8} inputs in all; failures in {len(places)} places")
    sys.exit(1 if places else 0)


def _feed(
    surface: Surface, box: Sandbox, turn: int, known: dict[str, str], is_over: Callable[[], bool]
) -> Failure | None:
    """Feed ``AT_ONCE`` inputs; the first failure of a place that is not ``known``, with the smallest input for it."""

    @seed(turn)
    @settings(max_examples=AT_ONCE, database=None, deadline=None, suppress_health_check=list(HealthCheck),
              phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False)  # fmt: skip
    @given(surface.inputs)
    def feed(what: object) -> None:
        if is_over():
            return
        try:
            surface.feed(box, what)
        except Failure as failure:
            if failure.place not in known:
                failure.add_note(repr(what))
                raise

    try:
        feed()
    except Failure as failure:
        return failure
    except FlakyFailure as once:
        # At a limit of time the same input fails once and passes then; anything else that comes and goes is a failure.
        failures, _ = once.split(Failure)
        if failures is None:
            raise
        one = next(each for each in failures.exceptions if isinstance(each, Failure))
        return None if one.place == CPU_TIME else one
    return None


def _keep(name: str, failure: Failure) -> Path:
    """The failure, its input and its traceback in a file named by its place."""
    FOUND.mkdir(exist_ok=True)
    digest = hashlib.sha256(failure.place.encode()).hexdigest()[:8]
    path = FOUND / f"{name.replace(' ', '-')}-{digest}.txt"
    notes = "\n".join(getattr(failure, "__notes__", ()))
    text = f"{failure}\n\n{notes}\n\n{''.join(traceback.format_exception(failure))}"
    path.write_text(text, "utf-8", "backslashreplace")
    return path


if __name__ == "__main__":
    main()
