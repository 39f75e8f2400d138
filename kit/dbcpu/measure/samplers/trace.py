"""Placement to the microsecond, by the kernel's own trace of every switch, and who ran while a session waited.

For root on this machine, or on a host reached over ssh (there sudo -n will do). Counters, the host's CPUs and other
processes are as procfs or ssh have them; their polls go on, and are what is kept of a round whose trace is not whole.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Host, RemoteHost, is_over
from dbcpu.hosts.driver_process import has_capability
from dbcpu.measure.samplers import _local
from dbcpu.measure.samplers.base import Sampled, Sampler, Seen, Watched
from dbcpu.record.rounds import RanInstead, Residency, Trace, WakeUps

if TYPE_CHECKING:
    from dbcpu.measure.samplers._tracer import Tracer

PREFERENCE = 5
"""Only where it is named: it needs root, and reads what every process of the host does."""
CAP_SYS_ADMIN = 21
SLACK, MIN_SLACK_S = 0.05, 0.02
"""The trace and the counters of the kernel agree within this share of the CPU time, or these seconds."""


class TraceSampler:
    """See ``samplers.base.Sampler``."""

    def __init__(self, polls: Sampler, tracer: "Tracer") -> None:
        self._polls, self._tracer = polls, tracer
        self._lost = ""

    @property
    def pid(self) -> int | None:
        return self._polls.pid or self._tracer.pid

    @property
    def helpers(self) -> tuple[int, ...]:
        """Processes of its own on the traced host, beside those of the polls."""
        return self._tracer.helpers

    def __enter__(self) -> Self:
        try:
            self._tracer.open()
            self._polls.__enter__()
        except MeasureError as error:
            self._tracer.close()
            raise _impossible(str(error)) from None
        except BaseException:
            self._tracer.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._polls.__exit__(None, None, None)
        finally:
            self._tracer.close()

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        self._polls.start(watched, (*kit_pids, *self.helpers))
        self._try(lambda: self._tracer.begin(watched))

    def stop(self) -> Sampled:
        self._try(self._tracer.end)
        sampled = self._polls.stop()
        summary: dict[str, Any] = {}
        self._try(lambda: summary.update(self._tracer.collect()))
        if self._lost or not summary:
            return replace(sampled, trace=Trace(0, 0, self._lost))
        traced = {each["ordinal"]: each for each in summary["sessions"]}
        lost = summary["lost"]
        why = summary["why"] or (f"{lost} events were lost" if lost else _differs(sampled, traced))
        trace = Trace(summary["events"], lost, why)
        if why:
            return replace(sampled, trace=trace)
        sessions = tuple(_traced(one, traced[one.ordinal]) for one in sampled.sessions)
        clock = self._tracer.clock
        clocks = (*sampled.clocks, clock) if clock else sampled.clocks
        return replace(sampled, sessions=sessions, trace=trace, clocks=clocks)

    def _try(self, step: Callable[[], object]) -> None:
        """Once the trace is lost, the polls go on alone."""
        if self._lost:
            return
        try:
            step()
        except MeasureError as error:
            self._lost = str(error)


def _differs(sampled: Sampled, traced: Mapping[int, Mapping[str, Any]]) -> str:
    """Whether the kernel counted another CPU time than the trace shows: then events are missing. '' if not.

    What the hypervisor took from a running process is in the trace's time, and in the counters it is not.
    """
    stolen_s = sum(sum(each.steal_s) for each in sampled.cpu_timeline)
    for one in sampled.sessions:
        if one.cpu_s is None or one.cpu_source != "schedstat" or one.vanished:
            continue
        run_s, slack_s = _run_s(traced[one.ordinal]), max(MIN_SLACK_S, SLACK * one.cpu_s)
        if not one.cpu_s - slack_s <= run_s <= one.cpu_s + slack_s + stolen_s:
            return f"of session {one.ordinal} it shows {run_s:.3f} s of CPU time, and schedstat {one.cpu_s:.3f} s"
    return ""


def _run_s(traced: Mapping[str, Any]) -> float:
    return sum(float(stretch[4]) for stretch in traced["stretches"])


def _traced(seen: Seen, traced: Mapping[str, Any]) -> Seen:
    """What the trace shows in place of what the polls show. The counters stay, and stretches add up to them."""
    run_s = _run_s(traced)
    share = seen.cpu_s / run_s if seen.cpu_s and seen.cpu_source == "schedstat" and run_s else 1.0
    return replace(
        seen,
        migrations_seen=traced["migrations"],
        residency=tuple(
            Residency(cpu, state, from_s, to_s, ran_s * share, waited_s)
            for cpu, state, from_s, to_s, ran_s, waited_s in traced["stretches"]
        ),
        ran_instead=tuple(RanInstead(*one) for one in traced["instead"]),
        wake_ups=WakeUps(*traced["woken"]) if traced["woken"] else None,
    )


def host_route(configured: str | None) -> str | None:
    """Any will do: whether it is this machine is found out."""
    return None


def unavailable(host: Host | None) -> str | None:
    """Why nothing can be traced there, or None. Whether the kernel and sudo allow it is not tried: see ``refusal``."""
    if is_over(host, "ssh"):
        return None
    if isinstance(host, RemoteHost):
        return f"a kernel is traced on this machine and over ssh, not by {host.name}"
    if (why := _local.unavailable(host)) is not None:
        return why
    if os.geteuid() != 0:
        return "tracing needs root"
    if not has_capability(CAP_SYS_ADMIN):
        return "tracing needs CAP_SYS_ADMIN, which this container or service does not have"
    return None


def refusal(host: Host | None, *, sudo: bool = True) -> str | None:
    """Why nothing can be traced there, or None, after a trace of a moment. ``sudo``: as for ``Tracer.open``."""
    if (why := unavailable(host)) is not None or host is None:
        return why
    from dbcpu.measure.samplers._tracer import Tracer

    tracer = Tracer(host)
    try:
        tracer.open(sudo=sudo)
    except MeasureError as error:
        return str(error)
    finally:
        tracer.close()
    return None


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be traced: before a run measures anything, long before it is entered."""
    why = refusal(host)
    if host is None or why is not None:
        raise _impossible(why)
    from dbcpu.measure.samplers._remote import open_over
    from dbcpu.measure.samplers._tracer import Tracer

    polls = open_over("ssh", host, hz, None) if is_over(host, "ssh") else _local.open_local(host, hz)
    return TraceSampler(polls, Tracer(host))


def _impossible(why: str | None) -> MeasureError:
    """Which sampler can be used there instead follows from the route, where none is named."""
    return MeasureError(f"--sampler trace is not possible: {why}; leave out --sampler trace")
