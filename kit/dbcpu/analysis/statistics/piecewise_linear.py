"""A throughput curve as straight lines that meet at knees, fitted by a grid over the knees and least squares.

    m = min(N, knee1)
    y(N) = a m - c m (m - 1) / (knee1 - 1) + d clip(N - knee1, 0, knee2 - knee1)

y is the sum of rates in rates of one session alone. ``a`` is 1 but for noise, ``c / a`` is the share of speed
lost when every core is busy (turbo), ``d`` what each session beyond knee 1 adds. Residuals are relative, as
the noise of rates is. A form with more knees or with turbo is taken only if it is clearly better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MIN_NOISE = 0.01
"""Relative; curves are not taken to be straighter than this, or the fit would chase every bend."""
WORTH = 8.0
"""A further parameter must lower chi squared by this much (Akaike's 2 is for choosing, not for claiming)."""
EXPECTED = 1.5
"""Parameters' worth of credit for the whole shape that the topology shows: it stands until rates speak against it."""
BEND = (0.03, 0.95)
"""A second part of the curve is one of its own if what a session adds there is within these, against a core."""
MAX_TURBO = 0.6
MAX_YIELD = 1.02
MIN_BEYOND = 1.02
"""A knee counts only with a level this much beyond it."""
COARSE, FINE = 64, 25
MISFIT_PASSES, BISECTIONS = 3, 40


@dataclass(frozen=True, slots=True)
class CurveForm:
    """Which parts the curve has. A curve that is not ``flat`` in the end goes on rising after its last knee."""

    knees: int
    flat: bool
    turbo: bool

    @property
    def coefficients(self) -> int:
        return 1 + self.turbo + (self.knees - self.flat)


FORMS = tuple(
    CurveForm(knees, flat, turbo)
    for turbo in (False, True)
    for knees, flat in ((0, False), (1, True), (1, False), (2, True))
)


@dataclass(frozen=True, slots=True)
class Hinge:
    """A fitted curve, up to the level ``most``. ``error``: root mean square of the relative residuals."""

    form: CurveForm
    knees: tuple[float, ...]
    coefficients: tuple[float, ...]
    chi2: float
    error: float
    most: int

    def at(self, level: float) -> float:
        """The curve at ``level`` sessions, in rates of one session alone."""
        row = columns(np.array([level], dtype=np.float64), self.form, *edges(self.form, self.knees), self.most)
        return float(row[0, 0] @ np.array(self.coefficients))

    @property
    def turbo(self) -> float:
        """Share of speed lost from one session to the first knee; 0 where the form has none."""
        return self.coefficients[1] / self.coefficients[0] if self.form.turbo else 0.0

    @property
    def further(self) -> float | None:
        """What a session beyond the first knee adds, in rates of one with a core to itself; None without a knee."""
        if not self.knees:
            return None
        if self.form.knees == 1 and self.form.flat:
            return 0.0
        return self.coefficients[-1] / (self.at(self.knees[0]) / self.knees[0])


@dataclass(frozen=True, slots=True)
class Solved:
    """Curves with given knees: chi squared (G,), coefficients (G, p), inverse of the normal equations (G, p, p)."""

    chi2: Floats
    coefficients: Floats
    inverse: Floats

    def kept(self, which: npt.NDArray[np.bool_]) -> "Solved":
        return Solved(self.chi2[which], self.coefficients[which], self.inverse[which])


def best(
    levels: Sequence[int], rates: Sequence[float], noise: Sequence[float], expected: tuple[float, ...] = ()
) -> Hinge | None:
    """The simplest form that fits about as well as any; None with fewer than four levels.

    Args:
        rates: per level, in rates of one session alone.
        noise: relative standard error of each.
        expected: knees that the topology makes likely. They need not be sought, so a form with just these counts as
            simpler; its knees are then moved to where the rates put them.
    """
    if len(levels) < 4:
        return None
    n, y, sigma = (np.asarray(each, dtype=np.float64) for each in (levels, rates, noise))
    sigma = np.maximum(sigma, MIN_NOISE)
    scored = [(_score(made), made) for form in FORMS if (made := _fit(n, y, sigma, form)) is not None]
    for form in FORMS:
        for knees in combinations(expected, form.knees) if form.knees else ():
            made = _at_best(n, y, sigma, form, np.array([knees]))
            if made is None:
                continue
            credit = 0.0
            if form.knees == 2:
                if not BEND[0] <= (made.further or 0.0) <= BEND[1]:
                    continue
                credit = EXPECTED * WORTH
            scored.append((_score(made) - WORTH * form.knees - credit, _moved(n, y, sigma, made)))
    return min(scored, key=lambda each: each[0], default=(0.0, None))[1]


def settled(
    hinge: Hinge, levels: Sequence[int], rates: Sequence[float], noise: Sequence[float]
) -> tuple[Hinge, tuple[float, ...]]:
    """The same form with its knees where they fit best, and the relative error of each rate by which they do.

    An error is the noise, and what the form does not describe beside it, alike at all levels: as much as makes chi
    squared what it should be. Otherwise levels with little noise would bend a curve of another form to themselves.
    """
    n, y, known = (np.asarray(each, dtype=np.float64) for each in (levels, rates, noise))
    spare, misfit = n.size - _parameters(hinge.form), 0.0
    for _ in range(MISFIT_PASSES):
        hinge = _moved(n, y, np.hypot(known, misfit), hinge)
        residuals = np.array([hinge.at(level) for level in levels]) / y - 1
        misfit = _misfit(residuals, known, spare)
    return hinge, tuple(float(each) for each in np.hypot(known, misfit))


def _misfit(residuals: Floats, noise: Floats, spare: int) -> float:
    """What is to be added to the noise, squared, that chi squared is ``spare``; 0 if it is no more without."""
    low, high = 0.0, float(np.abs(residuals).max()) * residuals.size
    if spare <= 0 or (residuals**2 / noise**2).sum() <= spare:
        return 0.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        more = (residuals**2 / (noise**2 + middle**2)).sum() > spare
        low, high = (middle, high) if more else (low, middle)
    return high


def _fit(n: Floats, y: Floats, sigma: Floats, form: CurveForm) -> Hinge | None:
    if n.size < _parameters(form) + 1:
        return None
    if form.knees == 0:
        return _at_best(n, y, sigma, form, np.zeros((1, 0)))
    found = _at_best(n, y, sigma, form, _everywhere(n, form))
    return found and _moved(n, y, sigma, found)


def _moved(n: Floats, y: Floats, sigma: Floats, hinge: Hinge) -> Hinge:
    """The same form with its knees where they fit best nearby."""
    if not hinge.knees:
        return _at_best(n, y, sigma, hinge.form, np.zeros((1, 0))) or hinge
    for spread in (0.12, 0.015):
        hinge = _at_best(n, y, sigma, hinge.form, _near(hinge.knees, n, spread)) or hinge
    return hinge


def _parameters(form: CurveForm) -> int:
    return form.coefficients + form.knees


def _score(hinge: Hinge) -> float:
    return hinge.chi2 + WORTH * _parameters(hinge.form)


def _everywhere(n: Floats, form: CurveForm) -> Floats:
    low, high = float(n.min()), float(n.max())
    places = np.unique(np.concatenate([n, np.geomspace(max(1.0, low), high, COARSE)]))
    if form.knees == 1:
        return places[:, None]
    return np.array([(first, second) for first in places for second in places if second > first])


def _near(knees: Sequence[float], n: Floats, spread: float) -> Floats:
    factors = np.linspace(1 - spread, 1 + spread, FINE)
    axes = [np.clip(knee * factors, n.min(), n.max()) for knee in knees]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(knees))
    return grid if len(knees) == 1 else grid[grid[:, 0] < grid[:, 1]]


def _at_best(n: Floats, y: Floats, sigma: Floats, form: CurveForm, grid: Floats) -> Hinge | None:
    """The best knees of ``grid`` (G, knees) that the levels can show and that make sense."""
    grid = grid[shown(n, form, grid)]
    if not len(grid):
        return None
    solved = solve(n, y, sigma, form, grid)
    total = np.where(_sensible(form, solved.coefficients.T), solved.chi2, np.inf)
    index = int(np.argmin(total))
    if not np.isfinite(total[index]):
        return None
    own, weight = columns(n, form, *edges(form, grid[index]), int(n.max()))[0], 1.0 / (sigma * y)
    exact, *_ = np.linalg.lstsq(own * weight[:, None], y * weight, rcond=None)
    residual = own @ exact / y - 1
    return Hinge(
        form,
        tuple(float(knee) for knee in grid[index]),
        tuple(float(value) for value in exact),
        float(total[index]),
        float(np.sqrt(np.mean(residual**2))),
        int(n.max()),
    )


def solve(n: Floats, y: Floats, sigma: Floats, form: CurveForm, grid: Floats) -> Solved:
    """Least squares at each row of ``grid`` (G, knees); ``sigma`` is relative."""
    weight = 1.0 / (sigma * y)
    weighted, target = columns(n, form, *edges(form, grid), int(n.max())) * weight[:, None], y * weight
    inverse = np.asarray(np.linalg.inv(_normal(weighted)), dtype=np.float64)
    found = (inverse @ (weighted.transpose(0, 2, 1) @ target)[..., None])[..., 0]
    chi2 = (((weighted @ found[..., None])[..., 0] - target) ** 2).sum(axis=1)
    return Solved(chi2, found, inverse)


def _normal(weighted: Floats) -> Floats:
    """The normal equations' matrices (G, p, p), with a trace on the diagonal: some knees make two columns alike."""
    normal = weighted.transpose(0, 2, 1) @ weighted
    traces = np.trace(normal, axis1=1, axis2=2)[:, None, None]
    return np.asarray(normal + 1e-9 * traces * np.eye(normal.shape[-1]))


def edges(form: CurveForm, grid: Floats | Sequence[float]) -> tuple[Floats, Floats]:
    """First knee, and where the curve becomes flat, each (G,); infinity where there is none."""
    knees = np.atleast_2d(np.asarray(grid, dtype=np.float64))
    never = np.full(len(knees), np.inf)
    if form.knees == 0:
        return never, never
    return knees[:, 0], knees[:, -1] if form.flat else never


def columns(n: Floats, form: CurveForm, first: Floats, last: Floats, most: int) -> Floats:
    """(G, levels, coefficients); ``n`` is (levels,), or (G, levels) where each row has its own.

    ``most``: the highest level that was fitted; without a knee the turbo slope ends there.
    """
    n = np.atleast_2d(n)
    within = np.minimum(n, first[:, None])
    parts = [within]
    if form.turbo:
        full = np.where(np.isfinite(first), first, max(2.0, float(most)))
        parts.append(-within * (within - 1) / np.maximum(full - 1, 1.0)[:, None])
    if form.knees - form.flat:
        parts.append(np.clip(n - first[:, None], 0.0, (last - first)[:, None]))
    return np.stack(parts, axis=-1)


def shown(n: Floats, form: CurveForm, grid: Floats) -> npt.NDArray[np.bool_]:
    """Whether enough levels lie on each part: two on the first (three with turbo), two on the next, one on the flat."""
    if form.knees == 0:
        return np.full(len(grid), n.size >= 3)
    first, last = edges(form, grid)
    on_first = (n <= first[:, None] * 1.001).sum(axis=1)
    beyond = (n > first[:, None] * MIN_BEYOND).sum(axis=1)
    enough = (on_first >= (3 if form.turbo else 2)) & (beyond >= 1)
    if form.knees - form.flat:
        between = ((n > first[:, None] * MIN_BEYOND) & (n <= last[:, None] * 1.001)).sum(axis=1)
        enough &= between >= 2
    if form.flat:
        enough &= (n > last[:, None] * MIN_BEYOND).sum(axis=1) >= 1
    return np.asarray(enough)


def _sensible(form: CurveForm, coefficients: Floats) -> npt.NDArray[np.bool_]:
    """``coefficients``: the form's own along the first axis."""
    start = coefficients[0]
    fine, speed = start > 0, start
    if form.turbo:
        fine = fine & (coefficients[1] >= 0) & (coefficients[1] <= MAX_TURBO * start)
        speed = start - coefficients[1]
    if form.knees - form.flat:
        fine = fine & (coefficients[-1] >= 0) & (coefficients[-1] <= MAX_YIELD * speed)
    return np.asarray(fine)
