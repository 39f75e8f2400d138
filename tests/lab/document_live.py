"""The part of docs/accuracy.md about real server processes: runs without a witness and with one apart."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lab import bars, cpu_speed, labelled, pace, pairs
from lab.chance import PAIR_REPEATS
from lab.intervals import told
from lab.labelled import DISTURBED, LabelledRun
from lab.markdown import lines, matrix

FEWEST_MEASURED = 3
STOLEN = (0.0, 0.01, 0.1, 0.3, 0.5)
"""Shares of time, where groups begin."""
SETTLED = "20261125-55"
"""The first run made after the last change to what names a cause: it and all later ones are an independent test."""
Row = Mapping[str, Any]
Kept = Sequence[tuple[LabelledRun, Sequence[Row]]]


def sections(live: Path, of_pairs: Path) -> list[str]:
    """Of all that is kept."""
    every = labelled.kept(live)
    paced = [each for each in every if labelled.with_witness(each[0])]
    plain = [each for each in every if not labelled.with_witness(each[0])]
    sittings = pairs.kept(of_pairs)
    found = []
    if paced:
        found.append(_bars(paced, pace.kept(live), [each for each in sittings if each.witness]))
        found.append(_live("Live sessions with the witness", paced))
    if plain:
        found.append(_live("Live sessions without a witness", plain))
    if every:
        found.append(_own_speed([row for _, rows in every for row in rows]))
        found.append(_stolen([each for run, _ in every for each in labelled.stolen(run)]))
    if sittings:
        found.append(_pairs(sittings))
    return found


def _bars(paced: Kept, retold: Sequence[pace.Kept], sittings: Sequence[pairs.Sitting]) -> str:
    """What the witness has to make possible, and whether it does."""
    before = [row for each in retold for row in each.rows]
    unseen = [(run, rows) for run, rows in paced if _numbered(run.name) >= _numbered(SETTLED)]
    columns = {
        f"{len(paced)} runs with the witness": bars.of_live([row for _, rows in paced for row in rows]),
        f"{len(unseen)} of these, never in view": bars.of_live([row for _, rows in unseen for row in rows]),
        f"{len(retold)} earlier runs, the instrument's notes as pieces": bars.of_live(before),
    }
    without = [each.tolerance[0] for each in retold]
    text = lines(f"- {bar.what}, {bar.wanted}: {bar.found}" + _whether(bar) for bar in bars.of_pairs(sittings))
    return f"""
## What the witness makes possible

Figures that were set before the runs were made. A session counts if its round was left alone (the first rule
below) and 15 pieces of the witness or more lie beside it; its CPU's pace is then no cause that was made, and none that
is claimed, if the lab's own instrument saw it, too. A quiet session is *named slow* if any cause is named for it but
that its CPU was slow while the instrument saw the same: by 3 % where the witness explains all that it lost, by 15 %
where it does not. Until the runs of the second machine were made the latter counted as named slow, too; by that rule
they are {_quiet([row for _, rows in paced for row in rows], [row for _, rows in unseen for row in rows])}.

{bars.table(columns)}

{text}

The runs with the witness are of {_machines(paced)}. The earlier ones are of
{_machines([(each.run, each.rows) for each in retold])}, whose CPUs have two speeds; they had no witness, but the
lab's instrument did the same beside them, so that its notes can stand for one. The analysis was made with
the other runs in view, which are therefore no independent test; those that were never in view were made when it was
settled, but for that rule and one for sessions that are slower than others by noise, which changed no answer of these
runs. Without the pieces the tolerance of the same runs has a median of
{np.median(without):.0%}.

{_speeds_seen(paced)}
"""


def _numbered(name: str) -> tuple[str, int]:
    """As runs follow each other: ``20261125-100`` is after ``20261125-99``."""
    day, number = name.split("-")
    return day, int(number)


def _quiet(every: Sequence[Row], fresh: Sequence[Row]) -> str:
    """Quiet sessions by the stricter rule of before."""
    return " and ".join(
        f"{told(sum(map(labelled.named_beside_pace, quiet)), len(quiet))} of {what}"
        for what, rows in (("all runs", every), ("those never in view", fresh))
        if (quiet := [row for row in rows if labelled.counted(row) and row["label"] == "none"])
    )


def _whether(bar: bars.Bar) -> str:
    return "" if bar.met is None else f": {'met' if bar.met else '**not met**'}"


def _machines(runs: Kept) -> str:
    """Which CPUs, on which days."""
    found: dict[str, set[str]] = {}
    for run, _ in runs:
        host = run.record.header.host
        found.setdefault(host.cpu_model if host and host.cpu_model else "an unknown CPU", set()).add(
            run.record.header.started_at[:10]
        )
    return " and ".join(f"{cpu} ({', '.join(sorted(days))})" for cpu, days in sorted(found.items()))


def _speeds_seen(runs: Kept) -> str:
    """What the witness saw of the CPUs, and how many pieces a session has."""
    pieces = [row["pieces"] for _, rows in runs for row in rows if row["pieces"] is not None]
    seen = [rows[0]["two_speeds"] for _, rows in runs if rows]
    slow = [each for each in seen if each is not None]
    parts = (
        [f"Pieces beside a session: {min(pieces)} to {max(pieces)}, median {np.median(pieces):.0f}."] if pieces else []
    )
    if slow:
        share = np.median([each.slow_share for each in slow])
        factor = np.median([each.factor for each in slow])
        parts.append(
            f"Two speeds are found in {len(slow)} of {len(seen)} runs; there CPUs are slow for {share:.0%} of the "
            f"time, {factor:.2f} times (medians)."
        )
    else:
        parts.append(f"Two speeds are found in none of {len(seen)} runs.")
    return "\n".join(parts)


def _live(title: str, runs: Kept) -> str:
    rows = [row for _, own in runs for row in own]
    counted = [row for row in rows if labelled.counted(row)]
    disturbed = sum(not labelled.left_alone(row) for row in rows)
    told_of = Counter((row["label"], _said(row)) for row in counted)
    victims = [row for row in counted if row["label"] != "none"]
    beyond = labelled.treated(counted)
    quiet = [row for row in counted if row["label"] == "none"]
    wrong = [row for row in victims if labelled.said_beside(row) not in (row["label"], "none", "unexplained")]
    by_generator = {
        name: [row for row in counted if row["generator"] == name]
        for name in sorted({row["generator"] for row in counted})
    }
    tolerances = list({row["run"]: row["tolerance"] for row in rows}.values())
    low, middle, high = min(tolerances), np.median(tolerances), max(tolerances)
    missed = [row for row in counted if labelled.said_beside(row) != row["label"]]
    return f"""
## {title}

Real server processes of an embedded PostgreSQL 18 on a virtual machine with 2 vCPUs ({_machines(runs)}), shared with
other work. {len(rows)} labelled sessions in {len(runs)} runs, in random order and at random size, bystanders included.
Of these {len(rows) - len(counted)} are not counted, by two rules made beforehand. Of {disturbed} the round was
disturbed: processes that nobody invited, or the hypervisor, took more than {DISTURBED:.0%} of its CPU time. Of the
others the label does not say all that is true: no witness saw the pace of their CPUs, and these were not as fast as for
sessions alone by the lab's instrument (below), or nobody measured whether they were.

- cause named rightly: {told(sum(map(bars.found_right, victims)), len(victims))}
- the same, of those that lost more than the tolerance that their run states: \
{told(sum(map(bars.found_right, beyond)), len(beyond))}
- another cause named: {told(len(wrong), len(victims))}
- quiet sessions named slow: {told(sum(map(labelled.named_slow, quiet)), len(quiet))}
- tolerance of the runs: {low:.0%} to {high:.0%}, median {middle:.0%}; the more one session alone differs from time to
  time, the larger it is, and no smaller loss is named

{matrix(told_of)}

Every session that was not called what it was labelled:

{lines(f"- {_miscall(row)}" for row in missed) or "- none"}

| what was done | sessions | as labelled |
|---|---|---|
{lines(f"| {name} | {len(each)} | {_as_labelled(each)} |" for name, each in by_generator.items())}
"""


def _said(row: Row) -> str:
    """A slow CPU that the witness saw is what it is: no cause of its own, as long as the instrument saw it, too."""
    return "slower_cpu" if row["label"] == "none" and labelled.named_slow(row) else labelled.said_beside(row)


def _own_speed(rows: Sequence[Row]) -> str:
    """What the lab's instrument saw of the CPUs, and what was said of sessions that truly lost by it."""
    untouched = [row for row in rows if labelled.left_alone(row) and row["label"] == "none"]
    measured = [row for row in untouched if row["cpu"] is not None]
    if len(measured) < FEWEST_MEASURED:
        return ""
    unmeasured = [row for row in untouched if row["cpu"] is None]
    cpu, needed = (np.log([row[name] for row in measured]) for name in ("cpu", "needed"))
    slower = [row for row in measured if labelled.by_neighbour(row)]
    said = Counter(row["said"] for row in slower)
    beyond = [row for row in slower if row["slowdown"] > 1 + row["tolerance"]]
    low, high = np.exp(cpu.min()), np.exp(cpu.max())
    follows, apart = np.corrcoef(cpu, needed)[0, 1], np.median(np.abs(np.expm1(needed - cpu)))
    other = len(slower) - said["slower_cpu"] - said["none"]
    named = told(sum(row["said"] == "slower_cpu" for row in beyond), len(beyond))
    return f"""
### The CPU's own speed

A virtual CPU has no one speed: its host changes the clock, strangers run on the other thread of its core, and nothing
inside counts it. So the lab has an instrument of its own (`tests/lab/cpu_speed.py`): a process per CPU that does the
same small piece of work 25 times a second, before all others, and notes the CPU time of each. While sessions to which
nothing was done ran, a piece took {low:.2f} to {high:.2f} times as long as while sessions ran alone
({len(measured)} sessions), and the CPU time of the session followed it: correlation {follows:.2f}, median difference
{apart:.1%}.

- up to {labelled.AS_FAST:.2f} times as long: without a witness these are the quiet sessions above
- {labelled.SLOWER:.2f} times as long, or longer: {len(slower)} sessions were truly slower though nobody touched them.
  `slower_cpu` is said of {said["slower_cpu"]}, that the tolerance of the run allows it of {said["none"]}, and
  another cause is named for {other}. Beyond the tolerance `slower_cpu` is said of {named}.
- without the instrument, in runs made before it, named slow: {_share_named(unmeasured)}
"""


def _stolen(shares: Sequence[tuple[float, float]]) -> str:
    """Is the counter that `steal` rests on right?"""
    if len(shares) < FEWEST_MEASURED:
        return ""
    counted, late = np.array(shares).T
    groups = [(low, high, (counted >= low) & (counted < high)) for low, high in pairwise((*STOLEN, 1.01))]
    shown = [
        f"| {low:.0%} to {min(high, 1):.0%} | {here.sum()} | {late[here].mean():.1%} |"
        for low, high, here in groups
        if here.any()
    ]
    return f"""### Stolen time

Nobody inside a guest can make its hypervisor take time away, but this machine's does it now and then. The instrument
sees it without the kernel's counter: its pieces come late ({cpu_speed.LATE_S * 1000:.0f} ms or more) though nothing in
the guest goes before them. That is no proof of who lost by it, but one of the counter that `steal` is told by: over
{len(shares)} pairs of CPU and round the two shares have a correlation of {np.corrcoef(counted, late)[0, 1]:.2f}.

| counted as stolen | CPUs in rounds | pieces that came late |
|---|---|---|
{lines(shown)}
"""


def _share_named(rows: Sequence[Row]) -> str:
    return told(sum(row["said"] != "none" for row in rows), len(rows))


def _pairs(sittings: Sequence[pairs.Sitting]) -> str:
    kinds = {
        "with the witness": [each for each in sittings if each.witness],
        "without": [each for each in sittings if not each.witness],
    }
    shown = [_pair_line(name, own) for name, own in kinds.items() if own]
    runs = [run for each in sittings for run in each.runs if run.alone]
    claims = Counter(claim for run in runs for claim in run.claims)
    tables = [_by_speed(name, own) for name, own in kinds.items() if own]
    return f"""
## Real A/A pairs

The same machine measured in turns under two names, or under four, of which every two make a pair: one and two
sessions, {PAIR_REPEATS} repeats each, nothing done to anybody. Pairs of one sitting share its runs and are not
independent: the intervals are a little too narrow. Pairs count if both of their runs were left alone in all of their
rounds, by the first rule above. False is a verdict or finding of a run, or a difference that `dbcpu compare` claims.

| | sittings | runs left alone | tolerance | with a false claim | pairs left alone | told apart | with any false claim |
|---|---|---|---|---|---|---|---|
{lines(shown)}

False claims: {", ".join(f"`{code}` {many}" for code, many in claims.most_common()) or "none"}.

{lines(tables)}"""


def _pair_line(name: str, sittings: Sequence[pairs.Sitting]) -> str:
    runs = [run for each in sittings for run in each.runs if run.alone]
    alone = [(each, pair) for each in sittings for pair in each.alone]
    tolerances = [run.tolerance for run in runs if run.tolerance is not None]
    middle = f"{np.median(tolerances):.0%}" if tolerances else "-"
    return (
        f"| {name} | {len(sittings)} | {len(runs)} | {middle} "
        f"| {told(sum(bool(run.claims) for run in runs), len(runs))} "
        f"| {len(alone)} | {told(sum(each.pairs[pair] for each, pair in alone), len(alone))} "
        f"| {told(sum(bool(each.false_claims(pair)) for each, pair in alone), len(alone))} |"
    )


def _by_speed(name: str, sittings: Sequence[pairs.Sitting]) -> str:
    sessions = [one for each in sittings for run in each.runs if run.alone for one in run.sessions if one.level > 1]
    groups = {
        f"CPU up to {labelled.AS_FAST:.2f} times as slow as alone": [
            each for each in sessions if each.cpu is not None and each.cpu <= labelled.AS_FAST
        ],
        "between": [
            each for each in sessions if each.cpu is not None and labelled.AS_FAST < each.cpu < labelled.SLOWER
        ],
        f"CPU {labelled.SLOWER:.2f} times as slow, or more": [
            each for each in sessions if each.cpu is not None and each.cpu >= labelled.SLOWER
        ],
        "not measured": [each for each in sessions if each.cpu is None],
    }
    shown = [
        f"| {group} | {told(sum(each.slow for each in own), len(own))} "
        f"| {told(sum(each.slow and not each.pace_only for each in own), len(own))} |"
        for group, own in groups.items()
        if own
    ]
    return f"""| sessions beside another, {name}, by the instrument | named slow | but for their CPU's pace |
|---|---|---|
{lines(shown)}
"""


def _miscall(row: Row) -> str:
    setting = f" ({row['setting']})" if row["setting"] else ""
    return f"{row['generator']}{setting}: labelled `{row['label']}`, said `{row['said']}` ({row['evidence']})"


def _as_labelled(rows: Iterable[Row]) -> str:
    found = list(rows)
    return told(sum(labelled.said_beside(row) == row["label"] for row in found), len(found))
