"""The server processes may use one CPU of each core only: SMT off for them, without touching the host."""

from dbcpu.formatting import ranges
from dbcpu.variants.base import Change, VariantContext, affinities, by_core, no_argument, unreachable

SCOPE = "process"
ARGUMENT = ""
HELP = "one CPU of each core"


def check(argument: str) -> None:
    no_argument("one_per_core", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    return already(argument, context) or unreachable(context)


def already(argument: str, context: VariantContext) -> str | None:
    if context.host is not None and all(len(core) == 1 for core in by_core(context.host)):
        return "no core has two CPUs that may be used, as far as the kernel shows"
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    first = ranges(core[0] for core in by_core(context.host))
    return affinities(context.host, (first,) * sessions)
