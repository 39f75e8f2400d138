"""The table ``figure`` of a store: figures of analysed runs, which can be deleted and made again at any time.

Rows have the number of the analysis that made them; readers ask for that of their own program. A run that is being
measured gets none, nor does one that has got more rounds than were analysed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from math import isfinite
from types import NoneType
from typing import Any

from msgspec.structs import astuple
from sqlalchemy import Engine, Float, Select, cast, delete, func, insert, or_, select

from dbcpu.errors import StoreError
from dbcpu.record.figures import ROUNDS_BYTES, ROUNDS_COLUMNS, Figure, RunFigures
from dbcpu.store.engine import Location, translated_errors
from dbcpu.store.schema import rows
from dbcpu.store.schema.tables import figure, round_, run

ALWAYS = "verdict"
"""The metric that every analysed run has."""
_AT_ONCE = 500
"""Runs per query: databases limit the parameters of a statement."""
_COUNTED = {
    ROUNDS_BYTES: func.sum(func.length(round_.c.body)),
    # By order, so that two rounds that change places are seen; as floats, which no value makes overflow.
    ROUNDS_COLUMNS: func.sum(
        cast(round_.c.order + 1, Float(53)) * (cast(round_.c.level, Float(53)) + cast(round_.c.repeat, Float(53)))
        + func.length(round_.c.variant)
    ),
}
"""What the store itself says of the rounds of a run."""
_VALUES = (
    figure.c.metric,
    figure.c.level,
    figure.c.variant,
    figure.c.value,
    figure.c.low,
    figure.c.high,
    figure.c.text,
)
_KINDS: Sequence[set[object]] = ({str}, {int}, {str}, *3 * ({float, NoneType},), {str, NoneType})
"""What these hold, and which of them are ``_NUMBERS``."""
_NUMBERS = (3, 4, 5)


class FigureTable:
    """That of an open store. ``lacks``: why it has none, of an older store that cannot be written to; else ''.

    All methods raise StoreError when the database fails, and those that make, count or delete figures where it lacks.
    """

    def __init__(self, location: Location, reading: Engine, *, lacks: str = "") -> None:
        self._location, self._reading, self._lacks = location, reading, lacks
        self._writing = reading.execution_options(writes=True)

    def of(self, run_ids: Sequence[str], analysis: int, metrics: Sequence[str] = ()) -> dict[str, RunFigures]:
        """Those of each run that was analysed by this ``analysis``; only of these ``metrics`` if any are given.

        Without the counts that are the store's own.
        """
        found: dict[str, list[Figure]] = {}
        if self._lacks or not run_ids:
            return {}
        are_sound = True
        with translated_errors(self._location), self._reading.connect() as connection:
            for begin in range(0, len(run_ids), _AT_ONCE):
                wanted = figure.c.run_id.in_(run_ids[begin : begin + _AT_ONCE]) & (figure.c.analysis == analysis)
                wanted &= figure.c.metric.in_({ALWAYS, *metrics}) if metrics else figure.c.metric.not_in(_COUNTED)
                if rows_found := connection.execute(select(figure.c.run_id, *_VALUES).where(wanted)).all():
                    of_run, *columns = zip(*rows_found, strict=True)
                    are_sound = are_sound and _are_sound(columns)
                    made = map(Figure, *columns)
                    # Rows of one run stand together, mostly: taken at once they cost a fifth of one by one.
                    for run_id, own in groupby(of_run):
                        found.setdefault(run_id, []).extend(islice(made, len([*own])))
        # All at once first: of ten thousand runs looking at each one by itself takes as long as reading it.
        return {
            run_id: RunFigures(figures)
            for run_id, figures in found.items()
            if are_sound or _are_sound([*zip(*map(astuple, figures), strict=True)])
        }

    def texts(self, metric: str, analysis: int) -> Mapping[str, str]:
        """Run -> text of one metric of the whole run, for all runs that have it."""
        if self._lacks:
            return {}
        own = (figure.c.run_id == run.c.run_id) & (figure.c.analysis == analysis) & (figure.c.metric == metric)
        wanted = select(run.c.run_id, figure.c.text).join(figure, own & (figure.c.level == 0))
        with translated_errors(self._location), self._reading.connect() as connection:
            return {run_id: text for run_id, text in connection.execute(wanted).all() if isinstance(text, str)}

    def keep(self, run_id: str, analysis: int, figures: Iterable[Figure], rounds: int) -> bool:
        """In place of what is kept of this and older analyses, if the run is over and has so many ``rounds``."""
        self._refuse_older()
        values = [rows.figure_values(run_id, analysis, each) for each in figures]
        with translated_errors(self._location), self._writing.begin() as connection:
            same = (run.c.run_id == run_id) & (run.c.rounds == rounds) & (run.c.status != "running")
            if connection.scalar(select(run.c.run_id).where(same).with_for_update()) is None:
                return False
            older = (figure.c.run_id == run_id) & (figure.c.analysis <= analysis)
            connection.execute(delete(figure).where(older))
            stored = connection.execute(select(*_COUNTED.values()).where(round_.c.run_id == run_id)).one()
            own = [Figure(metric, value=float(value or 0)) for metric, value in zip(_COUNTED, stored, strict=True)]
            connection.execute(insert(figure), [*values, *(rows.figure_values(run_id, analysis, each) for each in own)])
            return True

    def of_other_rounds(self, run_ids: Sequence[str], analysis: int) -> frozenset[str]:
        """Those of these runs whose rounds have other bytes or columns than when this ``analysis`` was kept.

        The length of a body is known without reading it: sqlite.org/c3ref/blob_bytes.html, PostgreSQL octet_length.
        """
        found: set[str] = set()
        if self._lacks:
            return frozenset()
        with translated_errors(self._location), self._reading.connect() as connection:
            for begin in range(0, len(run_ids), _AT_ONCE):
                some = run_ids[begin : begin + _AT_ONCE]
                counted = [count.label(metric) for metric, count in _COUNTED.items()]
                now = select(round_.c.run_id, *counted).where(round_.c.run_id.in_(some))
                stored = now.group_by(round_.c.run_id).subquery()
                of_run = (figure.c.run_id.in_(some)) & (figure.c.analysis == analysis)
                then = select(figure.c.run_id).join(stored, stored.c.run_id == figure.c.run_id, isouter=True)
                others = (
                    (figure.c.metric == metric) & (figure.c.value != func.coalesce(stored.c[metric], 0))
                    for metric in _COUNTED
                )
                found.update(connection.scalars(then.where(of_run & or_(*others))).all())
        return frozenset(found)

    def lacking(self, analysis: int) -> tuple[str, ...]:
        """Runs that are over and were not analysed by this ``analysis``, the newest first."""
        self._refuse_older()
        wanted = self._over().where(run.c.run_id.not_in(self._analysed(analysis))).order_by(run.c.started_at.desc())
        with translated_errors(self._location), self._reading.connect() as connection:
            found: Sequence[object] = connection.scalars(wanted).all()
        return tuple(run_id for run_id in found if isinstance(run_id, str))

    def analysed(self, analysis: int) -> int:
        """How many runs have figures of this ``analysis``."""
        self._refuse_older()
        counted = select(func.count()).select_from(self._analysed(analysis).subquery())
        with translated_errors(self._location), self._reading.connect() as connection:
            return int(connection.scalar(counted) or 0)

    def drop(self) -> int:
        """Delete the figures of all runs and analyses; returns of how many runs."""
        self._refuse_older()
        with translated_errors(self._location), self._writing.begin() as connection:
            runs = connection.scalar(select(func.count(figure.c.run_id.distinct())))
            connection.execute(delete(figure))
            return int(runs or 0)

    def _refuse_older(self) -> None:
        if self._lacks:
            raise StoreError(self._lacks)

    @staticmethod
    def _over() -> Select[tuple[str]]:
        return select(run.c.run_id).where(run.c.status != "running")

    @staticmethod
    def _analysed(analysis: int) -> Select[tuple[str]]:
        return select(figure.c.run_id).where((figure.c.analysis == analysis) & (figure.c.metric == ALWAYS))


def _are_sound(columns: Sequence[Sequence[Any]]) -> bool:
    """Whether these hold what ``_VALUES`` do: a column of SQLite may hold a value of any type, and any number."""
    of_kinds = all(kinds.issuperset(map(type, column)) for kinds, column in zip(_KINDS, columns, strict=True))
    return of_kinds and all(all(map(isfinite, filter(None, columns[at]))) for at in _NUMBERS)
