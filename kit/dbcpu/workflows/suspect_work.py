"""Work that is not done, as far as it shows before the first round: said before minutes are spent."""

from collections.abc import Callable

from dbcpu.analysis.sessions.plausible_work import other_plan, too_fast
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import Header
from dbcpu.targets.base import Work


def too_fast_alone(kind: str, work: Work, elapsed_s: float) -> tuple[Finding, ...]:
    """What a baseline that no CPU can have says, or nothing."""
    why = too_fast(kind, work.name, work.rows, elapsed_s)
    return (noted("work-not-done", f"before the run: {why}"),) if why else ()


def say_other_plan(header: Header, say: Callable[[str], object]) -> None:
    """That the plan is not the workload's, if so."""
    work = header.plan.workload
    if why := other_plan(header.database.kind, work.name, work.plan_shape):
        say(f"this run will not count: {why}")
