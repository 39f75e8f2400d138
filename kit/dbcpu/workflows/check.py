"""What ``dbcpu check`` does: a run, the history of its target from the store, limits from everywhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from dbcpu.analysis.checks.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.limits import Point, Violation, check, comparable, point, undecided
from dbcpu.analysis.history.strangers import explained, strangers
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rules import CheckLimits
from dbcpu.config.settings import settings
from dbcpu.errors import UsageError
from dbcpu.formatting import moment, plain
from dbcpu.record import Header, RunRecord
from dbcpu.store import codec
from dbcpu.store.database import Store, load_run, open_store
from dbcpu.store.record_file import is_file_name
from dbcpu.workflows.readable_runs import ReadableRuns

BUSY = 4
"""Exit code: beyond the limits on a host that was busy with strangers."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A run and what it is beyond. ``strangers``: what others took of its host, '' for little.

    ``exit_code``: 0, 1, or BUSY where the host was busy with strangers and these may be all of it.
    """

    record: RunRecord
    violations: tuple[Violation, ...]
    strangers: str
    context: str
    exit_code: int

    def lines(self) -> Iterator[str]:
        """A line per violation, and a last one with host, verdict and cause; none where there is nothing to say."""
        header = self.record.header
        said = [each.text for each in self.violations]
        if said and self.strangers:
            said.append(
                f"the host was busy with strangers ({self.strangers}): not shown to be a worse host, measure again"
                if self.exit_code == BUSY
                else f"meanwhile {self.strangers}"
            )
        for each in (*said, self.context) if said else ():
            yield plain(f"{header.plan.target} {header.run_id}: {each}") + "\n"

    def data(self) -> Mapping[str, Any]:
        """The same for programs."""
        found = [codec.encode(each) for each in self.violations]
        return {"run_id": self.record.header.run_id, "violations": found, "strangers": self.strangers,
                "context": self.context}  # fmt: skip


def checked(
    run: str | None, store: str | None, target: str | None, given: Mapping[str, float | None], strict: bool = False
) -> Checked:
    """The run, and what it is beyond. ``run`` None: the newest, of ``target`` if given.

    ``given`` are limits from the command line: None means not given, 0 switches one off. ``strict``: levels that are
    undecided are among them, as inconclusive.

    Raises:
        UsageError: there is no such run.
    """
    limits = _limits(given)
    if run is not None and is_file_name(run):
        record = load_run(run)
        return _checked(record, (), limits, strict)
    with open_store(store, create=False) as opened:
        record = opened.load(run if run is not None else _newest(opened, target))
        return _checked(record, history(ReadableRuns(opened), record, limits.runs), limits, strict)


def _checked(record: RunRecord, earlier: tuple[Point, ...], limits: CheckLimits, strict: bool) -> Checked:
    analysis = explain(record)
    found = (*check(record, analysis, earlier, limits), *(undecided(analysis) if strict else ()))
    counted = [each for each in found if strict or not each.inconclusive]
    others = strangers(record.rounds, analysis.vcpus)
    code = 0 if not counted else BUSY if others and explained(counted) else 1
    return Checked(record, found, others, _context(record, analysis), code)


def _context(record: RunRecord, analysis: Analysis) -> str:
    """``on db1; No: at N=2 all are slower; main cause: shared core``."""
    answer, host = headline(analysis), record.header.host
    causes = [f"main cause: {fact.value}" for fact in answer.facts if fact.name == "main cause"]
    return "; ".join([f"on {host.hostname}" if host else "host not known", answer.headline, *causes])


def history(runs: ReadableRuns, record: RunRecord, most: int) -> tuple[Point, ...]:
    """Up to ``most`` earlier comparable runs of the target, the oldest first."""
    earlier = (found for run_id in earlier_runs(runs, record.header) if (found := runs.load(run_id)) is not None)
    return tuple(reversed([point(found, explain(found)) for found in islice(earlier, most)]))


def earlier_runs(runs: ReadableRuns, header: Header) -> Iterator[str]:
    """The complete runs before ``header``'s that are comparable with it, the newest first."""
    hostname = header.host.hostname if header.host else ""
    for each in runs.list(header.plan.target):
        # Most runs of a shared store are of other hosts: their headers need not be read.
        if each.run_id == header.run_id or each.status != "complete" or each.hostname != hostname:
            continue
        if not started_before(each.started_at, header.started_at):
            continue
        earlier = runs.header(each.run_id)
        if earlier is not None and comparable(header, earlier):
            yield each.run_id


def started_before(one: str, other: str) -> bool:
    """By time, whatever the zone and the digits; by text where one is no time."""
    first, second = moment(one), moment(other)
    return first < second if first and second else one < other


def _newest(store: Store, target: str | None) -> str:
    newest = store.list(1, target)
    if not newest:
        of = f" of {target!r}" if target else ""
        raise UsageError(f"the store {store.shown} holds no run{of} yet; dbcpu run measures one")
    return newest[0].run_id


def _limits(given: Mapping[str, float | None]) -> CheckLimits:
    limits = settings().limits
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(limits, **{name: value or None for name, value in chosen.items()})  # type: ignore[arg-type]
