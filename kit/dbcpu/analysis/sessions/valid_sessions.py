"""When each session really ran, by one clock for the whole run, and which sessions count.

A session's span begins with the client's stamp before its first send: waiting for a CPU to begin the
statement is part of what the session lost. It ends with the server's stamp where there is one, for client
stamps of the end can be late by the driver's own delay. Where the server's clock is known only to more than
1 % of the shortest span, both ends are the server's.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise, repeat
from operator import attrgetter

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.sessions.execution_times import ExecutionTimes
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.sessions.undone_sessions import undone_in_rounds
from dbcpu.analysis.statistics.columns import column, columns
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.formatting import seconds
from dbcpu.record.header import SOAK, Header, HostInfo
from dbcpu.record.rounds import Round, RunRecord, Session

TRUSTED_CLOCK_SHARE = 0.01
MIN_LEFT = 0.05
Key = tuple[int, int]
"""Of a session in its run: the order of its round, and its ordinal."""
InSoak = tuple[str, int]
"""Of a session of a soak, in all its segments: the variant, which is the size of its SQL, and its ordinal."""
FASTER, CLOCK_STEP_S = 1.01, 0.05
"""A clock that is slewed runs up to 0.05 % faster, and its stamps are a step of it apart."""
_COUNTED = ("cpu_s", "run_delay_s")
BACKWARDS = "its times run backwards"
ONLY_WAITED = "its jobs only waited"
NONE_ENDED = "no execution ended"
STILL_RAN = f"{NONE_ENDED} in this segment"
"""Of a soak, whose executions may last longer than that."""
SERVER_CLOCK = "server"
"""``Clock.source`` of the database's own; a remote sampler's says nothing of when an execution ran."""


class Span(Struct, frozen=True):
    """From the first start to the last end of a session; ``executions`` are (start, end) offsets in seconds.

    ``idle_s``: what jobs took meanwhile that only waited, and where callers wait for each answer the time in which no
    call was there; it is no part of ``elapsed_s``. Both that and ``per_execution_s`` follow from the others; they are
    kept, for so many questions need them.
    """

    executions: tuple[tuple[float, float], ...]
    start_s: float
    end_s: float
    idle_s: float
    elapsed_s: float
    per_execution_s: float

    @classmethod
    def of(
        cls, executions: tuple[tuple[float, float], ...], start_s: float, end_s: float, idle_s: float = 0.0
    ) -> "Span":
        """With what follows from these."""
        elapsed_s = end_s - start_s - idle_s
        return cls(executions, start_s, end_s, idle_s, elapsed_s, elapsed_s / len(executions))

    def shortened(self, by_s: float) -> "Span":
        """As if so many seconds less had been lost, evenly over its time; a twentieth of it is left at least."""
        factor = max(MIN_LEFT, 1 - by_s / self.elapsed_s)
        start_s, end_s = self.start_s, self.start_s + (self.end_s - self.start_s) * factor
        executions = tuple(
            [
                (start_s + (begin_s - start_s) * factor, start_s + (one_end_s - start_s) * factor)
                for begin_s, one_end_s in self.executions
            ]
        )
        return Span.of(executions, start_s, end_s, self.idle_s * factor)


class Timed(Struct, frozen=True):
    """A session in its round, with its span. ``why`` says why it is left out of verdicts; '' if it counts.

    ``undone``: its answer is right, and its work was not done (see ``plausible_work``). ``remote``: it mostly ran on
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
    return _basis(record, ExecutionTimes.of(record.rounds))


def _basis(record: RunRecord, times: ExecutionTimes) -> str:
    """The same; ``times``: of all rounds."""
    if not times.sessions or not times.are_stamped:
        return "client"
    clocks = [clock for each in record.rounds for clock in each.clocks if clock.source == SERVER_CLOCK]
    uncertainty_s = max((clock.uncertainty_s for clock in clocks), default=0.0)
    if uncertainty_s <= 0:
        return "mixed"
    if uncertainty_s <= TRUSTED_CLOCK_SHARE * float(times.elapsed_s.min()):
        return "mixed"  # no session is shorter than its executions
    shortest_s = min(each.elapsed_s for each in _spans(record, times, "client"))
    return "mixed" if uncertainty_s <= TRUSTED_CLOCK_SHARE * shortest_s else "server"


def timed(record: RunRecord) -> tuple[Timed, ...]:
    """Every session of every round, in the order of the record."""
    times = ExecutionTimes.of(record.rounds)
    return _all_timed(record, record.rounds, times, _basis(record, times))


def timed_round(record: RunRecord, order: int | None) -> tuple[Timed, ...]:
    """The sessions of the round with this ``order``, by the clock of the whole run; none if there is no such round."""
    found = [each for each in record.rounds if each.order == order]
    return _all_timed(record, found, ExecutionTimes.of(found), clock_basis(record)) if found else ()


def by_round(sessions: Iterable[Timed]) -> list[tuple[Round, list[Timed]]]:
    """The sessions of each round together."""
    grouped = groupby(sessions, attrgetter("round.order"))
    return [(members[0].round, members) for members in (list(group) for _, group in grouped)]


def times_of(members: Iterable[Timed]) -> list[float]:
    """Seconds per execution of each, without those of which they are not known."""
    return [each.span.per_execution_s for each in members if each.span]


def session_spans(members: Sequence[Timed]) -> SessionSpans:
    """From when to when each ran, in seconds after the release of its round."""
    spans = [each.span for each in members]
    if all(spans):
        return SessionSpans(*columns(spans, "start_s", "end_s"))
    return SessionSpans.of([(span.start_s, span.end_s) if span else None for span in spans])


def _all_timed(record: RunRecord, rounds: Sequence[Round], times: ExecutionTimes, basis: str) -> tuple[Timed, ...]:
    """``times``: of these rounds."""
    sessions = [session for each in rounds for session in each.sessions]
    of_round = [*chain.from_iterable(map(repeat, rounds, [len(each.sessions) for each in rounds]))]
    keys = [*zip(map(attrgetter("order"), of_round), map(attrgetter("ordinal"), sessions), strict=True)]
    whys = [why for each in rounds for why in whys_left_out(each, record.header.plan.experiment)]
    if STILL_RAN in whys:
        ended = set[InSoak]().union(*map(that_ended, record.rounds))
        of_soak = zip(map(attrgetter("variant"), of_round), map(attrgetter("ordinal"), sessions), strict=True)
        never = [why == STILL_RAN and one not in ended for why, one in zip(whys, of_soak, strict=True)]
        whys = [NONE_ENDED if is_never else why for is_never, why in zip(never, whys, strict=True)]
    is_undone = [False] * len(sessions)
    if not_done := undone_in_rounds(record, rounds, times):
        for at, key in enumerate(keys):
            if not whys[at] and key in not_done:
                whys[at], is_undone[at] = f"the work was not done: {not_done[key]}", True
    known = _spans(record, times, basis)
    ran: Sequence[int] = range(len(sessions))
    spans: list[Span | None] = [*known]
    if len(known) < len(sessions):
        ran = [at for at, session in enumerate(sessions) if session.executions]
        spans = [None] * len(sessions)
        for at, span in zip(ran, known, strict=True):
            spans[at] = span
    for row, why in _no_times(times, known, basis).items():
        spans[ran[row]], whys[ran[row]], is_undone[ran[row]] = None, why, False
    node = kernel_node_of(record.header.host)
    own_nodes = [*map(attrgetter("memory_nodes"), sessions)]
    every_node = frozenset(node.values())
    may_be_away = {each: bool(each) and not every_node.issubset(each) for each in frozenset(own_nodes)}
    fields: dict[str, Sequence[object]] = {
        "round": of_round,
        "session": sessions,
        "span": spans,
        "why": whys,
        "undone": is_undone,
        "remote": [may_be_away[own] and _is_remote(each, node) for each, own in zip(sessions, own_nodes, strict=True)],
        "key": keys,
    }
    found = tuple(map(Timed, *(fields[name] for name in Timed.__struct_fields__)))
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


def _no_times(times: ExecutionTimes, known: Sequence[Span], basis: str) -> dict[int, str]:
    """By session, why its times are none, as the clock was set; ``known``: the spans by this ``basis``."""
    wrong = _clock_steps(times) if basis != "client" else {}
    return wrong | dict.fromkeys(np.flatnonzero(column(known, "elapsed_s") <= 0).tolist(), BACKWARDS)


def _clock_steps(times: ExecutionTimes) -> dict[int, str]:
    """By session: that the server's clock was set meanwhile. The driver's stamps enclose all that the server did."""
    first, last = times.first, times.last
    back = times.min_by_session(times.server_elapsed_s) < 0
    server_s = times.server_start_s[last] + times.server_elapsed_s[last] - times.server_start_s[first]
    driver_s = times.start_s[last] + times.elapsed_s[last] - times.start_s[first]
    steps = {
        at: f"the server's clock was set forward while it ran: {seconds(float(server_s[at]))} by it, "
        f"{seconds(float(driver_s[at]))} by the driver's"
        for at in np.flatnonzero(server_s > FASTER * driver_s + CLOCK_STEP_S).tolist()
    }
    return steps | dict.fromkeys(np.flatnonzero(back).tolist(), "the server's clock was set back while it ran")


def kernel_node_of(host: HostInfo | None) -> dict[int, int]:
    """By CPU, its memory node in the kernel's numbers, as those of ``Session.memory_nodes``; not of an offline one."""
    if host is None:
        return {}
    pairs = (pair.split("=") for pair in host.facts.get("kernel_nodes", "").split())
    theirs = {int(ours): int(number) for ours, number in pairs}
    return {each.cpu: theirs.get(each.node, each.node) for each in host.topology.cpus if each.node >= 0}


def _is_remote(session: Session, node: Mapping[int, int]) -> bool:
    near_s = far_s = 0.0
    for each in session.residency:
        if each.state == "R" and each.cpu in node:
            length_s = each.to_s - each.from_s
            if node[each.cpu] in session.memory_nodes:
                near_s += length_s
            else:
                far_s += length_s
    return far_s > near_s


def spoils_round(why: str) -> bool:
    """Whether a session that is left out for this reason leaves its round without an answer: all but one that waited.

    The others of the round had more CPU than its level gives, unless its jobs only waited.
    """
    return why not in ("", ONLY_WAITED)


def has_failed(why: str, session: Session) -> bool:
    """Whether it is left out because it ended nothing, not because its answer is wrong, or it ran on."""
    return spoils_round(why) and why != STILL_RAN and session.answer_ok is not False


def that_ended(segment: Round) -> set[InSoak]:
    """The sessions that ended an execution in it. One that ended none in any segment of a soak has failed."""
    ended = [] if segment.anchor else [each for each in segment.sessions if each.executions]
    return {(segment.variant, each.ordinal) for each in ended}


def whys_by_itself(segment: Round, header: Header) -> list[str]:
    """Why each session of it is left out, where the other segments are not at hand; '' of undone work."""
    whys = [*whys_left_out(segment, header.plan.experiment)]
    record, times = RunRecord(header, (segment,)), ExecutionTimes.of((segment,))
    basis = _basis(record, times)
    if wrong := _no_times(times, _spans(record, times, basis), basis):
        ran = [at for at, session in enumerate(segment.sessions) if session.executions]
        for row, why in wrong.items():
            whys[ran[row]] = whys[ran[row]] or why
    return whys


def whys_left_out(round_: Round, experiment: str) -> Sequence[str]:
    """Of each of its sessions, in a run of this kind; of most rounds all count."""
    every = round_.sessions
    if not round_.error and all(map(attrgetter("executions"), every)) and all(map(attrgetter("answer_ok"), every)):
        return [error or "" for error in map(attrgetter("error"), every)]
    none = STILL_RAN if experiment == SOAK and not round_.anchor else NONE_ENDED
    return [
        "" if each.executions and each.answer_ok and not (each.error or round_.error)
        else _why_left_out(round_, each, none)
        for each in every
    ]  # fmt: skip


def _why_left_out(round_: Round, session: Session, none: str) -> str:
    """``none``: why, if no execution ended."""
    if round_.error:
        return f"the round failed: {round_.error}"
    if session.error:
        return session.error
    if not session.executions:
        return ONLY_WAITED if session.blocked else none
    return "wrong answer" if session.answer_ok is False else ""


def _spans(record: RunRecord, times: ExecutionTimes, basis: str) -> list[Span]:
    in_turn = record.header.plan.one_at_a_time
    begin_s, end_s = _intervals(times, basis)
    first_s, last_s = begin_s[times.first], times.max_by_session(end_s)
    starts_s, ends_s = first_s.tolist(), last_s.tolist()
    idle_s = [0.0] * len(starts_s)
    if in_turn or any(map(attrgetter("blocked"), times.sessions)):
        idle_s = [
            _idle_s(each, one_start_s, one_end_s, in_turn) if each.blocked or in_turn else 0.0
            for each, one_start_s, one_end_s in zip(times.sessions, starts_s, ends_s, strict=True)
        ]
    elapsed_s = last_s - first_s - np.array(idle_s)
    fields: dict[str, Sequence[object]] = {
        "executions": times.rows_by_session(list(zip(begin_s.tolist(), end_s.tolist(), strict=True))),
        "start_s": starts_s,
        "end_s": ends_s,
        "idle_s": idle_s,
        "elapsed_s": elapsed_s.tolist(),
        "per_execution_s": (elapsed_s / times.counts).tolist(),
    }
    return list(map(Span, *(fields[name] for name in Span.__struct_fields__)))


def _idle_s(session: Session, first_s: float, last_s: float, in_turn: bool) -> float:
    """``in_turn``: a job was called for when another had been answered; between two there may have been none."""
    between = [each for each in session.blocked if first_s <= each.start_s < last_s]
    idle_s = sum(each.elapsed_s for each in between)
    if in_turn:
        jobs = sorted((*session.executions, *between), key=lambda job: job.start_s)
        idle_s += sum(max(0.0, after.start_s - before.start_s - before.elapsed_s) for before, after in pairwise(jobs))
    return idle_s


def _intervals(times: ExecutionTimes, basis: str) -> tuple[Floats, Floats]:
    """From when to when each execution ran."""
    client_end_s = times.start_s + times.elapsed_s
    if basis == "client":
        return times.start_s, client_end_s
    server_end_s = times.server_start_s + times.server_elapsed_s
    if basis == "server":
        return times.server_start_s, server_end_s
    begin_s = times.server_start_s.copy()
    begin_s[times.first] = times.start_s[times.first]
    return begin_s, np.minimum(server_end_s, client_end_s)


def database_cpu_s(session: Session) -> float | None:
    """CPU seconds that the database counted for the session, or None if it does not count it."""
    return session.db.get("db_cpu_s")
