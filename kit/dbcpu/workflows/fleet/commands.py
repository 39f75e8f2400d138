"""``dbcpu fleet``: from the options of its commands to an exit code."""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from dbcpu import __version__
from dbcpu.config.inventory import is_held_back, read_inventory, selected
from dbcpu.errors import UsageError
from dbcpu.formatting import UNKNOWN, aligned, plain, plural, printable, printable_lines
from dbcpu.store.campaigns import DONE, NO_NEW, NOW, PLANNED, RUNNING, STATES, Campaign, Item
from dbcpu.store.database import Store, open_store
from dbcpu.store.engine import locate
from dbcpu.workflows.fleet import plan
from dbcpu.workflows.fleet.drive import drive
from dbcpu.workflows.fleet.engine import DaskEngine, check_scheduler
from dbcpu.workflows.fleet.order import Limits
from dbcpu.workflows.measure_run import Choices

OK, FINDINGS, NOT_MEASURED = 0, 1, 3
WATCH_S = 2.0
FEWEST_AT_ONCE, MOST_AT_ONCE = 4, 64
"""A run that waits takes some 60 MB and hardly any CPU of this machine."""


def default_at_once() -> int:
    """For the CPUs of this machine."""
    return max(FEWEST_AT_ONCE, min(MOST_AT_ONCE, 4 * (os.cpu_count() or 1)))


def run(
    inventory: Path | None, name: str, select: str, options: Sequence[str], choices: Choices, *, at_once: int | None,
    failures_share: float, window: str | None, scheduler: str | None, store: str | None, yes: bool, dry_run: bool,
    confirm: Callable[[str, bool], None],
) -> int:  # fmt: skip
    """Begin a campaign and go on to its end; returns the exit code.

    Raises:
        UsageError: inventory, options or store do not fit; there is such a campaign already.
        MeasureError, StoreError, Interrupted: as ``drive``.
    """
    check_scheduler(scheduler)
    _refuse_password(store)
    targets = read_inventory(inventory)
    targets = selected(targets, select) if select else targets
    wanted = plan.planned(targets, choices)
    at_once = at_once or default_at_once()
    held_back = sum(map(is_held_back, targets))
    shown = plan.preview(wanted, held_back, at_once)
    if not wanted:
        raise UsageError(shown.splitlines()[-1])
    made = plan.campaign(name, options, at_once, failures_share)
    limits = _limits(made, plan.longest_s(wanted), window)
    click.echo(printable_lines(shown), err=not dry_run)
    if dry_run:
        return OK
    confirm(f"Measure {plural(len(wanted), 'target')}?", yes)
    with open_store(store) as opened:
        opened.campaigns.begin(made, plan.items(wanted))
        return _driven(opened, made, limits, scheduler, store, window, failed=False)


def resume(
    name: str, *, failed: bool, window: str | None, scheduler: str | None, store: str | None, at_once: int | None
) -> int:
    """Go on with a campaign; returns and raises as ``run``."""
    check_scheduler(scheduler)
    _refuse_password(store)
    with open_store(store, create=False) as opened:
        found = opened.campaigns.load(name)
        if found.tool_version != __version__:
            raise UsageError(
                f"campaign {name} was begun by dbcpu {found.tool_version}, and this is {__version__}: its targets "
                "would not be measured alike; go on with that version, or begin another campaign"
            )
        found = replace(found, at_once=at_once or found.at_once)
        return _driven(opened, found, _limits(found, 0.0, window), scheduler, store, window, failed=failed)


def status(name: str, *, everything: bool, watch: bool, store: str | None) -> int:
    """Print how far a campaign is; ``watch``: again and again, until all of it has ended. Returns the exit code."""
    with open_store(store, create=False) as opened:
        while True:
            found, items = opened.campaigns.load(name), opened.campaigns.items(name)
            click.echo("\n".join(map(printable, _status(found, items, everything=everything))))
            if not watch or not any(each.state in (PLANNED, RUNNING) for each in items):
                return _exit_code(items, 0)
            time.sleep(WATCH_S)
            click.echo()


def stop(name: str, *, now: bool, store: str | None) -> int:
    """Wish that nothing more is begun; ``now``: that what is measured is interrupted, too."""
    with open_store(store, create=False) as opened:
        found = opened.campaigns.load(name)
        if found.lease_owner is None:
            click.echo(f"campaign {name} is not driven by anybody: nothing is to be stopped", err=True)
            return OK
        opened.campaigns.wish(name, NOW if now else NO_NEW)
    click.echo("what is measured is interrupted" if now else "no more targets are begun", err=True)
    return OK


def _driven(
    opened: Store, found: Campaign, limits: Limits, scheduler: str | None, store: str | None, window: str | None, *,
    failed: bool,
) -> int:  # fmt: skip
    _wait_for(window)
    engine = DaskEngine(found.at_once, scheduler)
    # Another process opens the same file from a folder of its own.
    location = locate(store)
    url = str(location.path.absolute()) if location.path is not None else store or os.environ.get("DBCPU_STORE")
    ended = drive(opened, found, engine, limits, say, failed=failed, store_url=url)
    items = opened.campaigns.items(found.name)
    click.echo("\n".join(map(printable, _status(found, items, everything=False))))
    return _exit_code(items, ended.findings)


def say(sentence: str) -> None:
    click.echo(plain(sentence), err=True)


def _limits(found: Campaign, longest_s: float, window: str | None) -> Limits:
    open_ = plan.window_end_s(window, datetime.now())
    return Limits(found.at_once, found.failures_share, longest_s, open_[1] if open_ else None)


def _wait_for(window: str | None) -> None:
    open_ = plan.window_end_s(window, datetime.now())
    if open_ is not None and (wait_s := open_[0] - time.time()) > 0:
        say(f"waiting for the window {window}")
        time.sleep(wait_s)


def _status(found: Campaign, items: Sequence[Item], *, everything: bool) -> list[str]:
    counts = Counter(each.state for each in items)
    shown = [each for each in items if everything or each.state not in (DONE, PLANNED)]
    lines = [f"campaign {found.name}, begun {found.created_at[:16].replace('T', ' ')} UTC: "
             + ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])]  # fmt: skip
    if shown:
        rows = [(each.target, each.state, each.run_id or UNKNOWN, each.why or UNKNOWN) for each in shown]
        lines += ["", *aligned(("target", "state", "run", "why"), rows)]
    if any(each.state not in (DONE, PLANNED, RUNNING) for each in items):
        lines += ["", f"Again those that were not measured: dbcpu fleet resume {found.name} --failed"]
    elif counts[PLANNED] and found.lease_owner is None:
        lines += ["", f"Go on: dbcpu fleet resume {found.name}"]
    return lines


def _exit_code(items: Sequence[Item], findings: int) -> int:
    if any(each.state not in (DONE, PLANNED, RUNNING) for each in items):
        return NOT_MEASURED
    return FINDINGS if findings else OK


def _refuse_password(store: str | None) -> None:
    """The place of the store goes to stations."""
    location = locate(store)
    if location.path is None and location.url.password is not None:
        raise UsageError(
            "the URL of the store has a password, which would go to every station; take it out, and give it by "
            "PGPASSWORD or ~/.pgpass"
        )
