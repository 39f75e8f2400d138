"""The server processes may use so many CPUs (``ncpus:4``): one of each core first, then second threads.

With ``dbcpu vary --per-cpu`` a bare number behind ``cpus:`` means this variant.
"""

from dbcpu.formatting import ranges
from dbcpu.variants.base import Change, VariantContext, affinities, count, spread_order, unreachable, usable

SCOPE = "process"
ARGUMENT = "4"
HELP = "so many CPUs, one of each core first"


def check(argument: str) -> None:
    count("ncpus", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    if context.host is None:
        return unreachable(context)
    there = len(usable(context.host))
    if int(argument) > there:
        return f"only {there} CPUs are online and may be used"
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    return affinities(context.host, (ranges(spread_order(context.host)[: int(argument)]),) * sessions)
