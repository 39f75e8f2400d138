"""``dbcpu fleet check``: the doctor on every target, side by side. Nothing is loaded, and nothing is stored."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from dbcpu.config.inventory import read_inventory, selected
from dbcpu.config.targets import Named
from dbcpu.formatting import UNKNOWN, aligned, plural, printable
from dbcpu.workflows.fleet import plan
from dbcpu.workflows.fleet.station import configuration, environment, last_sentence

OK, NOT_REACHED = 0, 3
LONGEST_S = 180.0


@dataclass(frozen=True, slots=True)
class Checked:
    """``codes``: findings at warning or above; ``why``: the sentence of a target that cannot be measured, or ''."""

    target: str
    codes: tuple[str, ...]
    why: str


def check(inventory: Path | None, select: str, at_once: int, say: Callable[[str], None]) -> int:
    """Print a line per target; returns the exit code. Raises UsageError as ``read_inventory``."""
    targets = read_inventory(inventory)
    targets = selected(targets, select) if select else targets
    with ThreadPoolExecutor(at_once) as pool:
        found: list[Checked] = []
        for each in pool.map(_checked, targets):
            found.append(each)
            say(f"{each.target}: {each.why or 'can be measured'} ({len(found)} of {len(targets)})")
    click.echo("\n".join(map(printable, _lines(found))))
    return NOT_REACHED if any(each.why for each in found) else OK


def _checked(target: Named) -> Checked:
    if plan.is_simulated(target):
        return Checked(target.name, (), "")
    with tempfile.TemporaryDirectory(prefix="dbcpu-fleet-") as folder:
        file, messages = Path(folder) / "dbcpu.toml", Path(folder) / "messages"
        file.write_text(configuration(target.name, plan.request_of(target)), "utf-8")
        command = [sys.executable, "-m", "dbcpu", "doctor", target.name, "--json"]
        try:
            with messages.open("wb") as said:
                done = subprocess.run(  # noqa: S603 - an argument list, no shell
                    command, env=environment(None, file), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                    timeout=LONGEST_S, check=False,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Checked(target.name, (), f"no answer within {LONGEST_S:.0f} s")
        if done.returncode:
            return Checked(target.name, (), last_sentence(messages) or f"exit code {done.returncode}")
        findings = json.loads(done.stdout)
        return Checked(target.name, tuple(each["code"] for each in findings if each["level"] != "info"), "")


def _lines(found: Sequence[Checked]) -> list[str]:
    rows = [(each.target, "no" if each.why else "yes", ", ".join(each.codes) or each.why or UNKNOWN) for each in found]
    refused = sum(bool(each.why) for each in found)
    return [
        *aligned(("target", "reached", "findings"), rows),
        "",
        f"{len(found) - refused} of {plural(len(found), 'target')} can be measured",
    ]
