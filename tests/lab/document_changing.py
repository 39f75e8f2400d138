"""The part of docs/accuracy.md about simulated hosts whose CPUs change their speed."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from lab import bars, changing
from lab.chance import PAIR_REPEATS
from lab.intervals import told, wilson
from lab.markdown import lines

MAX_FALSE, MIN_FOUND = 0.01, 0.97
FULL_PACE_INTERVAL = (0.93, 0.97)


def section(data: Mapping[str, Any]) -> str:
    """Of results/changing.json."""
    columns = {name: bars.of_tallies(each["tolerances"], each["tallies"]) for name, each in data["sessions"].items()}
    hosts = ", ".join(f"{len(each['tolerances'])} with {name}" for name, each in data["sessions"].items())
    paced = [row for row in data["pairs"] if row["kind"] != changing.STOLEN]
    every = {name: sum(row[name] for row in paced) for name in ("pairs", "false_pairs", "told_apart")}
    every_told_apart = sum(row["told_apart"] for row in data["pairs"])
    whole = sum(row["pairs"] for row in data["pairs"])
    claimed = sum((Counter(row["findings"]) for row in paced), Counter[str]())
    shown = [_pair_line(row) for row in sorted(data["pairs"], key=lambda row: str(row["kind"]))]
    return f"""
## CPUs that change their speed

Simulated hosts with a witness, whose CPUs change their speed by themselves: a piece takes 1.2 to 1.9 times as long
where they are slow, by turns, in steps or by a random walk, for 0.05 to 5 s; the workload slows down by the power of
0.65 to 0.85 of that. Of every third host up to {changing.MAX_STEAL:.0%} of the time is stolen beside it, of single
sessions, too. All is drawn at random; seed {data["seed"]}. The kinds of hosts are some of those above, up to twice the
vCPUs, and others of which in one round a session does {changing.MORE:g} times the work and in one waits for 10 to 28 %
of its time. Labels are as above, without what the pace takes: {hosts}.

{bars.table(columns)}

Sessions that share cores with others of their run, on CPUs that change their speed beside that; found is a session
that lost 15 % or more of its time to its siblings and is called `shared_core` or `slower_cpu`, and a level at which the
usual session lost so much and full speed is denied.

| siblings | sessions found | levels found | levels called full speed | |
|---|---|---|---|---|
{lines(_sharing(*each) for each in data["sharing"].items())}

A/A pairs, {PAIR_REPEATS} repeats each, as above; where time is stolen sessions are unequal in truth, and only their
comparison counts.

| host | pairs | with a false verdict or finding | `dbcpu compare` finds a difference |
|---|---|---|---|
{lines(shown)}

- without steal: {told(every["false_pairs"], every["pairs"])} with a false verdict or finding, at most 1 %: \
{_met(every["false_pairs"] <= MAX_FALSE * every["pairs"])}
- all in which it finds one: {told(every_told_apart, whole)}, at most 1 %: {_met(every_told_apart <= MAX_FALSE * whole)}
- false findings: {", ".join(f"`{code}` {many}" for code, many in claimed.most_common()) or "none"}

{_compared(data["compared"])}
"""


def _pair_line(row: Mapping[str, Any]) -> str:
    false = "-" if row["kind"] == changing.STOLEN else told(row["false_pairs"], row["pairs"])
    return f"| {row['kind']} | {row['pairs']} | {false} | {told(row['told_apart'], row['pairs'])} |"


def _sharing(kind: str, found: Mapping[str, int]) -> str:
    name = {"hidden_smt": "not shown", "sticky": "shown"}[kind]
    met = found["found"] >= MIN_FOUND * found["sessions"]
    return (
        f"| {name} | {told(found['found'], found['sessions'])} | {told(found['levels_found'], found['levels'])} "
        f"| {found['missed']} | at least 97 %: {_met(met)} |"
    )


def _compared(found: list[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    cases = len(found)
    spread = np.median([each["spread"] for each in found])
    inside, intervals = (sum(each[name] for each in found) for name in ("inside", "intervals"))
    low, high = FULL_PACE_INTERVAL
    within = wilson(inside, intervals)
    covers = within[1] >= low and within[0] <= high
    return f"""Comparisons of about ten minutes ({changing.COMPARED_REPEATS} rounds of one session and of two on either
side) of a host with one that is {changing.FASTER - 1:.0%} faster, and with itself; CPUs are by turns 1.8 times as
slow, and single sessions differ by {spread:.0%} (median). The 95 % interval of throughput at full pace

- leaves out 1 where the other is faster: {told(sum(each["seen"] for each in found), cases)}
- leaves out 1 where it is the same: {told(sum(each["false"] for each in found), cases)}
- holds the truth: {told(inside, intervals)}, 93 to 97 %: {_met(covers)}

Of times as delivered the same comparisons show the difference in
{told(sum(each["delivered_seen"] for each in found), cases)}."""


def _met(met: bool) -> str:
    return "met" if met else "**not met**"
