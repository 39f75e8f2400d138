"""docs/accuracy.md from the results that are kept: no figure in it is typed by hand."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbcpu.analysis.statistics.inference import ALPHA, min_p
from lab import (
    degrees,
    document_changing,
    document_live,
    emulated,
    few_rounds,
    placement,
    published,
    real,
    verdicts,
    workloads,
)
from lab.between_runs import CORES, TRUE_CHANGE
from lab.chance import PAIR_REPEATS
from lab.hidden import MORE
from lab.intervals import told
from lab.markdown import lines, matrix

PROJECT = Path(__file__).resolve().parents[2]
RESULTS = PROJECT / "tests" / "lab" / "results"
DOCUMENT = PROJECT / "docs" / "accuracy.md"
SIMULATED_ONLY = ("steal", "irq", "frequency", "remote_memory")

_HEAD = """# Accuracy

How often is the cause that dbcpu names for a session the true one? This page is written by `shell/lab document` from
tests/lab/results. Every percentage stands with its 95 % interval (Wilson) and the number of cases.

    shell/lab live          labelled sessions on real server processes of this machine; half a minute per run
    shell/lab pairs         real A/A pairs on this machine; two minutes for six
    shell/lab workloads     how each workload follows the pace of its CPUs; a minute each
    shell/lab simulated     hosts whose parameters are drawn at random and hidden from the analysis
    shell/lab chance        false alarms, misses, and how often an interval holds the truth
    shell/lab verdicts      contradictions within a result, false answers, inconclusive runs, on difficult hosts
    shell/lab few-rounds    false answers of runs with three rounds of short executions
    shell/lab real          short sweeps on this machine: does a result contradict itself?
    shell/lab degrees       sessions each a little slower than the next: are they called equal?
    shell/lab changing      all of these on hosts whose CPUs change their speed by themselves, with a witness
    shell/lab runs          comparisons of a host whose runs differ from hour to hour
    shell/lab published     curves that others measured and published; the data are fetched by the user
    shell/lab document      this page, from what is kept; records are explained anew by the analysis of the day
    python -m guest         (PYTHONPATH=kit:tests) the experiment in an emulated SMT guest

**Where the proof ends.** {simulated_only} have no live positive here: they rest on simulation.
`resource_manager` has none yet, either. `shared_core` was seen live on emulated SMT only, where siblings share
one CPU of the machine below and a second thread adds nothing; on real hyperthreads it rests on simulation
with published yields.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD.format(simulated_only=", ".join(f"`{cause}`" for cause in SIMULATED_ONLY))]
    parts += document_live.sections(RESULTS / "live", RESULTS / "pairs")
    if followed := workloads.kept(RESULTS / "workloads"):
        parts.append(workloads.section(followed))
    parts.append(placement.section(json.loads(placement.KEPT.read_text("utf-8"))))
    parts.append(_emulated([row for file in emulated.FILES for row in emulated.rows(file)]))
    of_files = {
        "hidden": _hidden,
        "verdicts": verdicts.section,
        "few_rounds": few_rounds.section,
        "real": real.section,
        "degrees": degrees.section,
        "chance": _chance,
        "changing": document_changing.section,
        "between_runs": _between_runs,
        "published": published.section,
    }
    for name, part in of_files.items():
        file = RESULTS / f"{name}.json"
        if file.is_file():
            parts.append(part(json.loads(file.read_text("utf-8"))))
    return "\n".join(parts)


def _emulated(rows: Sequence[emulated.Row]) -> str:
    """Per record and level: labels against what was said."""
    what = {
        "emulated-smt": "siblings told",
        "emulated-smt-off": "SMT off in the guest",
        "emulated-smt-hidden": "siblings not told",
        "witness-siblings-told": "siblings told, with the witness",
        "witness-siblings-not-told": "siblings not told, with the witness",
    }
    labelled_rows = [row for row in rows if row.label]
    right = sum(row.said == row.label for row in labelled_rows)
    paced = [row.said == row.label for row in labelled_rows if row.file.startswith("witness") and row.label != "none"]
    shown = []
    for file, level, label in dict.fromkeys((row.file, row.level, row.label) for row in sorted(rows, key=_place)):
        own = [row for row in rows if (row.file, row.level, row.label) == (file, level, label)]
        said = ", ".join(f"{name} {count}" for name, count in Counter(row.said for row in own).most_common())
        slow = f"{min(row.slowdown for row in own):.2f} to {max(row.slowdown for row in own):.2f}"
        shown.append(f"| {what[file]} | {level} | {label or 'no label'} | {len(own)} | {said} | {slow} |")
    return f"""
## Emulated SMT

Runs of an emulated guest with 2 cores x 2 threads whose siblings share one CPU of the machine (`tests/guest`; the
records are in reports/examples, those with the witness in tests/lab/results/guest). Labels follow from the pinning: a
session beside which another ran on its pair of CPUs for {emulated.SHARED:.0%} of its time has shared a core, up to
{emulated.ALONE:.0%} it has not, and between them it has no label. Sessions move as the guest's scheduler wants.
Siblings share all of a CPU here, so that this proves who shared and who lost by it, not what hardware threads cost.

- as labelled: {told(right, len(labelled_rows))}
- losses to own sessions found beside the witness, at least 97 %: {_found(paced)}

| record | sessions | label | of them | said | times as long as alone |
|---|---|---|---|---|---|
{lines(shown)}
"""


def _found(hits: Sequence[bool]) -> str:
    met = "" if not hits else ": met" if sum(hits) >= 0.97 * len(hits) else ": **not met**"
    return told(sum(hits), len(hits)) + met


def _place(row: emulated.Row) -> tuple[int, int, str]:
    return list(emulated.FILES).index(row.file), row.level, row.label


def _hidden(data: Mapping[str, Any]) -> str:
    whole: Counter[tuple[str, str]] = Counter()
    rows = []
    for kind, counts in data["sessions"].items():
        pairs = Counter({tuple(name.split(">")): count for name, count in counts.items()})
        whole.update(pairs)
        slow = {pair: count for pair, count in pairs.items() if pair[0] != "none"}
        quiet = {pair: count for pair, count in pairs.items() if pair[0] == "none"}
        rows.append(f"| {kind} | {_right(slow)} | {_right(quiet)} |")
    speeds = data["speeds"]
    inside = sum(low <= truth <= high for _, _, truth, _, low, high in speeds)
    return f"""
## Simulated hosts with hidden parameters

{data["draws"]} hosts of each kind ({data["draws"] * MORE} of those measured only up to one session per core), all
parameters drawn at random (seed {data["seed"]}): cores, threads, yield, scheduler, noise, and the disturbance
itself. Counted are sessions that lost 15 % or more of which one cause made
70 % (named rightly?), and those that lost less than 3 % (quiet: left alone?). A loss below the tolerance that the
analysis states for a run is not named, and counts as a miss here.

| host | cause named rightly | quiet sessions left alone |
|---|---|---|
{lines(rows)}

{matrix(whole)}

Speed of a thread beside others on its core, regressed over each run: {told(inside, len(speeds))} of the
95 % intervals hold the host's true value.
"""


def _right(pairs: Mapping[tuple[str, ...], int]) -> str:
    return told(sum(count for (truth, said), count in pairs.items() if truth == said), sum(pairs.values()))


def _between_runs(data: Mapping[str, Any]) -> str:
    """The run as the unit: how often its interval holds the truth, and how often a host is told from itself."""
    rows = [
        f"| {row['how']} | {row['spread']:.0%} | {told(row['inside'], row['comparisons'])} "
        f"| {told(row['told_apart'], row['comparisons'])} | {told(row['found'], row['comparisons'])} |"
        for row in data["rows"]
    ]
    return f"""
## Runs that differ from hour to hour

A simulated host with {CORES} cores is measured again and again ({PAIR_REPEATS} rounds a run, noise of 1 to 4 %).
The times of each run are scaled by a factor of its own (normal logarithms; the run effect is their standard
deviation). `dbcpu compare` compares the host with itself; seed {data["seed"]}. The true difference is a throughput
of {TRUE_CHANGE:g} times.

| given | run effect | 95 % interval of throughput holds 1 | a difference is shown | the true one is shown |
|---|---|---|---|---|
{lines(rows)}

Without a run effect an interval that allows for one is wider than needed. With one run a side and no history the
interval is that of the rounds: the result says that what changes between runs is not included.
"""


def _chance(data: Mapping[str, Any]) -> str:
    alarms = [
        f"| {row['kind']} | {told(row['false_pairs'], row['pairs'])} | {told(row['named_slow'], row['sessions'])} "
        f"| {told(row['told_apart'], row['pairs'])} |"
        for row in data["pairs"]
    ]
    every = {name: sum(row[name] for row in data["pairs"]) for name in _COUNTED}
    claimed = sum((Counter(row["findings"]) for row in data["pairs"]), Counter[str]())
    claimed.pop("verdict", None)
    found = {name: sum(row[name] for row in data["detections"]) for name in ("levels_found", "runs")}
    covered = [
        f"| {_FIGURES[row['what']]} | {told(row['inside'], row['intervals'])} | {row['median_error']:.4f} |"
        for row in data["coverage"]
    ]
    rows = [
        f"| {row['shape']} | {row['cv']:.0%} | {told(row['levels_found'], row['runs'])} "
        f"| {told(row['sessions_found'], row['slow'])} |"
        for row in data["detections"]
    ]
    least = min_p(PAIR_REPEATS, PAIR_REPEATS)
    share = 2 * (ALPHA // least) * least
    from scipy.stats import binom  # loads slowly

    low, high = binom.interval(0.95, every["pairs"], share)
    return f"""
## Chance

Simulated hosts on which nobody loses anything, with a noise of 1 to 8 % (relative standard deviation of one
execution, normal), 2 to 16 cores, 6 repeats; seed {data["seed"]}. Two runs of each host make an A/A pair. False is
every sentence but "every session gets the same CPU" and "no difference shown" (which claims none), and every finding
that something was found (drift of the solo rounds included).

| host | pairs with a false verdict or finding | quiet sessions named slow | `dbcpu compare` finds a difference |
|---|---|---|---|
{lines(alarms)}

- all pairs: {told(every["false_pairs"], every["pairs"])}
- all quiet sessions: {told(every["named_slow"], every["sessions"])}
- false findings: {", ".join(f"`{code}` {count}" for code, count in claimed.most_common()) or "none"}
- told apart by `dbcpu compare`: {told(every["told_apart"], every["pairs"])}

A comparison makes two decisions that share 1 %. The exact tests of {PAIR_REPEATS} rounds against
{PAIR_REPEATS} have only some values of p; those that decide make {100 * share:.2f} % together, by
which chance alone would tell {low:.0f} to {high:.0f} of {every["pairs"]} pairs apart (95 %).

A true loss of 1.2x: is the level found uneven or slow (or the speed on a shared core below 1), and how many of
the sessions that lost are named? Over all rows the level is found in
{told(found["levels_found"], found["runs"])}. Single sessions cannot be told from noise once three times the noise is as
large as the loss: then the level still can.

| who loses | noise | level found | sessions named |
|---|---|---|---|
{lines(rows)}

How often a 95 % interval holds the truth, in runs of hosts with 3 to 8 cores of 2 threads, yields of 0 to 0.5 (of the
curve alone: 0.1 to 0.6), noise of 1 to 8 % and 5 repeats. Where placement was seen the scheduler does not balance over
SMT; of the curve alone half of the hosts do, which the analysis has to find out. There sessions do 2 to 12 short
executions, or one, of which much is done beside fewer sessions than at the start. Errors of knees are in sessions.

| figure | interval holds the truth | median error |
|---|---|---|
{lines(covered)}
"""


_COUNTED = ("pairs", "false_pairs", "sessions", "named_slow", "told_apart")
_FIGURES = {
    "speed": "speed of a session beside another on its core (regression, delete-one-round jackknife, Student's t)",
    "yield": "SMT yield (the same, where placement was seen)",
    "first_knee": "first knee (profile likelihood), several executions",
    "second_knee": "second knee",
    "curve_yield": "SMT yield of the curve alone",
    "first_knee_once": "first knee, one execution",
    "second_knee_once": "second knee, one execution",
    "curve_yield_once": "SMT yield of the curve alone, one execution",
}
