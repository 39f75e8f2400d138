"""The earlier runs of a target, for a comparison with one run a side: by how much do its figures differ?"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice

from msgspec.structs import replace

from dbcpu.analysis.comparison.decisions import MIN_HISTORY
from dbcpu.analysis.comparison.measured_run import MeasuredSide
from dbcpu.analysis.history.limits import comparable
from dbcpu.analysis.levels.round_figures import RoundFigures, figures_by_round
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.config.given_file import is_there
from dbcpu.errors import StoreError
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from dbcpu.store.engine import locate
from dbcpu.workflows.check import earlier_runs, started_before
from dbcpu.workflows.readable_runs import ReadableRuns

MAX_RUNS = 20
"""So many are read at most, the newest: what was usual a year ago may be no longer."""


def with_history(sides: Sequence[MeasuredSide], store: str | None) -> list[MeasuredSide]:
    """Each side of one run with the history of its target; without a store, or with several runs a side, as it is."""
    if any(len(each.runs) > 1 for each in sides):
        return list(sides)
    try:
        path = locate(store).path
        if path is not None and not is_there(path):
            return list(sides)
        with open_store(store, create=False) as opened:
            runs = ReadableRuns(opened)
            read = cache(runs.load)  # sides of one target share their history
            return [replace(each, history=_history(runs, read, each, sides)) for each in sides]
    except StoreError:
        return list(sides)  # a history that cannot be read is not known; runs from files need no store


def _history(
    runs: ReadableRuns, read: Callable[[str], RunRecord | None], side: MeasuredSide, sides: Sequence[MeasuredSide]
) -> tuple[tuple[RoundFigures, ...], ...]:
    """The runs before the earliest side of the same target, or, if those are too few, before a later one.

    So a change between the sides is no part of what is usual.
    """
    own = side.first.record.header
    compared = {each.first.record.header.run_id for each in sides}
    headers = [each.first.record.header for each in sides]
    same = [each for each in headers if each is own or comparable(own, each)]
    found: list[str] = []
    for header in _oldest_first(same):
        found = [each.run_id for each in earlier_runs(runs, header) if each.run_id not in compared]
        if len(found) >= MIN_HISTORY:
            break
    return tuple(
        figures_by_round(one_variant(record, side.variant))
        for record in map(read, islice(found, MAX_RUNS))
        if record is not None and side.variant in record.header.plan.variants
    )


def _oldest_first(headers: Sequence[Header]) -> list[Header]:
    ordered: list[Header] = []
    for header in headers:
        at = next((at for at, other in enumerate(ordered) if started_before(header.started_at, other.started_at)), None)
        ordered.insert(len(ordered) if at is None else at, header)
    return ordered
