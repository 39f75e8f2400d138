"""So many slowdowns that dots would overlap: sessions and main cause per field of a grid."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.results.cause import CAUSES
from dbcpu.analysis.results.run import LevelView, SessionView


class Density(Struct, frozen=True):
    """A grid of C columns (neighbouring levels together) and R rows (slowdown, equal steps of its logarithm).

    ``levels`` are the levels of each column; ``edges`` (R + 1) slowdowns; ``share`` (R, C) the part of the column's
    sessions; ``cause`` (R, C) indexes ``CAUSES``: the most frequent cause of the field; -1 where there are no sessions.
    """

    levels: tuple[tuple[LevelView, ...], ...]
    edges: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    cause: npt.NDArray[np.int64]


def density(levels: Sequence[LevelView], views: Sequence[SessionView], columns: int, rows: int) -> Density:
    """Count the ``views`` that have a slowdown; at most ``columns`` columns, ``rows`` rows."""
    parts = np.array_split(np.arange(len(levels)), min(columns, len(levels)))
    column_of = {levels[int(at)].level: column for column, part in enumerate(parts) for at in part}
    known = [each for each in views if each.slowdown is not None and each.level in column_of]
    slowdowns = np.array([each.slowdown for each in known], dtype=np.float64)
    edges = np.geomspace(min(0.95, float(slowdowns.min())), max(2.0, float(slowdowns.max())) * 1.001, rows + 1)
    row = np.clip(np.searchsorted(edges, slowdowns, side="right") - 1, 0, rows - 1)
    column = np.array([column_of[each.level] for each in known], np.int64)
    cause = np.array([CAUSES.index(each.cause) for each in known], np.int64)
    counts = np.zeros((rows, len(parts), len(CAUSES)), np.int64)
    np.add.at(counts, (row, column, cause), 1)
    total = counts.sum(axis=2)
    share = total / np.maximum(1, total.sum(axis=0))
    main = np.where(total > 0, counts.argmax(axis=2), -1)
    return Density(tuple(tuple(levels[int(at)] for at in part) for part in parts), edges, share, main)
