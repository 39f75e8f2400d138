"""How much more work do more sessions get done?

Knees are not told yet: that needs a fit of the throughput curve. The yield of SMT and the effective cores
are ratios of measured levels and need none.
"""

from collections.abc import Sequence

from dbcpu.analysis.base import LevelView, Reference, Scaling


def scaling(levels: Sequence[LevelView], reference: Reference | None, vcpus: int | None, cores: int | None) -> Scaling:
    """From the levels of one variant.

    ``smt_yield``: throughput on all vCPUs over that on all cores, minus 1; None unless the topology shows
    siblings and both levels were measured. ``effective_cores``: best throughput in solo rates; None unless
    some level had at least as many sessions as there are vCPUs.
    """
    rate = {each.level: each.throughput for each in levels if each.throughput is not None}
    on_cores, on_vcpus = rate.get(cores or 0), rate.get(vcpus or 0)
    siblings = cores is not None and vcpus is not None and cores < vcpus
    full = vcpus is not None and any(level >= vcpus for level in rate)
    return Scaling(
        knees=(),
        smt_yield=on_vcpus / on_cores - 1 if siblings and on_cores and on_vcpus else None,
        effective_cores=max(rate.values()) / reference.mrows_per_s if full and reference else None,
    )
