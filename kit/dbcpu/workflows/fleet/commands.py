"""What ``dbcpu fleet run``, ``resume``, ``status``, ``stop`` and ``sync`` do."""

import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from dbcpu.config.inventory import read_inventory, refuse_production, selected
from dbcpu.formatting import plain, plural
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import fails
from dbcpu.store.campaigns import AGAIN, PLANNED, RUNNING, STATES, STOP, STOP_NOW, Item
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.fleet.campaign import described, placed, plan_campaign
from dbcpu.workflows.fleet.cluster import workers
from dbcpu.workflows.fleet.drive import Bounds, Counts, cancel_process, drive
from dbcpu.workflows.fleet.recover import deliver
from dbcpu.workflows.fleet.station import STORE, command_refused
from dbcpu.workflows.fleet.window import Window
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.measure_run import Choices

Confirm = Callable[[str, bool], None]
FAILED_EXIT, INTERRUPTED_EXIT = 3, 130
MAX_AT_ONCE, PER_CPU, RUN_BYTES = 20, 4, 200 << 20
"""A run waits, and takes 77 to 190 MB: docs/benchmarks.md."""
WATCH_S = 2.0
MAX_NAMED = 20
"""Targets with findings that --fail-on names; the report has all."""


def begin(
    inventory: Path,
    select: str | None,
    url: str | None,
    options: Sequence[str],
    confirm: Confirm,
    *,
    origin: str | None,
    host: str | None,
    campaign: str,
    at_once: int | None,
    failures: float,
    window: str | None,
    dry_run: bool,
    scheduler: str | None,
    fail_on: str,
    store: str | None,
    yes: bool,
    quiet: bool,
    **choices: Any,
) -> int:
    """Preview, ask, keep the campaign and drive it; returns the exit code.

    Raises:
        UsageError: inventory, options or name cannot be used; before anything is kept.
        DbcpuError: as ``drive``.
    """
    targets = selected(read_inventory(inventory, url), select)
    refuse_production(targets)
    targets = placed(targets, origin, host)
    if not dry_run:
        _needs_dask()
    bounds = Bounds(at_once or usual_at_once(), failures, Window.parse(window) if window else None)
    limits = {"at_once": bounds.at_once, "failures": failures, "window": window}
    made, items, ahead = plan_campaign(campaign, targets, Choices(**choices), options, limits)
    say = _sayer(quiet)
    if dry_run or not quiet:
        for line in described(campaign, items, ahead, bounds.at_once, bounds.window):
            click.echo(line, err=not dry_run)
    if dry_run:
        click.echo("nothing was connected to, started or stored")
        return 0
    with _stations_store(store), open_store(store) as opened:
        _ask(confirm, len(targets) - len(ahead.refused), yes)
        # A campaign that is kept is refused to a corrected command: its stations are there before.
        with workers(scheduler, bounds.at_once) as found:
            opened.campaigns.create(made, items)
            tally = drive(opened, campaign, bounds, found, say)
        return _finished(opened, campaign, tally, store, fail_on, yes=yes)


def resume(
    campaign: str,
    confirm: Confirm,
    *,
    failed: bool,
    at_once: int | None,
    failures: float,
    window: str | None,
    scheduler: str | None,
    fail_on: str,
    store: str | None,
    yes: bool,
    quiet: bool,
) -> int:
    """Go on with a campaign; returns the exit code. Raises as ``drive``."""
    _needs_dask()
    with _stations_store(store), open_store(store, create=False) as opened:
        plan = opened.campaigns.load(campaign).plan
        limits, tables = plan.get("limits", {}), plan["targets"]
        window = window or limits.get("window")
        bounds = Bounds(at_once or limits.get("at_once", 1), failures, Window.parse(window) if window else None)
        planned = (PLANNED, *(AGAIN if failed else ()))
        left = [each.target for each in opened.campaigns.items(campaign) if each.state in planned]
        _ask(confirm, sum(not command_refused(tables[target]) for target in left), yes)
        with workers(scheduler, bounds.at_once) as found:
            tally = drive(opened, campaign, bounds, found, _sayer(quiet), failed=failed)
        return _finished(opened, campaign, tally, store, fail_on, yes=yes)


def _ask(confirm: Confirm, databases: int, yes: bool) -> None:
    """Where every target is refused nothing is saturated, and nobody is asked."""
    if databases:
        confirm(f"This saturates {plural(databases, 'database')}, some at a time. Continue?", yes)


def status(campaign: str, store: str | None, *, watch: bool) -> int:
    """Print how far it is; returns 0 when all is done, else 3. Raises StoreError, UnknownName."""
    shown = ""
    with open_store(store, create=False) as opened:
        while True:
            opened.campaigns.load(campaign)
            items = opened.campaigns.items(campaign)
            states = Counter(each.state for each in items)
            now = "\n".join(_lines(campaign, items, states))
            if now != shown:
                click.echo(now)
                shown = now
            if not watch or not states[RUNNING]:
                return 0 if set(states) <= {"done"} else FAILED_EXIT
            time.sleep(WATCH_S)


def _lines(campaign: str, items: Sequence[Item], states: Counter[str]) -> Iterator[str]:
    counted = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    yield f"campaign {campaign}: {plural(len(items), 'target')}: {counted}"
    for item in items:
        if item.state not in (PLANNED, "done"):
            since = f" since {item.started_at}" if item.state == RUNNING and item.started_at else ""
            yield "  " + plain(f"{item.target}: {item.state}{since}" + (f": {item.why}" if item.why else ""))


def stop(campaign: str, store: str | None, *, at_once: bool) -> str:
    """Ask its driver to stop, and with ``at_once`` interrupt what runs here without one; returns a sentence."""
    with open_store(store, create=False) as opened:
        opened.campaigns.ask_to_stop(campaign, STOP_NOW if at_once else STOP)
        driven = opened.campaigns.load(campaign).lease_owner is not None
        ended = 0
        if at_once and not driven:
            ended = sum(cancel_process(each) for each in opened.campaigns.items(campaign) if each.state == RUNNING)
    if ended:
        return f"nobody drives campaign {campaign}; {plural(ended, 'measurement')} on this machine are interrupted"
    if not driven:
        return f"nobody drives campaign {campaign}; no target of it is started"
    return (
        f"the driver of campaign {campaign} starts no more targets{' and cancels those under way' if at_once else ''}"
    )


def sync(campaign: str, store: str | None) -> int:
    """Deliver what this machine kept; returns the exit code. Raises StoreError, UnknownName."""
    stay: list[str] = []
    with open_store(store, create=False) as opened:
        done = deliver(opened, campaign, stay.append)
    for sentence in stay:
        _sayer(quiet=False)(sentence)
    click.echo(f"runs of {plural(done, 'target')} were delivered" if done else "there was nothing to deliver")
    return FAILED_EXIT if stay else 0


def usual_at_once() -> int:
    """From CPUs and memory of this machine."""
    cpus, pages = len(os.sched_getaffinity(0)), os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(MAX_AT_ONCE, PER_CPU * cpus, pages // RUN_BYTES))


def _finished(opened: Store, campaign: str, tally: Counts, store: str | None, fail_on: str, *, yes: bool) -> int:
    """``yes``: nobody was asked, and nobody may be there to be asked when it goes on."""
    counted = ", ".join(f"{tally.states[state]} {state}" for state in STATES if state in tally.states)
    click.echo(f"campaign {campaign}: {counted}" + (f"; {tally.stopped}" if tally.stopped else ""))
    # A store's URL may have a password in it: then the user knows what to add.
    given = f" --store {shlex.quote(store)}" if store and "://" not in store else " --store URL" if store else ""
    if tally.complete:
        return _failing(opened, campaign, fail_on, given)
    failed = " --failed" if set(tally.states) & set(AGAIN) else ""
    unasked = " --yes" if yes else ""
    see, go_on = f"dbcpu fleet status {campaign}{given}", f"dbcpu fleet resume {campaign}{failed}{given}{unasked}"
    click.echo(f"dbcpu: see why: {see}; go on: {go_on}", err=True)
    return INTERRUPTED_EXIT if tally.interrupted else FAILED_EXIT


def _failing(opened: Store, campaign: str, fail_on: str, given: str) -> int:
    """Name the targets whose runs have findings at or above ``fail_on``; 1 if there is any, else 0."""
    if fail_on == "never":
        return 0
    runs = {each.run_id: each.target for each in opened.campaigns.items(campaign) if each.run_id}
    found: dict[str, list[str]] = {}
    for run_id, figures in KeptFigures(opened).of(list(runs)).items():
        codes = [code for code, severity in figures.severities().items() if fails(code, Level(severity * 10), fail_on)]
        if codes:
            found[runs[run_id]] = codes
    for target, codes in list(found.items())[:MAX_NAMED]:
        click.echo("  " + plain(f"{target}: {', '.join(codes)}"))
    if len(found) > MAX_NAMED:
        click.echo(f"  and {plural(len(found) - MAX_NAMED, 'target')} more: dbcpu fleet report {campaign}{given}")
    return int(bool(found))


def _sayer(quiet: bool) -> Callable[[str], None]:
    def say(sentence: str) -> None:
        if not quiet:
            with suppress(OSError):  # a terminal that was closed ends no campaign halfway
                sys.stderr.write(f"dbcpu: {plain(sentence)}\n")
                sys.stderr.flush()

    return say


def _needs_dask() -> None:
    from importlib.util import find_spec

    from dbcpu.workflows.fleet.cluster import not_installed

    if find_spec("distributed") is None:
        raise not_installed()


@contextmanager
def _stations_store(url: str | None) -> Iterator[None]:
    """Stations find the store in their environment: a URL may hold a password, which no process list shall show."""
    before = os.environ.get(STORE)
    if url and "://" not in url:
        url = str(Path(url).expanduser().absolute())
    try:
        if url:
            os.environ[STORE] = url
        yield
    finally:
        if before is None:
            os.environ.pop(STORE, None)
        else:
            os.environ[STORE] = before
