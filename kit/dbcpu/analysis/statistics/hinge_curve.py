"""The forms of a throughput curve: straight lines that meet at a bend and at knees.

    m = min(N, knee1),  speed(N) = a - c (min(m, bend) - 1) / (bend - 1)
    y(N) = m speed(N) + d clip(N - knee1, 0, knee2 - knee1)

y is the sum of rates in rates of one session alone. ``a`` is 1 but for noise. ``c / a`` is the share of speed lost
to turbo: at the first knee, where ``bend`` is knee 1, or earlier, where the speed is held from a ``bend`` of its own
on. ``d`` is what each session beyond knee 1 adds; it may be below 0.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dbcpu.analysis.statistics.cumulative import Floats


class CurveForm(Struct, frozen=True):
    """Which parts the curve has. A curve that is not ``flat`` in the end goes on after its last knee.

    ``held``: turbo ends at a bend of its own, and the speed is held from there to the first knee.
    """

    knees: int
    flat: bool
    turbo: bool
    held: bool = False

    @property
    def coefficients(self) -> int:
        return 1 + self.turbo + (self.knees - self.flat)

    @property
    def places(self) -> int:
        """Axes of a grid: the bend, if there is one, and the knees."""
        return self.held + self.knees

    @property
    def parameters(self) -> int:
        return self.coefficients + self.places


class Hinge(Struct, frozen=True):
    """A fitted curve, up to the level ``most``. ``error``: root mean square of the relative residuals.

    ``places``: the bend of a held form, then the knees.
    """

    form: CurveForm
    places: tuple[float, ...]
    coefficients: tuple[float, ...]
    chi2: float
    error: float
    most: int

    @property
    def knees(self) -> tuple[float, ...]:
        return self.places[int(self.form.held) :]

    @property
    def bend(self) -> float | None:
        """Where turbo ends, if it does before the first knee."""
        return self.places[0] if self.form.held else None

    def at(self, level: float) -> float:
        """The curve at ``level`` sessions, in rates of one session alone."""
        return float(self.along((level,))[0])

    def along(self, levels: Sequence[float]) -> Floats:
        """The same at each of ``levels``, (levels,)."""
        rows = design_matrix(np.asarray(levels, dtype=np.float64), self.form, edges(self.form, self.places), self.most)
        return np.asarray(rows[0] @ np.array(self.coefficients))

    @property
    def turbo(self) -> float:
        """Share of speed lost from one session to the bend or the first knee; 0 where the form has none."""
        return self.coefficients[1] / self.coefficients[0] if self.form.turbo else 0.0

    @property
    def further(self) -> float | None:
        """What a session beyond the first knee adds, in rates of one with a core to itself; None without a knee."""
        if not self.knees:
            return None
        if self.form.knees == 1 and self.form.flat:
            return 0.0
        return self.coefficients[-1] / (self.at(self.knees[0]) / self.knees[0])


class Edges(Struct, frozen=True):
    """Where the parts of curves end, each (G,); infinity where there is none."""

    bend: Floats
    first: Floats
    last: Floats


def edges(form: CurveForm, grid: Floats | Sequence[float]) -> Edges:
    """Of each row of ``grid`` (G, places)."""
    places = np.array(grid, dtype=np.float64, ndmin=2, copy=None)
    never = _never(len(places))
    return Edges(
        places[:, 0] if form.held else never,
        places[:, int(form.held)] if form.knees else never,
        places[:, -1] if form.flat else never,
    )


@lru_cache(maxsize=64)
def _never(count: int) -> Floats:
    return np.full(count, np.inf)


def design_matrix(n: Floats, form: CurveForm, at: Edges, most: int) -> Floats:
    """(G, levels, coefficients); ``n`` is (levels,), or (G, levels) where each row has its own.

    ``most``: the highest level that was fitted; without a bend and a knee the turbo slope ends there.
    """
    found = design_columns(n, form, at, most)
    return found[0][..., None] if len(found) == 1 else np.stack(found, axis=-1)


def design_columns(n: Floats, form: CurveForm, at: Edges, most: int) -> list[Floats]:
    """The columns one by one, each (G, levels)."""
    n = np.array(n, ndmin=2, copy=None)
    within = np.minimum(n, at.first[:, None])
    found = [within]
    if form.turbo:
        end = np.minimum(at.bend, at.first)
        end = np.where(np.isfinite(end), end, max(2.0, float(most)))[:, None]
        found.append(-within * (np.minimum(within, end) - 1) / np.maximum(end - 1, 1.0))
    if form.knees - form.flat:
        found.append((n - at.first[:, None]).clip(0.0, (at.last - at.first)[:, None]))
    return found
