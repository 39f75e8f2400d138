"""Fits the forms of a throughput curve (``hinge_curve``) by a grid over bend and knees, and least squares.

Residuals are relative, as the noise of rates is. A form with more knees or with turbo is taken only if it is clearly
better.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.few_values import sum_of
from dbcpu.analysis.statistics.hinge_curve import CurveForm, Hinge, design_columns, design_matrix, edges
from dbcpu.analysis.statistics.robust import distinct
from dbcpu.analysis.statistics.variance_model import added_noise

MIN_NOISE = 0.01
"""Relative; curves are not taken to be straighter than this, or the fit would chase every bend."""
WORTH = 8.0
"""A further parameter must lower chi squared by this much (Akaike's 2 is for choosing, not for claiming)."""
EXPECTED = 1.5
"""Parameters' worth of credit for the whole shape that the topology shows: it stands until rates speak against it."""
BEND = (0.03, 0.95)
"""A second part of the curve is one of its own if what a session adds there is within these, against a core."""
MAX_TURBO = 0.9
MAX_BEND = 0.75
"""A bend of its own lies within this part of the way to the first knee, or it is no other form than without one."""
MAX_YIELD = 1.02
MAX_LOSS = 0.3
"""Second threads may cost this share of the throughput at the first knee (seen on real hosts: 10 %)."""
MIN_BEYOND = 1.02
"""A knee counts only with a level this much beyond it."""
COARSE, FINE = (0, 64, 64, 20), (0, 25, 25, 11)
"""Places per axis of a grid with one, two and three axes: everywhere, and near the best ones."""
MISFIT_PASSES = 3
TRACE = 1e-9
"""Of a matrix, added to its diagonal."""
IN_CACHE = 40_000
"""Places times levels that are solved at once: more would go to memory and back at each step."""
Counts = npt.NDArray[np.intp]

FORMS = tuple(
    CurveForm(knees, flat, turbo, held)
    for turbo, held in ((False, False), (True, False), (True, True))
    for knees, flat in ((0, False), (1, True), (1, False), (2, True))
)
WITHOUT_TURBO = tuple(form for form in FORMS if not form.turbo)


class Solved(Struct, frozen=True):
    """Curves with given knees: chi squared (G,), coefficients (G, p), inverse of the normal equations (G, p, p)."""

    chi2: Floats
    coefficients: Floats
    inverse: Floats

    def kept(self, which: npt.NDArray[np.bool_]) -> "Solved":
        return Solved(self.chi2[which], self.coefficients[which], self.inverse[which])


class _Found(Struct, frozen=True):
    """Where a curve's bend and knees fit best so far, and its chi squared there."""

    places: tuple[float, ...]
    chi2: float


def best_hinge(
    levels: Sequence[int],
    rates: Sequence[float],
    noise: Sequence[float],
    expected: tuple[float, ...] = (),
    forms: tuple[CurveForm, ...] = FORMS,
) -> Hinge | None:
    """The simplest form that fits about as well as any; None with fewer than four levels.

    Args:
        rates: per level, in rates of one session alone.
        noise: relative standard error of each.
        expected: knees that the topology makes likely. They need not be sought, so a form with just these counts as
            simpler; its knees are then moved to where the rates put them.
        forms: those that compete.
    """
    if len(levels) < 4:
        return None
    n, y, sigma = (np.asarray(each, dtype=np.float64) for each in (levels, rates, noise))
    sigma = np.maximum(sigma, MIN_NOISE)
    # No fit is better than one without residuals: what such a one could not win with need not be fitted.
    score, first, winner, taken = math.inf, 0, None, None
    for min_score, at, candidate in _candidates(n.size, expected, forms):
        if min_score > score:
            break
        found = candidate.found(n, y, sigma)
        if found is not None and (found.chi2 + min_score, at) < (score, first):
            score, first, winner, taken = found.chi2 + min_score, at, found, candidate
    if winner is None or taken is None:
        return None
    return _hinge(n, y, sigma, taken.form, _moved(n, y, sigma, taken.form, winner) if taken.expected else winner)


class _Candidate(Struct, frozen=True):
    """A form with knees to be sought, or with the ``expected`` ones."""

    form: CurveForm
    expected: tuple[float, ...] = ()

    @property
    def min_score(self) -> float:
        """What it would score without residuals: the lower, the better."""
        shape = EXPECTED * WORTH if len(self.expected) == 2 else 0.0
        return WORTH * (self.form.parameters - len(self.expected)) - shape

    def found(self, n: Floats, y: Floats, sigma: Floats) -> _Found | None:
        """Where it fits best, with the ``expected`` knees as they are; None where no curve of the form makes sense."""
        form, knees = self.form, self.expected
        grid = _with_bends(n, form, knees) if knees else _everywhere(tuple(n.tolist()), form)
        found = _at_best(n, y, sigma, form, grid)
        if found is None:
            return None
        if not knees:
            return _moved(n, y, sigma, form, found)
        if form.knees == 2:
            further = _hinge(n, y, sigma, form, found).further or 0.0
            return found if BEND[0] <= abs(further) <= BEND[1] else None
        return found


@lru_cache(maxsize=64)
def _candidates(
    levels: int, expected: tuple[float, ...], every: tuple[CurveForm, ...]
) -> tuple[tuple[float, int, _Candidate], ...]:
    """What so many levels can show, with what it would score without residuals, and its number: the best ones first."""
    forms = [form for form in every if levels > form.parameters]
    sought = [_Candidate(form) for form in forms]
    sought += [_Candidate(form, knees) for form in forms if form.knees for knees in combinations(expected, form.knees)]
    return tuple(sorted((each.min_score, at, each) for at, each in enumerate(sought)))


def settled(
    hinge: Hinge, levels: Sequence[int], rates: Sequence[float], noise: Sequence[float]
) -> tuple[Hinge, tuple[float, ...]]:
    """The same form with its knees where they fit best, and the relative error of each rate by which they do.

    An error is the noise, and what the form does not describe beside it, alike at all levels: as much as makes chi
    squared what it should be. Otherwise levels with little noise would bend a curve of another form to themselves.
    """
    n, y, known = (np.asarray(each, dtype=np.float64) for each in (levels, rates, noise))
    spare, misfit = n.size - hinge.form.parameters, 0.0
    for _ in range(MISFIT_PASSES):
        before, sigma = (hinge.places, misfit), np.hypot(known, misfit)
        found = _moved(n, y, sigma, hinge.form, _Found(hinge.places, hinge.chi2))
        hinge, residuals = _fitted(n, y, sigma, hinge.form, found)
        misfit = added_noise(residuals, known, spare)
        if (hinge.places, misfit) == before:
            break
    return hinge, tuple(float(each) for each in np.hypot(known, misfit))


def _moved(n: Floats, y: Floats, sigma: Floats, form: CurveForm, found: _Found) -> _Found:
    """The bend and knees that fit best near those that were found."""
    for spread in (0.12, 0.015) if form.places else (0.0,):
        found = _at_best(n, y, sigma, form, _near(found.places, n, form, spread)) or found
    return found


@lru_cache(maxsize=64)
def _everywhere(levels: tuple[float, ...], form: CurveForm) -> Floats:
    """Coarse places over all of the rising ``levels`` that these can show, (G, places)."""
    n = np.array(levels)
    if not form.places:
        return _shown(n, form, np.zeros((1, 0)))
    places = np.geomspace(max(1.0, levels[0]), levels[-1], COARSE[form.places])
    # Pairs of hundreds of levels would take memory and show no more than the coarse places, which are refined.
    if form.places == 1 or (form.places == 2 and n.size <= COARSE[2]):
        places = distinct(np.concatenate([n, places]))
    return _shown(n, form, places[_chosen(len(places), form.places)])


@lru_cache(maxsize=64)
def _chosen(count: int, many: int) -> npt.NDArray[np.intp]:
    """Which of ``count`` places, all choices of ``many`` in order; (G, many)."""
    return np.array(list(combinations(range(count), many)), dtype=np.intp).reshape(-1, many)


def _with_bends(n: Floats, form: CurveForm, knees: tuple[float, ...]) -> Floats:
    """These knees, with a bend at every place before the first of them where the form has one."""
    bends = [each for each in n if 1 < each < knees[0]] if form.held else []
    grid = np.array([(bend, *knees) for bend in bends] if form.held else [knees]).reshape(-1, form.places)
    return _shown(n, form, grid)


def _near(places: Sequence[float], n: Floats, form: CurveForm, spread: float) -> Floats:
    if not places:
        return _shown(n, form, np.zeros((1, 0)))
    factors = _factors(spread, FINE[len(places)])
    low, high = float(n[0]), float(n[-1])
    return _shown(n, form, rising_grid([np.minimum(np.maximum(place * factors, low), high) for place in places]))


@lru_cache(maxsize=16)
def _factors(spread: float, count: int) -> Floats:
    return np.linspace(1 - spread, 1 + spread, count)


def _shown(n: Floats, form: CurveForm, grid: Floats) -> Floats:
    return np.asarray(grid[has_enough_levels(n, form, grid)])


def rising_grid(axes: Sequence[Floats]) -> Floats:
    """All combinations of ``axes`` that rise, (G, axes)."""
    grid = axes[0][:, None]
    for axis in axes[1:]:
        row, at = np.nonzero(grid[:, -1:] < axis)
        grid = np.concatenate([grid[row], axis[at, None]], axis=1)
    return grid


def _at_best(n: Floats, y: Floats, sigma: Floats, form: CurveForm, grid: Floats) -> _Found | None:
    """The best of ``grid`` (G, places) that makes sense."""
    if not len(grid):
        return None
    solved = solve(n, y, sigma, form, grid)
    total = np.where(is_possible(form, solved.coefficients, grid, float(n[-1])), solved.chi2, np.inf)
    index = int(total.argmin())
    chi2 = float(total[index])
    return _Found(tuple(grid[index].tolist()), chi2) if math.isfinite(chi2) else None


def _hinge(n: Floats, y: Floats, sigma: Floats, form: CurveForm, found: _Found) -> Hinge:
    """The curve with these places; its coefficients without the trace that the normal equations need."""
    return _fitted(n, y, sigma, form, found)[0]


def _fitted(n: Floats, y: Floats, sigma: Floats, form: CurveForm, found: _Found) -> tuple[Hinge, Floats]:
    """The same, and by how much it is beyond each rate, relative."""
    most = int(n[-1])
    own, weight = design_matrix(n, form, edges(form, found.places), most)[0], 1.0 / (sigma * y)
    exact, *_ = np.linalg.lstsq(own * weight[:, None], y * weight, rcond=None)
    residual = own @ exact / y - 1
    hinge = Hinge(
        form,
        found.places,
        tuple(exact.tolist()),
        found.chi2,
        math.sqrt(sum_of(residual**2) / y.size),
        most,
    )
    return hinge, residual


def solve(n: Floats, y: Floats, sigma: Floats, form: CurveForm, grid: Floats) -> Solved:
    """Least squares at each row of ``grid`` (G, places); ``sigma`` is relative."""
    some = max(1, IN_CACHE // n.size)
    if len(grid) > some:
        solved = [solve(n, y, sigma, form, grid[at : at + some]) for at in range(0, len(grid), some)]
        return Solved(*(np.concatenate([getattr(each, name) for each in solved]) for name in Solved.__struct_fields__))
    weight = (sigma * y) ** -2
    weighted = weight * y
    terms = design_columns(n, form, edges(form, grid), int(n[-1]))
    if len(terms) == 1:
        return _solved_single(terms[0], weight, weighted, y)
    normal, right = np.empty((len(grid), len(terms), len(terms))), np.empty((len(grid), len(terms)))
    for i, j in combinations_with_replacement(range(len(terms)), 2):
        normal[:, i, j] = normal[:, j, i] = (terms[i] * terms[j]) @ weight
    for i, part in enumerate(terms):
        right[:, i] = part @ weighted
    # A trace on the diagonal, for some knees make two columns alike.
    diagonal = np.einsum("gii->gi", normal)
    diagonal += TRACE * diagonal.sum(axis=1, keepdims=True)
    inverse = np.asarray(np.linalg.inv(normal), dtype=np.float64)
    found = np.einsum("gij,gj->gi", inverse, right)
    residual = sum((part * found[:, i, None] for i, part in enumerate(terms)), -y)
    return Solved(residual**2 @ weight, found, inverse)


def _solved_single(part: Floats, weight: Floats, weighted: Floats, y: Floats) -> Solved:
    """The same of forms with one coefficient, without matrices: those of small hosts."""
    normal = (part * part) @ weight
    inverse = 1.0 / (normal + TRACE * normal)
    found = inverse * (part @ weighted)
    residual = part * found[:, None] - y
    return Solved(residual**2 @ weight, found[:, None], inverse[:, None, None])


def has_enough_levels(n: Floats, form: CurveForm, grid: Floats) -> npt.NDArray[np.bool_]:
    """Whether enough of the rising levels ``n`` lie on each part of each row of ``grid`` (G, places).

    Two on the first (three with turbo), two on the next, one on the flat. A bend of its own lies at two sessions or
    later, and has two levels between itself and the first knee.
    """
    if not form.places:
        return np.full(len(grid), n.size >= 3)
    at = edges(form, grid)

    def up_to(place: Floats) -> Counts:
        return n.searchsorted(place, side="right")

    to_first, beyond = up_to(at.first * 1.001), up_to(at.first * MIN_BEYOND)
    enough = to_first >= (3 if form.turbo else 2)
    if form.held:
        end = np.minimum(at.first, float(n[-1]))
        enough &= (at.bend >= 2) & (at.bend <= MAX_BEND * end)
        enough &= to_first - up_to(at.bend * MIN_BEYOND) >= 2
    if form.knees:
        enough &= beyond < n.size
    if form.knees - form.flat:
        enough &= up_to(at.last * 1.001) - beyond >= 2
    if form.flat and form.knees > 1:
        enough &= up_to(at.last * MIN_BEYOND) < n.size
    return np.asarray(enough)


def is_possible(form: CurveForm, coefficients: Floats, grid: Floats, most: float) -> npt.NDArray[np.bool_]:
    """Whether hardware can do so: ``coefficients`` (G, p) at the rows of ``grid`` (G, places), up to level ``most``."""
    start = coefficients[:, 0]
    fine, speed = start > 0, start
    if form.turbo:
        fine = fine & (coefficients[:, 1] >= 0) & (coefficients[:, 1] <= MAX_TURBO * start)
        speed = start - coefficients[:, 1]
    if form.knees - form.flat:
        at, adds = edges(form, grid), coefficients[:, -1]
        lost = -adds * (np.minimum(at.last, most) - at.first)
        fine = fine & (adds <= MAX_YIELD * speed) & (lost <= MAX_LOSS * speed * at.first)
    return np.asarray(fine)
