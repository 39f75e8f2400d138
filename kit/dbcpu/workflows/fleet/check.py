"""``dbcpu fleet check``: a ``dbcpu doctor`` process for each target, a few at a time."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from dbcpu.config.inventory import Listed, read_inventory, selected
from dbcpu.formatting import plain, plural
from dbcpu.workflows.fleet.outcome import last_sentence
from dbcpu.workflows.fleet.simulated import is_simulated
from dbcpu.workflows.fleet.station import command_refused
from dbcpu.workflows.origins.far_target import toml_of

LIMIT_S = 300
WARNING, PROBLEM = "warning", "problem"


@dataclass(frozen=True, slots=True)
class _Checked:
    target: str
    findings: tuple[tuple[str, str], ...] = ()
    refused: str = ""


def check(inventory: Path, select: str | None, url: str | None, at_once: int) -> int:
    """Print what was found; returns the exit code. Raises UsageError for the inventory."""
    targets = selected(read_inventory(inventory, url), select)
    with ThreadPoolExecutor(at_once) as threads:
        found = tuple(threads.map(_checked, targets))
    for each in found:
        if each.refused:
            click.echo(plain(f"{each.target}: cannot be examined: {each.refused}"))
        for level, seen in each.findings:
            click.echo(plain(f"{each.target}: {level}: {seen}"))
    return _summed_up(found)


def _summed_up(found: Sequence[_Checked]) -> int:
    refused = sum(bool(each.refused) for each in found)
    worst = Counter(_worst(each) for each in found if not each.refused)
    problems, warned = worst[PROBLEM], worst[WARNING]
    click.echo(
        f"{plural(len(found), 'target')}: {refused} cannot be examined, {problems} with a problem, {warned} with "
        f"warnings; no problem and no warning was found on {len(found) - refused - problems - warned}"
    )
    return 3 if refused else int(problems > 0)


def _worst(checked: _Checked) -> str:
    levels = {level for level, _ in checked.findings}
    return PROBLEM if PROBLEM in levels else WARNING if WARNING in levels else ""


def _checked(target: Listed) -> _Checked:
    if is_simulated(target.url):
        return _Checked(target.name)
    if why := command_refused(target.table()):
        return _Checked(target.name, refused=why)
    with tempfile.TemporaryDirectory(prefix="dbcpu-check-") as folder:
        config, log = Path(folder, "dbcpu.toml"), Path(folder, "log")
        config.write_text(toml_of(target.name, target.table()), "utf-8")
        host = ["--host", target.host] if target.host else []  # required, as in a campaign
        program = [sys.executable, "-P", "-m", "dbcpu", "doctor", "--json", *host, "--", target.name]
        try:
            with log.open("wb") as said:
                done = subprocess.run(  # noqa: S603 - dbcpu itself
                    program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, timeout=LIMIT_S,
                    env={**os.environ, "DBCPU_CONFIG": str(config)}, check=False,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            return _Checked(target.name, refused=f"it did not answer within {LIMIT_S} s")
        if done.returncode not in (0, 1):
            return _Checked(target.name, refused=last_sentence(log) or f"exit code {done.returncode}")
    findings = json.loads(done.stdout)
    return _Checked(target.name, tuple((each["level"], each["seen"]) for each in findings))
