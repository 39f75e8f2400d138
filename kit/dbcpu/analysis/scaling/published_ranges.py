"""What others found that second threads add, to stand beside a run's own yield. Ranges, no limits: the work differs."""

from dataclasses import dataclass
from datetime import date

from dbcpu.analysis.results.run import Analysis


@dataclass(frozen=True, slots=True)
class PublishedYield:
    """What all threads add to the throughput of one thread per core, from ``low`` to ``high``; read on ``dated``."""

    work: str
    hosts: str
    low: float
    high: float
    source: str
    dated: date


_READ = date(2026, 11, 22)
_CERN = "CERN, L. Canali: data of test_cpu_parallel and SLOB (github.com/LucaCanali/Miscellaneous)"
_SPARE_CORES = "Spare Cores: stress-ng div16 by instance type, 5th to 95th percentile (github.com/SpareCores)"
YIELDS = (
    PublishedYield("integer loop", "4 Intel Xeon servers", 0.01, 0.23, _CERN, _READ),
    PublishedYield("Oracle logical reads", "3 Intel Xeon servers", 0.40, 0.51, _CERN, _READ),
    PublishedYield(
        "integer division", "123 EC2 types, Intel Skylake and Cascade Lake", 0.32, 0.35, _SPARE_CORES, _READ
    ),
    PublishedYield("integer division", "32 EC2 types, Intel Broadwell (E5-2686 v4)", 0.10, 0.31, _SPARE_CORES, _READ),
    PublishedYield("integer division", "262 EC2 types, Intel Ice Lake and later", 0.02, 0.25, _SPARE_CORES, _READ),
    PublishedYield("integer division", "212 cloud types, AMD Zen with SMT", 0.0, 0.03, _SPARE_CORES, _READ),
)


def published_yields(analysis: Analysis) -> tuple[PublishedYield, ...]:
    """All of them where the run has a yield of second threads, else ()."""
    vcpus, cores = analysis.vcpus, analysis.cores
    has_threads = bool(vcpus and cores and cores < vcpus)
    return YIELDS if has_threads and analysis.scaling.smt_yield is not None else ()
