"""``dbcpu fleet check``: a ``dbcpu doctor`` process for each target, and from where it can be measured."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.config.inventory import Listed, as_toml, read_inventory, selected
from dbcpu.config.origins import HERE, ORIGINS
from dbcpu.errors import UsageError
from dbcpu.formatting import listed, plain, plural
from dbcpu.hosts.shell_routes import is_shell_route
from dbcpu.store.record_file import write_file
from dbcpu.workflows.fleet.outcome import failure_in
from dbcpu.workflows.fleet.simulated import is_simulated, why_none
from dbcpu.workflows.fleet.station import command_refused
from dbcpu.workflows.origins.far_target import toml_of

LIMIT_S = 300
WARNING, PROBLEM = "warning", "problem"
MAX_NAMED = 20
"""Targets that one line names; the file names all."""


class _Checked(Struct, frozen=True):
    """``target``: as it can be measured. ``refused``: why it cannot, by origin, in the order they were tried."""

    target: Listed
    findings: tuple[tuple[str, str], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    works: bool = True


def check(inventory: Path, select: str | None, url: str | None, at_once: int, written: Path | None) -> int:
    """Print what was found, and write the inventory with where each target is measured from; returns the exit code.

    Raises:
        UsageError: the inventory cannot be used, or ``written`` is no .toml.
        StoreError: ``written`` cannot be written.
    """
    if written is not None and written.suffix != ".toml":
        raise UsageError(f"--write {written} does not end in .toml; name the file so")
    targets = selected(read_inventory(inventory, url), select)
    with ThreadPoolExecutor(at_once) as threads:
        found = tuple(threads.map(_checked, targets))
    for each in found:
        name = each.target.name
        sentences = {sentence: [at for at, said in each.refused if said == sentence] for _, sentence in each.refused}
        why = "; ".join(f"from {listed(origins)}: {sentence}" for sentence, origins in sentences.items())
        if not each.works:
            alone = each.refused[0][1] if len(sentences) == 1 else why
            click.echo(plain(f"{name}: cannot be examined: {alone}"))
        elif why:
            click.echo(plain(f"{name}: can be measured from {each.target.origin}; {why}"))
        for level, seen in each.findings:
            click.echo(plain(f"{name}: {level}: {seen}"))
    if written is not None:
        _write(written, found)
    return _summed_up(found)


def _write(written: Path, found: Sequence[_Checked]) -> None:
    """Those that can be measured, and the names of the others as comments and on standard error."""
    without = [plain(each.target.name) for each in found if not each.works]
    comments = "".join(f"# left out, as it cannot be examined: {name}\n" for name in without)
    write_file(written, [(comments + as_toml([each.target for each in found if each.works])).encode()])
    if without:
        named = listed(without, most=MAX_NAMED)
        click.echo(
            f"dbcpu: {plain(str(written))} is without {plural(len(without), 'target')} that cannot be examined: "
            f"{named}",
            err=True,
        )


def _summed_up(found: Sequence[_Checked]) -> int:
    refused = sum(not each.works for each in found)
    worst = Counter(_worst(each) for each in found if each.works)
    problems, warned = worst[PROBLEM], worst[WARNING]
    click.echo(
        f"{plural(len(found), 'target')}: {refused} cannot be examined, {problems} with a problem, {warned} with "
        f"warnings; no problem and no warning was found on {len(found) - refused - problems - warned}"
    )
    origins = Counter(each.target.origin for each in found if each.works)
    if set(origins) - {HERE}:
        click.echo("measured from: " + ", ".join(f"{each} {origins[each]}" for each in ORIGINS if origins[each]))
    return 3 if refused else int(problems > 0)


def _worst(checked: _Checked) -> str:
    levels = {level for level, _ in checked.findings}
    return PROBLEM if PROBLEM in levels else WARNING if WARNING in levels else ""


def _checked(target: Listed) -> _Checked:
    """From where the inventory says; where it says nothing and it cannot be reached from here, from elsewhere."""
    if is_simulated(target.url):
        why = why_none(target.url)
        return _Checked(target, refused=((target.origin, why),), works=False) if why else _Checked(target)
    refused: list[tuple[str, str]] = []
    for origin in _to_try(target):
        try:
            moved = target.measured_from(origin)
        except UsageError as error:
            refused.append((origin, str(error)))
            continue
        found = _examined(moved)
        if found.works:
            return replace(found, refused=tuple(refused))
        refused += found.refused
    return _Checked(target, refused=tuple(refused), works=False)


def _to_try(target: Listed) -> tuple[str, ...]:
    if target.origin_given or not is_shell_route(target.host or ""):
        return (target.origin,)
    return ORIGINS


def _examined(target: Listed) -> _Checked:
    def refused(why: str) -> _Checked:
        return _Checked(target, refused=((target.origin, why),), works=False)

    if why := command_refused(target.table()):
        return refused(why)
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
            return refused(f"it did not answer within {LIMIT_S} s")
        if done.returncode not in (0, 1):
            return refused(failure_in(log).said or f"exit code {done.returncode}")
    try:
        findings = json.loads(done.stdout)
        return _Checked(target, tuple((str(each["level"]), str(each["seen"])) for each in findings))
    except (ValueError, TypeError, KeyError):
        return refused("what its dbcpu printed is no list of findings; does a login shell write into it?")
