"""What a trace shows of a run, in no format yet: as it was recorded, without any analysis.

All rounds are on one axis of time, one after the other, ``PAUSE_S`` apart; the waiting between them is left out. A
session's number names its track in every round. Times are nanoseconds from the start of the first round that is shown.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from dbcpu.analysis.causes.ran_instead import BY_TRACE, processes_in_place_of
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number, plain, plural, ranges, seconds
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round
from dbcpu.reports.trace.placement import At, Occupied, Stay, stays_and_lanes

PAUSE_S = 0.1
MAX_S = 1e9
"""Nanoseconds of a longer time do not fit 64 bits."""
BUSY, STEAL, FREQUENCY, PIECE = "busy", "steal", "frequency", "witness piece"
UNITS = {BUSY: "%", STEAL: "%", FREQUENCY: "MHz", PIECE: "us"}
"""Counters of a CPU: shares of its time, its frequency, and how long a piece of the witness took."""

Details = Mapping[str, str | int | float]


class Slice(Struct, frozen=True):
    """Something that lasts, and what is said of it where it is selected."""

    name: str
    from_ns: int
    to_ns: int
    details: Details = field(default_factory=dict)


class Mark(Struct, frozen=True):
    """Something at one moment."""

    name: str
    at_ns: int


class CounterValue(Struct, frozen=True):
    """From ``at_ns`` on a counter of a CPU has this value, in its unit."""

    counter: str
    cpu: int
    at_ns: int
    value: float


class TracedRound(Struct, frozen=True):
    """One round on the axis. ``ends``: of executions, by session.

    ``instead``: by session, which other processes ran while it waited, where the kernel's trace says so. The record has
    their times of the whole round.
    """

    whole: Slice
    release: Mark
    sessions: tuple[int, ...]
    ends: Mapping[int, Sequence[Mark]]
    stays: Sequence[Stay]
    lanes: Sequence[Occupied]
    counters: Sequence[CounterValue]
    instead: Mapping[int, str]

    def slice_of(self, part: Stay | Occupied) -> Slice:
        """With who ran instead, where a session was in turns."""
        session = part.session if isinstance(part, Stay) else part.sessions[0]
        waited = part.others or (isinstance(part, Stay) and bool(part.in_turns))
        who = self.instead.get(session, "") if waited else ""
        return Slice(part.name, part.from_ns, part.to_ns, {"ran_instead": who} if who else {})


def chosen_rounds(rounds: Iterable[Round], wanted: str | None) -> Iterator[Round]:
    """All rounds, or those of ``wanted``: ``8`` are all of 8 sessions, ``8:3`` the third of them (of each variant).

    Raises:
        UsageError: there is none, or it is no such number.
    """
    if wanted is None:
        yield from rounds
        return
    level, colon, number = wanted.partition(":")
    of_sessions = as_whole_number(level)
    nth = as_whole_number(number) if colon else None
    if of_sessions is None or (colon and nth is None):
        raise UsageError(f"--round {wanted[:40]} is not understood; give sessions, or sessions:round, as 8 or 8:3")
    repeats, levels, found = set[int](), set[int](), False
    for each in rounds:
        levels.add(each.level)
        if each.level == of_sessions:
            repeats.add(each.repeat + 1)
            if not colon or each.repeat + 1 == nth:
                found = True
                yield each
    if not repeats:
        raise UsageError(f"--round {wanted}: N={level} was not measured; there are: {ranges(levels)}")
    if not found:
        raise UsageError(f"--round {wanted}: N={level} has no round {number}; there are: {ranges(repeats)}")


def traced_rounds(header: Header, rounds: Iterable[Round]) -> Iterator[TracedRound]:
    """The rounds on one axis; they are read one by one. Raises UsageError where they last for decades."""
    cores = {each.cpu: each.core for each in header.host.topology.cpus if each.core >= 0} if header.host else {}
    start_s = 0.0
    for each in rounds:
        begin_s, end_s = _extent(each)
        if start_s + end_s - begin_s > MAX_S:
            raise UsageError(f"round {each.order} of run {header.run_id} lasts for decades; choose another by --round")
        yield _traced(each, cores, start_s - begin_s, (begin_s, end_s))
        start_s += end_s - begin_s + PAUSE_S


def _extent(round_: Round) -> tuple[float, float]:
    """From the first to the last that is known of a round, as offsets from its release."""
    edges = [0.0, *round_.timeline_s[:1], *round_.timeline_s[-1:]]
    for session in round_.sessions:
        edges += (edge for stay in session.residency for edge in (stay.from_s, stay.to_s))
        edges += (edge for each in session.executions for edge in (each.start_s, each.start_s + each.elapsed_s))
    if round_.witness:
        edges += (at_us / 1e6 for pace in round_.witness.cpus for at_us in pace.at_us)
    return min(edges), max(edges)


def _traced(round_: Round, cores: Mapping[int, int], release_s: float, extent_s: tuple[float, float]) -> TracedRound:
    def at(offset_s: float) -> int:
        return round((release_s + offset_s) * 1e9)

    stays, lanes = stays_and_lanes(round_, cores, at)
    variant = plain(round_.variant)
    name = f"N = {round_.level}, round {round_.repeat + 1}, {variant}" + (" (anchor)" if round_.anchor else "")
    details: dict[str, str | int | float] = {
        "order": round_.order,
        "released_at": plain(round_.released_at),
        "skew_s": round_.gate.skew_s,
    }
    if why := round_.error or round_.not_sampled:
        details["why"] = plain(why)
    return TracedRound(
        whole=Slice(name, at(extent_s[0]), at(extent_s[1]), details),
        release=Mark(f"release of {plural(len(round_.sessions), 'session')}", at(0.0)),
        sessions=tuple(each.ordinal for each in round_.sessions),
        ends={
            session.ordinal: [
                Mark(f"execution {number} ended after {seconds(each.elapsed_s)}", at(each.start_s + each.elapsed_s))
                for number, each in enumerate(session.executions, 1)
            ]
            for session in round_.sessions
        },
        stays=stays,
        lanes=lanes,
        counters=sorted(_counters(round_, at, extent_s[1]), key=lambda each: each.at_ns),
        instead={
            session.ordinal: f"{who} in this round{BY_TRACE}"
            for session in round_.sessions
            if (who := processes_in_place_of([session]))
        },
    )


def _counters(round_: Round, at: At, end_s: float) -> Iterator[CounterValue]:
    """After its last value in a round a counter is 0: nothing is known between rounds."""
    edges_s = round_.timeline_s
    for row in round_.cpu_timeline:
        for counter, values in ((BUSY, row.busy_s), (STEAL, row.steal_s), (FREQUENCY, row.mhz)):
            for (from_s, to_s), value in zip(pairwise(edges_s), values, strict=bool(values)):
                shown = value if counter == FREQUENCY else 100 * value / (to_s - from_s)
                if math.isfinite(shown):
                    # The kernel counts in ticks of 10 ms: in a short slice they may be more than there is.
                    most = math.inf if counter == FREQUENCY else 100.0
                    yield CounterValue(counter, row.cpu, at(from_s), min(shown, most))
            if values:
                yield CounterValue(counter, row.cpu, at(edges_s[-1]), 0.0)
    for pace in round_.witness.cpus if round_.witness else ():
        for at_us, ns in zip(pace.at_us, pace.ns, strict=True):
            yield CounterValue(PIECE, pace.cpu, at(at_us / 1e6), ns / 1000)
        if pace.at_us:
            yield CounterValue(PIECE, pace.cpu, at(end_s), 0.0)
