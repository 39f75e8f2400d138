"""What ``dbcpu check`` does: a run, the history of its target from the store, limits from everywhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.history.against_earlier_runs import AgainstHistory, against_history
from dbcpu.analysis.history.limits import (
    MIN_RUNS,
    HistoryKey,
    HistoryPoint,
    Violation,
    check,
    fewer_vcpus,
    history_key,
    in_maintenance,
    point,
    same_history,
    undecided,
)
from dbcpu.analysis.history.strangers import may_all_be_strangers, stranger_words, strangers
from dbcpu.analysis.results.cause import Cause
from dbcpu.config.check_limits import CheckLimits, limit
from dbcpu.config.settings import settings
from dbcpu.errors import BusyHost, StoreError, UsageError
from dbcpu.formatting import moment, plain
from dbcpu.record.figures import VERSION, RunFigures
from dbcpu.record.header import POOL, SOAK, TOGETHER, Header
from dbcpu.record.rounds import Round
from dbcpu.store import codec
from dbcpu.store.database import RunSummary, Store, load_run, open_store
from dbcpu.store.record_file import is_file_name
from dbcpu.workflows.kept_figures import KeptFigures, figures_of
from dbcpu.workflows.readable_runs import ReadableRuns, refuse_unknown

BUSY = BusyHost.exit_code
"""Exit code: beyond the limits on a host that was busy with strangers."""
AT_ONCE = 20
"""Of earlier runs, so many are looked up together: a few more than a check compares by default."""
NOT_CHECKED = {
    SOAK: "of a soak no limit is about drift, two groups of times, gaps or the worst segment",
    POOL: "of a pool no limit is about max/min, for its sessions share the jobs unequally by design, nor about which "
    "size is enough; its slowdown is that of a job",
    TOGETHER: "of several targets together only the first is checked, alone; no limit is about what they lose beside "
    "each other",
}
"""By experiment: what the limits, which are those of a sweep, leave out."""


class Checked(Struct, frozen=True):
    """A run and what it is beyond. ``strangers``: what others took of its host, '' for little.

    ``exit_code``: 0, 1, or BUSY where the host was busy with strangers and these may be all of it.
    """

    header: Header
    violations: tuple[Violation, ...]
    strangers: str
    context: str
    exit_code: int

    def lines(self) -> Iterator[str]:
        """A line per violation, and a last one with host, verdict and cause; none where there is nothing to say."""
        header = self.header
        said = [each.text for each in self.violations]
        if said and self.strangers:
            said.append(stranger_words(self.strangers, may_be_all=self.exit_code == BUSY))
        for each in (*said, self.context) if said else ():
            yield plain(f"{header.plan.target} {header.run_id}: {each}") + "\n"

    @property
    def not_checked(self) -> str:
        """What is left out of a run that is no sweep, and what shows it; '' of a sweep."""
        left_out = NOT_CHECKED.get(self.header.plan.experiment)
        return f"{left_out}: see dbcpu show {self.header.run_id}" if left_out else ""

    def data(self) -> Mapping[str, Any]:
        """The same for programs."""
        found = [codec.encode(each) for each in self.violations]
        return {"run_id": self.header.run_id, "violations": found, "strangers": self.strangers,
                "context": self.context, "not_checked": self.not_checked}  # fmt: skip


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
        figures = figures_of(record.header, record.rounds)
        return _checked(record.header, figures, (), limits, strict, lambda: record.rounds)
    with open_store(store, create=False) as opened:
        header = opened.header(run if run is not None else _newest(opened, target))
        runs = ReadableRuns(opened)
        kept = KeptFigures(opened, runs, compared=True)
        figures = kept.of_one(header.run_id)
        earlier = history(runs, kept, header, limits.runs)
        lost = None if earlier else _lost_vcpus(runs, header)
        return _checked(header, figures, earlier, limits, strict, lambda: opened.rounds(header.run_id), lost)


def _lost_vcpus(runs: ReadableRuns, header: Header) -> Violation | None:
    """Against the newest complete run before it on the same host; none of them can be compared with this one."""
    newest = next(_before(header, runs.newest_first(header.plan.target)), None)
    key = None if newest is None else runs.history_key(newest.run_id)
    return None if newest is None or key is None else fewer_vcpus(history_key(header), key, newest.run_id)


def _checked(
    header: Header,
    figures: RunFigures,
    earlier: Sequence[HistoryPoint],
    limits: CheckLimits,
    strict: bool,
    rounds: Callable[[], Iterable[Round]],
    lost: Violation | None = None,
) -> Checked:
    """``rounds``: of the run, read only to name strangers. ``lost``: of vCPUs, against a run that is none of the
    ``earlier`` ones, for these have as many."""
    found = (*check(header, figures, earlier, limits), *(undecided(figures) if strict else ()))
    found = found if lost is None else (lost, *found)
    counted = [each for each in found if strict or not each.inconclusive]
    others = strangers(figures, limits.steal)
    if found and others:
        # A check that finds nothing names nobody, and needs none of the findings.
        from dbcpu.analysis.conclusions.host_findings import strangers_named

        others = strangers(figures, limits.steal, strangers_named(rounds(), header.plan.vcpus))
    code = 0 if not counted else BUSY if others and may_all_be_strangers(counted) else 1
    return Checked(header, found, others, _context(header, figures), code)


def _context(header: Header, figures: RunFigures) -> str:
    """``on db1; No: at N=2 all are slower; main cause: shared core``."""
    cause = Cause.of(figures.text("lost_to"))
    causes = [f"main cause: {cause.words}"] if cause else []
    return "; ".join(
        [f"on {header.host.hostname}" if header.host else "host not known", figures.text("headline"), *causes]
    )


def against_earlier_runs(
    store: Store, header: Header, figures: RunFigures, *, make: bool = False
) -> AgainstHistory | None:
    """A run of the store beside those before it, as ``_checked`` compares them; None where there is no history.

    Figures that are not kept are made with ``make``; else, where one is lacking, there is none either.
    """
    try:
        limits, runs = settings().limits, ReadableRuns(store)
        earlier = [each.run_id for each in islice(earlier_runs(runs, header), limits.runs)]
        if len(earlier) < MIN_RUNS or not (make or len(store.figures.of(earlier, VERSION, ["rounds"])) == len(earlier)):
            return None
        found = history(runs, KeptFigures(store, runs), header, limits.runs)
    except StoreError:
        return None  # what cannot be read is not known, and the run itself can be shown
    return against_history(header, figures, found, limits)


def history(runs: ReadableRuns, kept: KeptFigures, header: Header, most: int) -> tuple[HistoryPoint, ...]:
    """Up to ``most`` earlier comparable runs of the target, the oldest first."""
    earlier = {each.run_id: each.started_at for each in islice(earlier_runs(runs, header), most)}
    known, maintenance = kept.of(list(earlier)), in_maintenance(header)
    return tuple(
        point(run_id, earlier[run_id], figures, maintenance) for run_id, figures in reversed(list(known.items()))
    )


def earlier_runs(runs: ReadableRuns, header: Header) -> Iterator[RunSummary]:
    """The complete runs before ``header``'s that are comparable with it, the newest first."""
    return _comparable(runs, history_key(header), _before(header, runs.newest_first(header.plan.target)))


def same_before(
    runs: ReadableRuns, key: HistoryKey, one: RunSummary, among: Iterable[RunSummary]
) -> Iterator[RunSummary]:
    """The same before ``one``, whose key is known, of complete runs of its target on its host."""
    return _comparable(runs, key, (each for each in among if _is_earlier(each, one.started_at, one.run_id)))


def _comparable(runs: ReadableRuns, own: HistoryKey, among: Iterable[RunSummary]) -> Iterator[RunSummary]:
    rest = iter(among)
    while some := list(islice(rest, AT_ONCE)):
        runs.look_up_keys([each.run_id for each in some])
        for each in some:
            earlier = runs.history_key(each.run_id)
            if earlier is not None and same_history(own, earlier):
                yield each


def _before(header: Header, among: Iterable[RunSummary]) -> Iterator[RunSummary]:
    """The complete ones of the same target and host before ``header``'s, comparable or not."""
    hostname = header.host.hostname if header.host else ""
    for each in among:
        # Most runs of a shared store are of other hosts: their headers need not be read.
        same_place = (each.target, each.hostname, each.status) == (header.plan.target, hostname, "complete")
        if same_place and _is_earlier(each, header.started_at, header.run_id):
            yield each


def _is_earlier(each: RunSummary, started_at: str, run_id: str) -> bool:
    """Of runs of the same moment, as imported and simulated ones are, the run_id decides: so does the store."""
    if started_before(each.started_at, started_at):
        return True
    return not started_before(started_at, each.started_at) and each.run_id < run_id


def started_before(one: str, other: str) -> bool:
    """By time, whatever the zone and the digits; by text where one is no time."""
    first, second = moment(one), moment(other)
    return first < second if first and second else one < other


def _newest(store: Store, target: str | None) -> str:
    newest = store.list(1, target)
    if not newest:
        refuse_unknown(store, "run", target, None)
        raise UsageError(f"the store {store.shown} holds no run yet; dbcpu run measures one")
    return newest[0].run_id


def _limits(given: Mapping[str, float | None]) -> CheckLimits:
    limits = settings().limits
    chosen = {name: value for name, value in given.items() if value is not None}
    wanted = {name: value and limit(name, value, f"--{name.replace('_', '-')}") for name, value in chosen.items()}
    return replace(limits, **{name: value or None for name, value in wanted.items()})
