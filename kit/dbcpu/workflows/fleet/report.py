"""From the store to the document of a campaign: kept figures and headers of its runs, never a decoded round."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dbcpu.analysis.fleet.hosts import FIGURES, FailedTarget, FleetMember
from dbcpu.analysis.fleet.report import fleet_report
from dbcpu.analysis.fleet.sizing import Measured
from dbcpu.config.given_file import is_file
from dbcpu.config.rulebook import choose
from dbcpu.config.rules import SizingRules
from dbcpu.config.settings import settings
from dbcpu.errors import UsageError
from dbcpu.reports.document import Document
from dbcpu.reports.documents import fleet
from dbcpu.store.campaigns import DONE, PLANNED, RUNNING, UNKNOWN, Item
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.export import Selection, export
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns


def fleet_document(
    name: str,
    store: str | None = None,
    *,
    repeats: Sequence[str] = (),
    shapes: Sequence[str] = (),
    licences: Sequence[str] = (),
) -> Document:
    """The report of the campaign ``name``.

    Args:
        repeats: other campaigns, whose runs of the same targets count as further runs of these hosts.
        shapes: ``[NAME=]RUN`` of hosts that the work of all targets is to be moved to.
        licences: names of licence rules, ``HOST=RULE`` for one host.

    Raises:
        UnknownName: there is no such campaign, or no such rule.
        UsageError: nothing of it ended yet; a shape cannot be sized on; a campaign is named twice.
        StoreError: the store cannot be read.
    """
    for at, other in enumerate(repeats):
        if other in (name, *repeats[:at]):
            raise UsageError(f"campaign {other} is named twice, and its runs count once; leave out one --with {other}")
    with open_store(store, create=False) as opened:
        items = _ended(opened, name)
        earlier = [each for other in repeats for each in _ended(opened, other)]
        members, failures = _members(opened, items, earlier)
        new = [_shape(opened, each) for each in shapes]
    return fleet.document(fleet_report(name, members, failures, _rules(licences), new))


def export_runs(name: str, folder: Path, store: str | None = None) -> None:
    """The tables of all measured runs of a campaign, as Parquet in ``folder``. Raises as ``export``."""
    with open_store(store, create=False) as opened:
        run_ids = [each.run_id for each in _ended(opened, name) if each.run_id]
    if not run_ids:
        raise UsageError(f"no target of campaign {name} was measured; there is nothing to export")
    export(run_ids, {"parquet": folder}, Selection(), store=store)


def _ended(opened: Store, name: str) -> tuple[Item, ...]:
    items = opened.campaigns.items(opened.campaigns.load(name).name)
    ended = tuple(each for each in items if each.state not in (PLANNED, RUNNING))
    if not ended:
        raise UsageError(f"no target of campaign {name} has ended yet; look at it by dbcpu fleet status {name}")
    return ended


def _members(
    opened: Store, items: Sequence[Item], earlier: Sequence[Item]
) -> tuple[Sequence[FleetMember], Sequence[FailedTarget]]:
    """Targets with a whole run, and those without; runs of earlier campaigns come first."""
    runs = ReadableRuns(opened)
    own: dict[str, list[str]] = {}
    for each in (*earlier, *items):
        if each.state == DONE and each.run_id and each.run_id not in own.setdefault(each.target, []):
            own[each.target].append(each.run_id)
    whole = {each.target for each in items if each.state == DONE and each.run_id}
    wanted = [run_id for target in whole for run_id in own[target]]
    kept = KeptFigures(opened, runs).of(wanted, FIGURES)
    headers = {run_id: runs.header(run_id) for run_id in wanted if run_id in kept}
    members, failures = [], []
    for each in items:
        if each.target not in whole:
            failures.append(_failure(each))
            continue
        found = [(header, kept[run_id]) for run_id in own[each.target] if (header := headers.get(run_id)) is not None]
        if not found:
            failures.append(replace(_failure(each), state=UNKNOWN, why=f"its run {each.run_id} is deleted or damaged"))
            continue
        found.sort(key=lambda run: run[0].started_at)
        members.append(FleetMember(each.target, tuple(found), each.group, each.tags))
    return members, failures


def _failure(item: Item) -> FailedTarget:
    state = UNKNOWN if item.state == DONE else item.state
    return FailedTarget(item.target, state, item.why or "no reason is known", item.group, item.tags)


def _shape(opened: Store, text: str) -> Measured:
    name, _, run = text.rpartition("=")
    if is_file(run):
        raise UsageError(f"--size-on takes a run of the store, and {run} is a file; `dbcpu import {run}` stores it")
    header = opened.header(run)
    return name or run, header, KeptFigures(opened).of_one(header.run_id)


def _rules(wanted: Sequence[str]) -> SizingRules:
    """Those of the configuration; of the licence rules those that were named, if any."""
    found = settings().sizing
    return replace(found, licences=choose(found.licences, wanted))
