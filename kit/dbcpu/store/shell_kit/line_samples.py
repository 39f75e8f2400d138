"""Joins a file of sample-psr with that of the run: looks by process number and time, and the readings of its CPUs."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from dbcpu.errors import RecordFormatError
from dbcpu.formatting import plural, seconds
from dbcpu.record.rounds import Round
from dbcpu.store.shell_kit.line_reader import NEAR_S, Lines, Look, SessionLines, Ticks
from dbcpu.store.shell_kit.line_residency import is_whole

_CALLED = {"postgresql": "postgres", "oracle": "ora"}
"""What the command of a server process has in it."""
_READINGS_APART_S = 5.0
"""Counters that were read longer before or after a round say little of it."""


def add_samples(lines: Lines, samples: Lines, name: str) -> None:
    """Give each session what was seen of its process in its round. Raises RecordFormatError when nothing fits."""
    matched = 0
    for round_lines in lines.rounds.values():
        from_s, to_s = round_lines.span_s
        reported = Counter(session.reported for session in round_lines.sessions.values())
        for session in round_lines.sessions.values():
            # Sessions that are threads of one process: what that did is no single one's.
            single = session.pid is not None or reported[session.reported] == 1
            looks = _looks_at(session, samples, lines.run.get("kind", "oracle")) if single else ()
            fitting = sorted(
                (look for look in looks if from_s - NEAR_S <= look.at_s <= to_s + NEAR_S), key=lambda look: look.at_s
            )
            if fitting and session.pid is None:
                session.pid, session.by_samples = session.reported, True
            matched += len(fitting)
            # Those of the script itself are of the same process, and begin before the release.
            session.seen = max(session.seen, fitting, key=lambda looks: _worth(looks, from_s, to_s))
        if len({each.at_s for each in round_lines.ticks}) < 2:
            round_lines.ticks = _around(samples.ticks, from_s, to_s)
    if not matched:
        raise RecordFormatError(f"{name} saw no process of this run while it ran; {_why_none(lines, samples)}")
    lines.cpus = samples.cpus or lines.cpus
    taken: dict[str, str] = {name: samples.samples[name] for name in ("host", "ticks_per_s") if name in samples.samples}
    lines.run = {**lines.run, **taken}


def missing_words(rounds: Sequence[Round]) -> str:
    """What the samples did not see, and what follows; '' where they saw all."""
    ran = [session for each in rounds for session in each.sessions if session.executions]
    missed = [session for session in ran if not is_whole(session)]
    if not missed:
        return ""
    dark = sum(any(not is_whole(session) for session in each.sessions) for each in rounds)
    return (
        f"sample-psr did not see {len(missed)} of {plural(len(ran), 'session')}, or only in part, in {dark} of "
        f"{plural(len(rounds), 'round')}: what other processes used is not known there; start sample-psr before the "
        "run, and measure a larger size (-s)"
    )


def _looks_at(session: SessionLines, samples: Lines, kind: str) -> Sequence[Look]:
    """At its process; where only the server reported its number, at one that is called as its processes are."""
    if session.pid is not None:
        return samples.processes.get(session.pid, ())
    if session.reported is None or _CALLED.get(kind, "") not in samples.commands.get(session.reported, ""):
        return ()
    return samples.processes.get(session.reported, ())


def _worth(looks: Sequence[Look], from_s: float, to_s: float) -> tuple[bool, int]:
    within = [look for look in looks if from_s <= look.at_s <= to_s]
    return any(look.run_s is not None for look in looks), len(within)


def _around(ticks: Sequence[Ticks], from_s: float, to_s: float) -> list[Ticks]:
    """The readings within the round, the last before it and the first after it."""
    near = [each for each in ticks if from_s - _READINGS_APART_S <= each.at_s <= to_s + _READINGS_APART_S]
    first_s = max((each.at_s for each in near if each.at_s <= from_s), default=from_s)
    last_s = min((each.at_s for each in near if each.at_s >= to_s), default=to_s)
    return [each for each in near if first_s <= each.at_s <= last_s]


def _why_none(lines: Lines, samples: Lines) -> str:
    """Rounds shorter than the time between two looks are missed by most of them, wherever these were made."""
    text = samples.samples.get("interval_s", "")
    apart_s = float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) else 0.0
    spans = sorted(each.span_s for each in lines.rounds.values())
    if not spans:
        return "the run has no round"
    longest_s = max(to_s - from_s for from_s, to_s in spans)
    if longest_s < apart_s:
        return (
            f"its looks were {seconds(apart_s)} apart, and no round took longer than {seconds(longest_s)}: measure "
            "with a larger -s, or look more often (sample-psr -i)"
        )
    if all(
        each.pid is None and each.reported is None for one in lines.rounds.values() for each in one.sessions.values()
    ):
        return "the run does not say which processes its sessions were: measure again, with the script of this version"
    looks_s = [look.at_s for looks in samples.processes.values() for look in looks]
    if not looks_s:
        return "it looked at no process at all: correct its process numbers, or its pattern (-p)"
    if max(looks_s) < spans[0][0] or min(looks_s) > max(to_s for _, to_s in spans):
        return (
            f"it looked from {_clock(min(looks_s))} to {_clock(max(looks_s))}, and the run lasted from "
            f"{_clock(spans[0][0])} to {_clock(max(to_s for _, to_s in spans))} (UTC): start it before the run, and "
            "see whether the clocks agree"
        )
    return (
        f"it looked at {plural(len(samples.processes), 'process')}, and at no session while that ran: was sample-psr "
        "on the database's host, and does its pattern (-p) mean the sessions?"
    )


def _clock(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%H:%M:%S}"
