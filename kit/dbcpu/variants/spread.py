"""Each session is bound to a CPU of its own, on an empty core as long as there is one.

Against ``pack`` at the same N it measures what sharing a core costs, with placement as the one thing that differs.
"""

from dbcpu.variants.base import Change, VariantContext, affinities, no_argument, spread_order, unreachable

SCOPE = "process"
ARGUMENT = ""
HELP = "a CPU for each session, an empty core first"


def check(argument: str) -> None:
    no_argument("spread", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    """Beyond the last CPU it begins again with the first."""
    assert context.host is not None
    order = spread_order(context.host)
    return affinities(context.host, tuple(str(order[i % len(order)]) for i in range(sessions)))
