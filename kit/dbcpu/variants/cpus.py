"""The server processes may use these CPUs only (``cpus:0-3``): taskset, or a psrset of other systems."""

from dbcpu.errors import UsageError
from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.variants.base import Change, VariantContext, affinities, not_among, unreachable, usable

SCOPE = "process"
ARGUMENT = "0-3"
HELP = "these CPUs only"
COUNTED_AS = "ncpus"


def check(argument: str) -> None:
    if not parse_cpu_list(argument):
        raise UsageError("variant cpus names no CPU; give a list of CPUs as the kernel writes it, such as cpus:0-3,8")


def why_not(argument: str, context: VariantContext) -> str | None:
    if context.host is None:
        return unreachable(context)
    there = {cpu.cpu for cpu in usable(context.host)}
    missing = set(parse_cpu_list(argument)) - there
    if missing:
        return f"{not_among(missing, there)}, which {'is' if len(there) == 1 else 'are'} online and may be used"
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    return affinities(context.host, (ranges(parse_cpu_list(argument)),) * sessions)
