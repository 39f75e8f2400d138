"""When each session really ran, by one clock for the whole run, and which sessions count.

A session's span begins with the client's stamp before its first send: waiting for a CPU to begin the
statement is part of what the session lost. It ends with the server's stamp where there is one, for client
stamps of the end can be late by the driver's own delay. Where the server's clock is known only to more than
1 % of the shortest span, both ends are the server's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from dbcpu.analysis.frozen_rows import made
from dbcpu.analysis.placement.residency import Bounds
from dbcpu.analysis.placement.work_done import undone
from dbcpu.formatting import seconds
from dbcpu.record import Execution, HostInfo, Round, RunRecord, Session

TRUSTED_CLOCK_SHARE = 0.01
SOAK = "soak"
MIN_LEFT = 0.05
Key = tuple[int, int]
"""Of a session in its run: the order of its round, and its ordinal."""
FASTER, CLOCK_STEP_S = 1.01, 0.05
"""A clock that is slewed runs up to 0.05 % faster, and its stamps are a step of it apart."""
_BY_SERVER = ("server_start_s", "server_elapsed_s")
_COUNTED = ("cpu_s", "run_delay_s")
ONLY_WAITED = "its jobs only waited"
SERVER_CLOCK = "server"
"""``Clock.source`` of the database's own; a remote sampler's says nothing of when an execution ran."""


@dataclass(frozen=True, slots=True)
class Span:
    """From the first start to the last end of a session; ``executions`` are (start, end) offsets in seconds.

    ``idle_s``: what jobs took meanwhile that only waited, and where callers wait for each answer the time in which no
    call was there; it is no part of ``elapsed_s``.
    """

    executions: tuple[tuple[float, float], ...]
    start_s: float
    end_s: float
    idle_s: float = 0.0

    @property
    def elapsed_s(self) -> float:
        return self.end_s - self.start_s - self.idle_s

    @property
    def per_execution_s(self) -> float:
        return self.elapsed_s / len(self.executions)

    def shortened(self, by_s: float) -> "Span":
        """As if so many seconds less had been lost, evenly over its time; a twentieth of it is left at least."""
        factor = max(MIN_LEFT, 1 - by_s / self.elapsed_s)

        def moved(at_s: float) -> float:
            return self.start_s + (at_s - self.start_s) * factor

        executions = tuple((moved(begin), moved(end)) for begin, end in self.executions)
        return Span(executions, self.start_s, moved(self.end_s), self.idle_s * factor)


@dataclass(frozen=True, slots=True)
class Timed:
    """A session in its round, with its span. ``why`` says why it is left out of verdicts; '' if it counts.

    ``undone``: its answer is right, and its work was not done (see ``work_done``). ``remote``: it mostly ran on
    another NUMA node than those that it may have memory on.
    """

    round: Round
    session: Session
    span: Span | None
    why: str
    undone: bool
    remote: bool
    key: Key


def clock_basis(record: RunRecord) -> str:
    """``client``, ``server``, or ``mixed`` (client start, server end), the same for all sessions of the run."""
    sessions = [session for each in record.rounds for session in each.sessions if session.executions]
    executions = [execution for session in sessions for execution in session.executions]
    if not executions or any(None in map(attrgetter(name), executions) for name in _BY_SERVER):
        return "client"
    clocks = [clock for each in record.rounds for clock in each.clocks if clock.source == SERVER_CLOCK]
    uncertainty_s = max((clock.uncertainty_s for clock in clocks), default=0.0)
    if uncertainty_s <= 0:
        return "mixed"
    if uncertainty_s <= TRUSTED_CLOCK_SHARE * min(each.elapsed_s for each in executions):
        return "mixed"  # no session is shorter than its executions
    in_turn = record.header.plan.one_at_a_time
    shortest_s = min(_span(session, "client", in_turn=in_turn).elapsed_s for session in sessions)
    return "mixed" if uncertainty_s <= TRUSTED_CLOCK_SHARE * shortest_s else "server"


def timed(record: RunRecord) -> tuple[Timed, ...]:
    """Every session of every round, in the order of the record."""
    return _all_timed(record, record.rounds)


def timed_round(record: RunRecord, order: int | None) -> tuple[Timed, ...]:
    """The sessions of the round with this ``order``, by the clock of the whole run; none if there is no such round."""
    found = [each for each in record.rounds if each.order == order]
    return _all_timed(record, found) if found else ()


def bounds_of(members: Sequence[Timed]) -> Bounds:
    """From when to when each ran, in seconds after the release of its round."""
    return Bounds.of([(each.span.start_s, each.span.end_s) if each.span else None for each in members])


def _all_timed(record: RunRecord, rounds: Sequence[Round]) -> tuple[Timed, ...]:
    basis, not_done, in_turn = clock_basis(record), undone(record), record.header.plan.one_at_a_time
    node = kernel_node_of(record.header.host)
    every_node = frozenset(node.values())
    members = [(each, session) for each in rounds for session in each.sessions]
    timings = [_timing(each, session, basis, not_done, in_turn) for each, session in members]
    spans, whys, undone_by = zip(*timings, strict=True) if timings else ((), (), ())
    columns: dict[str, Sequence[object]] = {
        "round": [each for each, _ in members],
        "session": [session for _, session in members],
        "span": spans,
        "why": whys,
        "undone": undone_by,
        "remote": [bool(session.memory_nodes) and _is_remote(session, node, every_node) for _, session in members],
        "key": [(each.order, session.ordinal) for each, session in members],
    }
    found = tuple(made(Timed, columns, len(members)))
    return tuple(map(_of_its_span, found)) if record.header.plan.experiment == SOAK else found


def _of_its_span(member: Timed) -> Timed:
    """Of a soak, whose sessions never stop: counters are of the segment, executions those that ended in it.

    They share less or more than the segment: of the counters as much counts as the executions lasted.
    """
    window_s = member.round.cost.window_s if member.round.cost else 0.0
    if member.span is None or window_s <= 0 or member.round.anchor:
        return member
    session = member.session
    # A session neither runs nor waits for longer than it lasted.
    part = member.span.elapsed_s / max(window_s, (session.cpu_s or 0.0) + (session.run_delay_s or 0.0))
    counted = {name: value * part for name in _COUNTED if (value := getattr(session, name)) is not None}
    return replace(member, session=replace(session, **counted))


def _timing(
    round_: Round, session: Session, basis: str, not_done: Mapping[Key, str], in_turn: bool
) -> tuple[Span | None, str, bool]:
    """Its span, why it is left out, and whether that is because its work was not done: as ``Timed`` has them."""
    span = _span(session, basis, in_turn=in_turn) if session.executions else None
    if span is not None and span.elapsed_s <= 0:
        return None, "its times run backwards", False
    if basis != "client" and (step := _clock_step(session)):
        return None, step, False
    why = _why_left_out(round_, session)
    if not why and not_done and (reason := not_done.get((round_.order, session.ordinal))):
        return span, f"the work was not done: {reason}", True
    return span, why, False


def _clock_step(session: Session) -> str:
    """That the server's clock was set meanwhile, or '': the driver's stamps enclose all that the server did."""
    stamped = [e for e in session.executions if e.server_start_s is not None and e.server_elapsed_s is not None]
    if not stamped:
        return ""
    if min([each.server_elapsed_s or 0.0 for each in stamped]) < 0:
        return "the server's clock was set back while it ran"
    first, last = stamped[0], stamped[-1]
    server_s = (last.server_start_s or 0.0) + (last.server_elapsed_s or 0.0) - (first.server_start_s or 0.0)
    driver_s = last.start_s + last.elapsed_s - first.start_s
    if server_s <= FASTER * driver_s + CLOCK_STEP_S:
        return ""
    seen = f"{seconds(server_s)} by it, {seconds(driver_s)} by the driver's"
    return f"the server's clock was set forward while it ran: {seen}"


def kernel_node_of(host: HostInfo | None) -> dict[int, int]:
    """By CPU, its memory node in the kernel's numbers, as those of ``Session.memory_nodes``; not of an offline one."""
    if host is None:
        return {}
    pairs = (pair.split("=") for pair in host.facts.get("kernel_nodes", "").split())
    theirs = {int(ours): int(number) for ours, number in pairs}
    return {each.cpu: theirs.get(each.node, each.node) for each in host.topology.cpus if each.node >= 0}


def _is_remote(session: Session, node: Mapping[int, int], every_node: frozenset[int]) -> bool:
    if every_node.issubset(session.memory_nodes):
        return False
    near_s = far_s = 0.0
    for each in session.residency:
        if each.state == "R" and each.cpu in node:
            length_s = each.to_s - each.from_s
            if node[each.cpu] in session.memory_nodes:
                near_s += length_s
            else:
                far_s += length_s
    return far_s > near_s


def _why_left_out(round_: Round, session: Session) -> str:
    if round_.error:
        return f"the round failed: {round_.error}"
    if session.error:
        return session.error
    if not session.executions:
        return ONLY_WAITED if session.blocked else "no execution ended"
    return "wrong answer" if session.answer_ok is False else ""


def _span(session: Session, basis: str, *, in_turn: bool) -> Span:
    """``in_turn``: a job was called for when another had been answered; between two there may have been none."""
    first, *others = session.executions
    first_s, last_s = _interval(first, basis, first=True)
    executions: tuple[tuple[float, float], ...] = ((first_s, last_s),)
    if others:
        executions += tuple([_interval(each, basis, first=False) for each in others])
        last_s = max([end_s for _, end_s in executions])
    if not (session.blocked or in_turn):
        return Span(executions, first_s, last_s)
    between = [each for each in session.blocked if first_s <= each.start_s < last_s]
    idle_s = sum(each.elapsed_s for each in between)
    if in_turn:
        jobs = sorted((*session.executions, *between), key=lambda job: job.start_s)
        idle_s += sum(max(0.0, after.start_s - before.start_s - before.elapsed_s) for before, after in pairwise(jobs))
    return Span(executions, first_s, last_s, idle_s)


def _interval(execution: Execution, basis: str, first: bool) -> tuple[float, float]:
    client_end_s = execution.start_s + execution.elapsed_s
    if basis == "client" or execution.server_start_s is None or execution.server_elapsed_s is None:
        return execution.start_s, client_end_s
    server_end_s = execution.server_start_s + execution.server_elapsed_s
    if basis == "server":
        return execution.server_start_s, server_end_s
    start_s = execution.start_s if first else execution.server_start_s
    return start_s, min(server_end_s, client_end_s)


def database_cpu_s(session: Session) -> float | None:
    """CPU seconds that the database counted for the session, or None if it does not count it."""
    return session.db.get("db_cpu_s")
