"""``dbcpu doctor`` of a target that is reached from here: what would distort a run, without one."""

from contextlib import ExitStack

from dbcpu.config.request import Request
from dbcpu.findings import Finding
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.quiesce import settle
from dbcpu.measure import workloads
from dbcpu.measure.host_access import choose_access
from dbcpu.measure.preflight import examine
from dbcpu.measure.rounds import limits_of_a_session
from dbcpu.targets.base import load_target
from dbcpu.workflows.measure_run import CLOCK_TICKS, Choices, host_info_of, requested_access, ticks_of


def diagnose(request: Request, host: str | None = None) -> tuple[Finding, ...]:
    """The findings of ``dbcpu doctor`` for a target: opened, examined, and closed again. Raises as ``run`` does."""
    choices = Choices(host=host)
    with ExitStack() as stack:
        guard = stack.enter_context(Guard())
        target = stack.enter_context(load_target(request.kind).open_target(request, guard))
        work = workloads.load(target.kind, choices.workload or workloads.usual(target.kind)).work(choices.size)
        chosen = choose_access(target, requested_access(choices, request), work, CLOCK_TICKS, stack, guard)
        limits = limits_of_a_session(target, chosen.host, ticks_of(chosen.host), work) if chosen.host else None
        info = host_info_of(chosen.host, limits)
        return examine(target, chosen.host, info, settle(chosen.host, 1.0) if chosen.host else None, chosen.why)
