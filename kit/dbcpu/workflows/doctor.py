"""``dbcpu doctor`` of a target that is reached from here: what would distort a run, without one."""

import re
from collections.abc import Iterable
from contextlib import ExitStack

from dbcpu.config.request import Request
from dbcpu.formatting import joined
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.quiesce import settle
from dbcpu.measure import workloads
from dbcpu.measure.host_access import choose_access
from dbcpu.measure.preflight import exact_placement, examine
from dbcpu.measure.rounds import limits_of_a_session
from dbcpu.record.findings import Finding
from dbcpu.targets.base import open_target
from dbcpu.workflows.measure_run import CLOCK_TICKS, Choices, host_info_of, limited, requested_access, ticks_of

_STATEMENTS = re.compile(r"`((?:[^`;]+;){2,})`")
"""Several in one remedy."""


def diagnose(request: Request, host: str | None = None) -> tuple[Finding, ...]:
    """The findings of ``dbcpu doctor`` for a target: opened, examined, and closed again. Raises as ``run`` does."""
    choices = Choices(host=host)
    with ExitStack() as stack:
        guard = stack.enter_context(Guard())
        target = stack.enter_context(open_target(request, guard))
        work = workloads.load(target.kind, choices.workload or workloads.usual(target.kind)).work(choices.size)
        chosen = choose_access(target, requested_access(choices, request), work, CLOCK_TICKS, stack, guard)
        limits = limits_of_a_session(target, chosen.host, ticks_of(chosen.host), work) if chosen.host else None
        info = limited(host_info_of(chosen.host), limits)
        quiet = settle(chosen.host, 1.0) if chosen.host else None
        found = examine(target, chosen.host, info, quiet, chosen.why)
        return (*found, exact_placement(chosen.host)) if chosen.host else found


def as_text(findings: Iterable[Finding]) -> str:
    """A paragraph per finding, for a terminal or a log; statements one to a line, as sqlplus takes them."""
    return "\n".join(
        f"{finding.level.label:8} {finding.code}: {joined(finding.seen, finding.meaning)}"
        + (f"\n         remedy: {_one_to_a_line(finding.remedy)}".replace(" \n", "\n") if finding.remedy else "")
        for finding in findings
    )


def _one_to_a_line(remedy: str) -> str:
    return _STATEMENTS.sub(
        lambda found: "".join(f"\n           {each.strip()};" for each in found[1].split(";")[:-1]), remedy
    )
