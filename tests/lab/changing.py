"""Simulated hosts whose CPUs change their speed by themselves, with a witness: the bars of the live runs, and chance.

Ratios of 1.2 to 1.9, states of 0.05 to 5 s, two speeds by turns, walks or steps, and of every third host up to 40 %
steal. What the pace of its CPUs takes from a session is known, and no part of what it is labelled.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from dbcpu.analysis.comparison.compare import compare_sides
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Execution, Residency, Round, RunRecord, Session
from dbcpu.simulator import Clockwork, SimulatedHost, simulate
from dbcpu.simulator.pace import FORMS
from dbcpu.simulator.rounds import as_round
from lab import bars, chance, hidden
from lab.causes import MoreWork

KINDS = ("no_smt", "sticky", "quota", "noisy", "steal", "quiet")
"""Of those of ``hidden``; sharing of hidden siblings is judged apart."""
FREE = "sessions with more work or a wait"
PACED, STOLEN = "pace alone", "steal beside it"
TREATED = 6
MAX_STEAL = 0.4
MORE, SHARES = 1.2, (0.1, 0.17, 0.28)
SIZE, REPEATS = "medium", 6
SHARED = 0.15
"""Of its time alone: a session that loses more to its core's other threads has to be found."""
Row = dict[str, Any]


def changing(host: SimulatedHost, rng: np.random.Generator) -> SimulatedHost:
    """The same host, and CPUs that change their speed."""
    return replace(
        host,
        toggle=float(rng.uniform(1.2, 1.9)),
        toggle_s=float(np.exp(rng.uniform(np.log(0.05), np.log(5.0)))),
        toggle_slow=float(rng.uniform(0.2, 0.8)),
        toggle_form=str(rng.choice(list(FORMS))),
        pace_exponent=float(rng.uniform(0.65, 0.85)),
    )


def _stolen_from(host: SimulatedHost, rng: np.random.Generator) -> SimulatedHost:
    return replace(host, steal=float(rng.uniform(0.0, MAX_STEAL))) if rng.random() < 1 / 3 and not host.steal else host


def rows(number: int, seed: int) -> Iterator[Row]:
    """A row per session as those of the live lab, of a host of each kind and of some whose sessions are treated."""
    for kind in KINDS:
        rng = np.random.default_rng([seed, number, *kind.encode()])
        drawn = hidden.draw(kind, seed + number)
        drawn = replace(drawn, host=_stolen_from(changing(drawn.host, rng), rng))
        yield from _of_kind(drawn, f"{kind} {number}")
    for treated in range(TREATED):
        yield from _treated(np.random.default_rng([seed, number, 7, treated]), f"{FREE} {number} {treated}")


def _of_kind(drawn: hidden.Drawn, name: str) -> Iterator[Row]:
    record = hidden.measured(drawn)
    analysis, known = explain(record), hidden.losses(drawn, record)
    name = _named(name, drawn.host)
    for view in analysis.sessions:
        if view.level > 1:
            lost = dict(known.sessions[view.order, view.ordinal])
            paced = lost.pop("pace", 0.0)
            label = hidden.cause(drawn.kind, lost, known.alone_s)
            if label:
                yield _row(name, analysis, view, label, 1 + paced / known.alone_s)


def _named(name: str, host: SimulatedHost) -> str:
    return f"{name}, {STOLEN}" if host.steal and not host.steal_above else name


def _treated(rng: np.random.Generator, name: str) -> Iterator[Row]:
    """Rounds of two sessions: in one the first does more work, in one it waits, in the others nothing is done."""
    host = _stolen_from(changing(SimulatedHost(
        name="treated", cores=int(rng.integers(2, 9)), threads=1, scheduler="smt_balancing",
        noise=float(rng.uniform(0.002, 0.02)), mrows_per_s=hidden.ROWS_M / float(rng.uniform(1.2, 3.0)),
    ), rng), rng)  # fmt: skip
    drawn = hidden.Drawn("treated", host, (1, 2), 1, int(rng.integers(2**31)))
    record = simulate(host, drawn.levels, REPEATS, drawn.seed, size=SIZE)
    known = hidden.losses(drawn, record)
    lost = dict(known.sessions)
    done: dict[int, tuple[str, str, str]] = {}
    rounds = []
    for each in record.rounds:
        made = each
        if each.level == 2 and each.repeat == 0:
            made, truth = _heavier(host, each, rng)
            lost |= {
                (each.order, ordinal): {
                    cause: float(own_s[ordinal]) - known.alone[cause] for cause, own_s in truth.items()
                }
                for ordinal in range(each.level)
            }
            done[each.order] = "slower_cpu", MoreWork.name, f"{MORE:.2f} times"
        elif each.level == 2 and each.repeat == 1:
            share = float(rng.choice(SHARES))
            made, done[each.order] = _asleep(each, share), ("wait", "a wait", f"{share:.0%}")
        rounds.append(made)
    analysis = explain(RunRecord(record.header, tuple(rounds)))
    for view in analysis.sessions:
        if view.level > 1:
            own = dict(lost[view.order, view.ordinal])
            paced = own.pop("pace")
            label = hidden.cause(drawn.kind, own, known.alone_s)
            made_to, what, setting = done.get(view.order, ("", "", "")) if view.ordinal == 0 else ("", "", "")
            if made_to and label == "none":
                label = made_to
            elif made_to:
                # It lost to steal as well: nobody knows which is more.
                continue
            if label:
                yield _row(_named(name, host), analysis, view, label, 1 + paced / known.alone_s, what, setting)


def _heavier(
    host: SimulatedHost, each: Round, rng: np.random.Generator
) -> tuple[Round, Mapping[str, np.typing.NDArray[np.float64]]]:
    """The first session does more; and what each session loses to each cause, in s."""
    clockwork = Clockwork(host, each.level, hidden.ROWS_M / host.mrows_per_s, rng)
    clockwork.left[0] *= MORE
    spec = RoundSpec(each.level, each.repeat, each.variant, each.order, each.anchor)
    trace = clockwork.run()
    made = replace(as_round(host, spec, trace, rng), released_monotonic_s=each.released_monotonic_s)
    return made, trace.truth


def _asleep(each: Round, share: float) -> Round:
    """The first session sleeps when its work is done, before its answer."""
    first = each.sessions[0]
    end_s = max(one.to_s for one in first.residency)
    length_s = share * first.executions[-1].elapsed_s
    stay = replace(first.residency[-1], from_s=end_s, to_s=end_s + length_s, state="S", cpu_s=0.0)
    return replace(each, sessions=(_longer(first, stay, length_s), *each.sessions[1:]))


def _longer(session: Session, stay: Residency, length_s: float) -> Session:
    *others, last = session.executions
    server_s = None if last.server_elapsed_s is None else last.server_elapsed_s + length_s
    longer: Execution = replace(last, elapsed_s=last.elapsed_s + length_s, server_elapsed_s=server_s)
    return replace(
        session,
        executions=(*others, longer),
        residency=(*session.residency, stay),
        voluntary_switches=(session.voluntary_switches or 0) + 1,
    )


def _row(
    name: str, analysis: Analysis, view: SessionView, label: str, cpu: float, what: str = "", setting: str = ""
) -> Row:
    """``cpu``: how many times as long it took by its CPUs' pace."""
    beside = (view.elapsed_s - (view.pace_s or 0.0)) / view.reference_s if view.elapsed_s and view.reference_s else 0.0
    return {
        "run": name,
        "generator": what,
        "setting": setting,
        "label": label,
        "said": view.cause,
        "pace_only": view.pace_only,
        "pieces": view.pieces,
        "beside": round(beside, 4),
        "valid": view.valid,
        "slowdown": view.slowdown,
        "tolerance": analysis.reference.tolerance if analysis.reference else 1.0,
        "disturbed": 0.0,
        "cpu": cpu,
    }


class Hidden(Struct, frozen=True):
    """One run of a host whose cores are shared unseen by its own sessions: who lost by it, and who was found.

    ``levels``: at which the usual session lost by it; ``levels_found``: full speed was denied there; ``missed``:
    it was claimed.
    """

    sessions: int
    found: int
    levels: int
    levels_found: int
    missed: int


def sharing(number: int, seed: int, kind: str) -> Hidden:
    """A host of the kind ``hidden_smt`` or ``sticky``, whose CPUs change their speed beside that."""
    rng = np.random.default_rng([seed, number, 11])
    drawn = hidden.draw(kind, seed + number)
    drawn = replace(drawn, host=changing(drawn.host, rng))
    record = hidden.measured(drawn, repeats=REPEATS)
    analysis, known = explain(record), hidden.losses(drawn, record)
    told = {(view.order, view.ordinal): view for view in analysis.sessions}
    level_of = {each.order: each.level for each in record.rounds if each.level <= len(drawn.host.online)}
    lost = {key: own["shared_core"] / known.alone_s for key, own in known.sessions.items() if key[0] in level_of}
    losers = [key for key, share in lost.items() if share > SHARED]
    by_level: dict[int, list[float]] = {}
    for (order, _), share in lost.items():
        by_level.setdefault(level_of[order], []).append(share)
    below = {level for level, own in by_level.items() if np.median(own) > SHARED}
    answers = [each.full_speed for each in analysis.levels if each.level in below]
    named = sum(told[key].cause in ("shared_core", "slower_cpu") for key in losers)
    return Hidden(len(losers), named, len(answers), answers.count(Answer.NO), answers.count(Answer.YES))


def pairs(numbers: Iterable[int], seed: int) -> Iterator[chance.Pair]:
    """A/A pairs of hosts whose CPUs change their speed and on which nobody loses anything else."""
    for number in numbers:
        rng = np.random.default_rng([seed, number, 13])
        host = SimulatedHost(
            name="pair", cores=int(rng.integers(2, 5)), threads=1, scheduler="smt_balancing",
            noise=float(rng.uniform(0.002, 0.02)), mrows_per_s=hidden.ROWS_M / float(rng.uniform(1.2, 3.0)),
        )  # fmt: skip
        host = _stolen_from(changing(host, rng), rng)
        levels = tuple(sorted({1, 2, host.cores}))
        runs = [simulate(host, levels, chance.PAIR_REPEATS, int(rng.integers(2**31)), size=SIZE) for _ in range(2)]
        pair = chance.pair_of(STOLEN if host.steal else host.toggle_form, host, runs)
        one, other = pair.runs
        yield replace(pair, runs=(_but_for_steal(one), _but_for_steal(other))) if host.steal else pair


def _but_for_steal(told: chance.Alarms) -> chance.Alarms:
    """Steal is no pace: sessions are unequal by it in truth, and slow."""
    findings = tuple(code for code in told.findings if code != "verdict")
    return replace(told, verdict=bool(findings), findings=findings, sessions=0, named_slow=0)


FASTER, COMPARED_REPEATS, PER_DRAW = 1.05, 40, 6
"""About ten minutes of one and two sessions of 1.5 s, both sides together."""


class Compared(Struct, frozen=True):
    """A host whose single sessions differ by 15 % against one that is FASTER, and against itself: with the 95 %
    interval of throughput at full pace, where there is one. ``spread``: of single sessions as delivered."""

    spread: float
    seen: bool
    intervals: int
    inside: int
    false: bool
    delivered_seen: bool


def compared(number: int, seed: int) -> Compared:
    """The third run of the slower host is the one that it is compared with itself by."""
    rng = np.random.default_rng([seed, number, 17])
    host = replace(
        changing(SimulatedHost(name="compared", cores=2, threads=1, mrows_per_s=17, noise=0.01), rng),
        toggle=1.8, toggle_s=1.0, toggle_slow=float(rng.uniform(0.4, 0.7)), toggle_form="toggle",
    )  # fmt: skip
    hosts = host, replace(host, mrows_per_s=FASTER * host.mrows_per_s), host
    slower, faster, again = (
        chance.side_of(simulate(each, (1, 2), COMPARED_REPEATS, int(rng.integers(2**31)), size="short", seconds=1.5))
        for each in hosts
    )
    different, same = (compare_sides([slower, other]).sides[1] for other in (faster, again))
    known = [
        (figure.low, figure.high, truth)
        for side, truth in ((different, FASTER), (same, 1.0))
        for figure in side.figures
        if figure.metric == "throughput_at_full_pace" and figure.low is not None and figure.high is not None
    ]
    return Compared(
        slower.first.analysis.reference.spread if slower.first.analysis.reference else 0.0,
        any(low > 1 for low, _, truth in known if truth > 1),
        len(known),
        sum(low <= truth <= high for low, high, truth in known),
        any(not low <= 1 <= high for low, high, truth in known if truth == 1),
        any(each.shown for each in different.decisions),
    )


PORTION = 150
"""Pairs after which what was found is kept."""


def nothing(seed: int) -> dict[str, Any]:
    """What is kept before anything was found."""
    return {"seed": seed, "pairs_done": 0, "pairs": [], "draws_done": 0, "sessions": {}, "sharing": {}, "compared": []}


def portions(told: dict[str, Any], many_pairs: int, draws: int) -> Iterator[dict[str, Any]]:
    """What was ``told`` until now, and more with each portion, until so many pairs and draws are done."""
    while told["pairs_done"] < many_pairs or told["draws_done"] < draws:
        if told["draws_done"] < draws:
            number = told["draws_done"]
            told = {
                **told,
                "draws_done": number + 1,
                "sessions": _with_rows(told["sessions"], rows(number, told["seed"])),
                "sharing": _with_sharing(told["sharing"], number, told["seed"]),
                "compared": [
                    *told.get("compared", ()),
                    *(asdict(compared(at, told["seed"])) for at in _compared(number)),
                ],
            }
        if told["pairs_done"] < many_pairs:
            numbers = range(told["pairs_done"], min(many_pairs, told["pairs_done"] + PORTION))
            found = chance.summed([asdict(each) for each in pairs(numbers, told["seed"])])
            told = {**told, "pairs_done": numbers.stop, "pairs": _added(told["pairs"], found)}
        yield told


def _compared(number: int) -> range:
    return range(number * PER_DRAW, (number + 1) * PER_DRAW)


def _with_rows(kept: Mapping[str, Any], found: Iterable[Row]) -> dict[str, Any]:
    """Tallies and tolerances, of hosts that are stolen from and of others apart."""
    groups: dict[str, list[Row]] = {}
    for row in found:
        groups.setdefault(STOLEN if row["run"].endswith(STOLEN) else PACED, []).append(row)
    told = dict(kept)
    for name, own in groups.items():
        before = told.get(name, {"tolerances": [], "tallies": {}})
        tolerances = [round(value, 4) for value in {row["run"]: row["tolerance"] for row in own}.values()]
        tallied = {
            what: [a + b for a, b in zip(before["tallies"].get(what, (0, 0)), counts, strict=True)]
            for what, counts in bars.tallies(own).items()
        }
        told[name] = {"tolerances": [*before["tolerances"], *tolerances], "tallies": tallied}
    return told


def _with_sharing(kept: Mapping[str, Any], number: int, seed: int) -> dict[str, Any]:
    found = {kind: asdict(sharing(number, seed, kind)) for kind in ("hidden_smt", "sticky")}
    return {kind: {name: many + kept.get(kind, {}).get(name, 0) for name, many in own.items()}
            for kind, own in found.items()}  # fmt: skip


def _added(kept: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of ``chance.summed``, by kind."""
    rows_by_kind: dict[str, dict[str, Any]] = {row["kind"]: row for row in kept}
    for row in found:
        before = rows_by_kind.get(row["kind"])
        rows_by_kind[row["kind"]] = row if before is None else {
            name: value if name == "kind" else Counter(before[name]) + Counter(value) if name == "findings"
            else before[name] + value
            for name, value in row.items()
        }  # fmt: skip
    return list(rows_by_kind.values())
