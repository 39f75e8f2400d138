"""Each session is bound to a CPU of its own, and the siblings of a core are filled before the next core is begun."""

from dbcpu.variants.base import Change, VariantContext, affinities, by_core, no_argument, unreachable

SCOPE = "process"
ARGUMENT = ""
HELP = "a CPU for each session, the siblings of a core first"


def check(argument: str) -> None:
    no_argument("pack", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    """Beyond the last CPU it begins again with the first. Without siblings this is one CPU after the other."""
    assert context.host is not None
    order = [cpu for core in by_core(context.host) for cpu in core]
    return affinities(context.host, tuple(str(order[i % len(order)]) for i in range(sessions)))
