"""The scheduling policy of the server processes (``policy:batch``, ``idle`` or ``other``), as chrt sets it.

Where autogroup is on, nice values and ``idle`` count only within one process session; each server process of PostgreSQL
is one of its own, so that between them nothing changes. Source: sched(7), "The autogroup feature"
"""

from dbcpu.errors import UsageError
from dbcpu.hosts.proc import NORMAL_POLICIES
from dbcpu.record.findings import Finding, noted
from dbcpu.variants.base import Change, VariantContext, unreachable

SCOPE = "process"
ARGUMENT = "batch"
HELP = "scheduling policy: batch, idle or other"


def check(argument: str) -> None:
    if argument not in NORMAL_POLICIES:
        known = ", ".join(f"policy:{name}" for name in sorted(NORMAL_POLICIES))
        raise UsageError(f"variant policy:{argument} is not known; there are: {known}")


def why_not(argument: str, context: VariantContext) -> str | None:
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    return tuple(Change(f"policy:{ordinal}", "other", argument) for ordinal in range(sessions))


def findings(argument: str, context: VariantContext) -> tuple[Finding, ...]:
    """Autogroup takes away the effect of a policy between process sessions."""
    autogroup = context.host is not None and context.host.facts.get("sched_autogroup") == "1"
    if argument != "idle" or not autogroup:  # batch changes no weight
        return ()
    return (noted("autogroup", f"autogroup is on, and policy:{argument} was requested"),)
