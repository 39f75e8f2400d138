"""What others found, to stand beside a run's own figures: yield of second threads, first knee, CV between sessions.

Ranges, no limits: the work differs. CERN and EC2 figures were computed from the data named; the knees of all curves are
those of this project's own fit to them (docs/accuracy.md).
"""

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial

from msgspec import Struct

from dbcpu.analysis.results.run import Analysis

YIELD = "SMT yield"
KNEE = "first knee / cores"
CV_CORES = "CV, from 2 sessions to as many as cores"
CV_SHARED = "CV, between cores and vCPUs"
CV_FULL = "CV, N = vCPUs"
CV_OVER = "CV, more than vCPUs"


class PublishedRange(Struct, frozen=True):
    """A figure (one of the names above, a share or a ratio) from ``low`` to ``high``; read on ``dated``."""

    figure: str
    work: str
    hosts: str
    low: float
    high: float
    source: str
    dated: date


class Beside(Struct, frozen=True):
    """A published range, and the same figure of the run: of several levels the largest."""

    own: float
    published: PublishedRange


_READ = date(2026, 11, 22)
_AGAIN = date(2026, 11, 23)
_CERN = "CERN, L. Canali: data of test_cpu_parallel and SLOB (github.com/LucaCanali/Miscellaneous)"
_SPARE_CORES = "Spare Cores: stress-ng div16 by instance type, 5th to 95th percentile (github.com/SpareCores)"
_MOST = "Spare Cores: stress-ng div16 by instance type; 96 % of the types are in this range"
_XEONS = "4 Intel Xeon servers, 8 to 32 cores"
_ARTICLE = "AWS EC2 CPU (in)consistency, part 2 (January 2017): two of nine sessions took 1.5x as long"
RANGES = (
    PublishedRange(YIELD, "integer loop", "4 Intel Xeon servers", 0.01, 0.23, _CERN, _READ),
    PublishedRange(YIELD, "Oracle logical reads", "3 Intel Xeon servers", 0.40, 0.51, _CERN, _READ),
    PublishedRange(
        YIELD, "integer division", "123 EC2 types, Intel Skylake and Cascade Lake", 0.32, 0.35, _SPARE_CORES, _READ
    ),
    PublishedRange(
        YIELD, "integer division", "32 EC2 types, Intel Broadwell (E5-2686 v4)", 0.10, 0.31, _SPARE_CORES, _READ
    ),
    PublishedRange(
        YIELD, "integer division", "262 EC2 types, Intel Ice Lake and later", 0.02, 0.25, _SPARE_CORES, _READ
    ),
    PublishedRange(YIELD, "integer division", "212 cloud types, AMD Zen with SMT", 0.0, 0.03, _SPARE_CORES, _READ),
    PublishedRange(KNEE, "loops in Rust and Python", _XEONS, 0.96, 1.07, _CERN, _AGAIN),
    PublishedRange(KNEE, "Oracle logical reads", "3 Intel Xeon servers", 0.87, 0.99, _CERN, _AGAIN),
    PublishedRange(KNEE, "Spark, limited by memory", "2 Intel Xeon servers", 0.76, 0.90, _CERN, _AGAIN),
    PublishedRange(KNEE, "integer division", "2,117 cloud types with SMT", 0.95, 1.05, _MOST, _AGAIN),
    PublishedRange(CV_CORES, "loops in Rust and Python", _XEONS, 0.001, 0.057, _CERN, _AGAIN),
    PublishedRange(CV_SHARED, "loops in Rust and Python", _XEONS, 0.007, 0.115, _CERN, _AGAIN),
    PublishedRange(CV_SHARED, "Oracle SQL", "EC2 c4.4xlarge, N = 9 on 8 cores", 0.20, 0.20, _ARTICLE, _AGAIN),
    PublishedRange(CV_FULL, "loops in Rust and Python", _XEONS, 0.002, 0.009, _CERN, _AGAIN),
    PublishedRange(CV_OVER, "loops in Rust and Python", _XEONS, 0.011, 0.050, _CERN, _AGAIN),
)


def beside_published(analysis: Analysis) -> tuple[Beside, ...]:
    """Every range whose figure the run has too; those of second threads only where there are any."""
    own = {name: value for name, of in _OWN.items() if (value := of(analysis)) is not None}
    return tuple(Beside(own[each.figure], each) for each in RANGES if each.figure in own)


def _has_threads(analysis: Analysis) -> bool:
    return bool(analysis.vcpus and analysis.cores and analysis.cores < analysis.vcpus)


def _yield(analysis: Analysis) -> float | None:
    return analysis.scaling.smt_yield if _has_threads(analysis) else None


def _knee(analysis: Analysis) -> float | None:
    knees, cores = analysis.scaling.knees, analysis.cores
    return knees[0] / cores if knees and cores else None


def _cv(analysis: Analysis, wanted: Callable[[int, int, int], bool]) -> float | None:
    """The largest of the levels that are ``wanted`` by N, cores and vCPUs; of the first variant."""
    if not analysis.cores or not analysis.vcpus or not analysis.levels:
        return None
    cores, vcpus, first = analysis.cores, analysis.vcpus, analysis.levels[0].variant
    levels = [each for each in analysis.levels if each.variant == first and wanted(each.level, cores, vcpus)]
    return max((each.cv for each in levels if each.cv is not None), default=None)


_OWN: Mapping[str, Callable[[Analysis], float | None]] = {
    YIELD: _yield,
    KNEE: _knee,
    CV_CORES: partial(_cv, wanted=lambda n, cores, vcpus: 1 < n <= cores),
    CV_SHARED: partial(_cv, wanted=lambda n, cores, vcpus: cores < n < vcpus),
    CV_FULL: partial(_cv, wanted=lambda n, cores, vcpus: cores < n == vcpus),
    CV_OVER: partial(_cv, wanted=lambda n, cores, vcpus: n > vcpus),
}
