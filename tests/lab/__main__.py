"""``shell/lab``: the long forms, and docs/accuracy.md from what they found."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import asdict

from dbcpu import __version__
from dbcpu.store import record_file
from lab import (
    between_runs,
    chance,
    changing,
    degrees,
    document,
    few_rounds,
    hidden,
    labelled,
    pace,
    published,
    real,
    verdicts,
    workloads,
)
from lab import pairs as real_pairs

RESULTS = Path(__file__).parent / "results"
LIVE, PAIRS, HIDDEN, CHANCE = RESULTS / "live", RESULTS / "pairs", RESULTS / "hidden.json", RESULTS / "chance.json"
WORKLOADS = RESULTS / "workloads"
VERDICTS, BETWEEN_RUNS = RESULTS / "verdicts.json", RESULTS / "between_runs.json"
PUBLISHED, PACE, CHANGING = RESULTS / "published.json", RESULTS / "pace.json", RESULTS / "changing.json"
DEGREES, REAL = RESULTS / "degrees.json", RESULTS / "real.json"
FEW_ROUNDS = RESULTS / "few_rounds.json"
CVS = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08)


@click.group()
def main() -> None:
    """Is a session's cause named rightly? Each command keeps its results; ``document`` writes docs/accuracy.md."""


@main.command()
@click.option("--runs", type=click.IntRange(1), default=12, show_default=True, help="Half a minute each.")
@click.option("--seed", type=int, default=None, help="Fixes order and settings.  [default: the date]")
def live(runs: int, seed: int | None) -> None:
    """Labelled sessions on real server processes of this machine; each run is kept in results/live.

    Every run is kept as soon as it ends. Those of a seed go on where the last one stopped.
    """
    from lab.causes import available
    from lab.live import Lab, drawn

    generators, missing = available()
    for name, reason in missing.items():
        click.echo(f"not here: {name}: {reason}", err=True)
    seed = _date() if seed is None else seed
    with Lab(seed) as lab:
        for number in _next(LIVE, seed, runs):
            began_s = time.monotonic()
            made = lab.run(drawn(generators, number, seed), number)
            made.write(LIVE)
            rows = list(labelled.rows(made))
            right = sum(row["said"] == row["label"] or row["pace_only"] for row in rows)
            alone = sum(labelled.left_alone(row) for row in rows)
            took_s = time.monotonic() - began_s
            click.echo(f"run {made.name}, {took_s:.0f} s: {alone} of {len(rows)} left alone, {right} right", err=True)


@main.command("pairs")
@click.option("--sittings", type=click.IntRange(1), default=7, show_default=True, help="Six pairs in two minutes each.")
@click.option("--seed", type=int, default=None, help="Fixes the order.  [default: the date]")
def pairs_command(sittings: int, seed: int | None) -> None:
    """Real A/A pairs on this machine, which has to be left alone: results/pairs."""
    from lab.live import Lab

    seed = _date() if seed is None else seed
    PAIRS.mkdir(parents=True, exist_ok=True)
    with Lab(seed) as lab:
        for number in _next(PAIRS, seed, sittings):
            began_s = time.monotonic()
            record, speeds = lab.sitting(number)
            name = f"{seed}-{number:02}"
            speeds.write(PAIRS, name)
            record_file.write_record(PAIRS / f"{name}.json.gz", record)
            found = real_pairs.judge(name, record, speeds)
            claims = [claim for pair in found.alone for claim in found.false_claims(pair)]
            took_s = time.monotonic() - began_s
            click.echo(
                f"sitting {name}, {took_s:.0f} s: {len(found.alone)} pairs left alone, claims {claims}", err=True
            )


@main.command("workloads")
def workloads_command() -> None:
    """How each workload follows the pace of its CPUs, on this machine, which has to be left alone: results/workloads.

    A minute each.
    """
    for target, workload in workloads.MEASURED:
        first = _next(WORKLOADS, f"{_date()}-{target}-{workload}", 1)[0]
        file = WORKLOADS / f"{_date()}-{target}-{workload}-{first:02}.json.gz"
        workloads.measure(target, workload, file)
        click.echo(str(file), err=True)


def _date() -> int:
    return int(time.strftime("%Y%m%d", time.gmtime()))


def _next(folder: Path, seed: int | str, many: int) -> range:
    """The numbers that follow those that are kept."""
    known = [int(file.name.removeprefix(f"{seed}-").split(".")[0]) for file in folder.glob(f"{seed}-*.json.gz")]
    first = max(known, default=-1) + 1
    return range(first, first + many)


@main.command("pace")
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Simulated runs of each host.")
@click.option("--seed", type=int, default=7000, show_default=True)
def pace_command(runs: int, seed: int) -> None:
    """Hosts whose CPUs toggle, explained with and without a witness: results/pace.json."""
    PACE.write_text(json.dumps({name: pace.simulated(host, runs, seed) for name, host in pace.HOSTS.items()}, indent=1))


@main.command("changing")
@click.option("--pairs", type=click.IntRange(0), default=2000, show_default=True, help="A/A pairs.")
@click.option("--draws", type=click.IntRange(0), default=40, show_default=True, help="Hosts of each kind.")
@click.option("--seed", type=int, default=9000, show_default=True)
def changing_command(pairs: int, draws: int, seed: int) -> None:
    """Hosts whose CPUs change their speed, with a witness: results/changing.json. Goes on where it was stopped."""
    known = json.loads(CHANGING.read_text("utf-8")) if CHANGING.is_file() else {}
    told = known if known.get("seed") == seed else changing.nothing(seed)
    for found in changing.portions(told, pairs, draws):
        _keep(CHANGING, found)


@main.command()
@click.option("--draws", type=click.IntRange(1), default=20, show_default=True, help="Hosts of each kind.")
@click.option("--seed", type=int, default=1000, show_default=True)
def simulated(draws: int, seed: int) -> None:
    """Hosts with hidden parameters: results/hidden.json."""
    counts: dict[str, Counter[str]] = {}
    speeds = []
    for drawn, record, analysis in hidden.play(hidden.KINDS, draws, seed):
        counts.setdefault(drawn.kind, Counter()).update(
            f"{each.truth}>{each.said}" for each in hidden.judge(drawn, record, analysis) if each.truth
        )
        if analysis.shared_core and not drawn.host.hidden_smt:
            speeds += [
                (
                    drawn.kind,
                    each.threads,
                    float(drawn.host.thread_speed[each.threads]),
                    each.speed,
                    each.low,
                    each.high,
                )
                for each in analysis.shared_core.speeds
            ]
    _keep(HIDDEN, {"draws": draws, "seed": seed, "sessions": counts, "speeds": speeds})


@main.command("chance")
@click.option("--pairs", type=click.IntRange(1), default=1000, show_default=True, help="A/A pairs.")
@click.option("--detections", type=click.IntRange(1), default=50, show_default=True, help="Runs per shape and noise.")
@click.option("--intervals", type=click.IntRange(1), default=1000, show_default=True, help="Runs for coverage.")
@click.option("--curves", type=click.IntRange(1), default=300, show_default=True, help="The same, of curves alone.")
@click.option("--seed", type=int, default=2000, show_default=True)
def chance_command(pairs: int, detections: int, intervals: int, curves: int, seed: int) -> None:
    """False alarms, misses and intervals on simulated hosts: results/chance.json."""
    alarms = [asdict(each) for each in chance.pairs(pairs, seed)]
    found = [asdict(each) for each in chance.detections(detections, seed, CVS)]
    told = (*chance.coverage(intervals, seed), *chance.curves(curves, seed))
    covered = [asdict(each) | {"inside": each.inside} for each in told]
    _keep(
        CHANCE,
        {"seed": seed, "pairs": chance.summed(alarms), "detections": _tallied(found), "coverage": _within(covered)},
    )


@main.command("verdicts")
@click.option("--runs", type=click.IntRange(1), default=5000, show_default=True, help="Difficult hosts, half mutated.")
@click.option("--decided", type=click.IntRange(1), default=400, show_default=True, help="Hosts with noise alone.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--seed", type=int, default=3000, show_default=True)
def verdicts_command(runs: int, decided: int, workers: int, seed: int) -> None:
    """Contradictions, false answers and inconclusive runs on simulated hosts: results/verdicts.json."""
    found = Counter(len(each.contradictions) > 0 for each in verdicts.runs(runs, seed, workers))
    levels = {}
    for most in verdicts.NOISES:
        judged = list(verdicts.decided(decided, seed, most, workers))
        levels[str(most)] = {
            **verdicts.tallied(each.first for each in judged),
            "after_more": verdicts.tallied(each.after_more for each in judged),
            "by_default": verdicts.tallied(each.by_default for each in judged),
        }
    _keep(VERDICTS, {"seed": seed, "runs": runs, "contradicting": found[True], "noise_up_to": levels})


@main.command("few-rounds")
@click.option("--runs", type=click.IntRange(1), default=300, show_default=True, help="Hosts with noise alone.")
@click.option("--seed", type=int, default=3100, show_default=True)
def few_rounds_command(runs: int, seed: int) -> None:
    """False answers of runs with three rounds of short executions: results/few_rounds.json."""
    _keep(FEW_ROUNDS, {"seed": seed, **few_rounds.tally(runs, seed)})


@main.command("degrees")
@click.option("--runs", type=click.IntRange(1), default=100, show_default=True, help="Of each kind of sessions.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--seed", type=int, default=5000, show_default=True)
def degrees_command(runs: int, workers: int, seed: int) -> None:
    """Sessions each a little slower than the next: how often are they called equal? results/degrees.json."""
    _keep(DEGREES, {"seed": seed, "runs": runs, "rows": list(degrees.rows(runs, seed, workers))})


@main.command("real")
@click.option("--runs", type=click.IntRange(1), default=30, show_default=True, help="About 15 seconds each.")
@click.option("--quiet/--busy", default=True, show_default=True, help="What the machine is meanwhile: it is noted.")
@click.option("--seed", type=int, default=None, help="Fixes what is measured.  [default: the date]")
def real_command(runs: int, quiet: bool, seed: int | None) -> None:
    """Short sweeps on this machine: does a result contradict itself? results/real.json, and records that do."""
    seed, found = _date() if seed is None else seed, []
    for each in real.runs(runs, seed, RESULTS / "contradicting"):
        found.append(each)
        said = f"{each.kind or each.failed} {'; '.join(each.contradictions)}"
        click.echo(f"{' '.join(each.asked)}, {each.took_s:.0f} s: {said}", err=True)
    _keep(REAL, real.merged(REAL, real.QUIET if quiet else real.BUSY, seed, found))


@main.command("runs")
@click.option("--draws", type=click.IntRange(1), default=1000, show_default=True, help="Comparisons of each kind.")
@click.option("--seed", type=int, default=3000, show_default=True)
def runs_command(draws: int, seed: int) -> None:
    """Comparisons of a host with itself, whose runs differ from hour to hour: results/between_runs.json."""
    rows = between_runs.summed(list(between_runs.draws(draws, seed)))
    _keep(BETWEEN_RUNS, {"draws": draws, "seed": seed, "rows": rows})


@main.command("published")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Only each n-th cloud instance.")
@click.option("--details", is_flag=True, help="Print a line for every host of which something else is said.")
def published_command(folder: Path, workers: int, every: int, details: bool) -> None:
    """Curves that others published, from FOLDER: results/published.json (lab/published.py names the sources)."""
    instances, servers = published.read(folder)
    if not instances and not servers:
        raise click.UsageError(f"{folder} has no file of the kinds that tests/lab/published.py names: fetch them first")
    found = list(published.claims(instances[::every], servers, workers))
    for each in found if details else ():
        if each.verdict != {published.HIDDEN: "fewer_cores", published.SHOWN: "agrees"}.get(each.shown):
            click.echo(
                f"{each.name}: {each.shown}: {each.verdict}, knee {each.knee}, {each.cores} cores of {each.vcpus}"
            )
    result = published.summary(found, [each.name for each in servers])
    if every > 1:
        click.echo(json.dumps(result, indent=1))
    else:
        _keep(PUBLISHED, result)


@main.command("document")
def document_command() -> None:
    """Write docs/accuracy.md from all results that are kept."""
    document.DOCUMENT.write_text(document.page(), "utf-8")
    click.echo(str(document.DOCUMENT))


def _keep(path: Path, data: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({"dbcpu": __version__, **data}, indent=1) + "\n", "utf-8")
    click.echo(str(path), err=True)


def _tallied(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, float], dict[str, Any]] = {}
    for each in found:
        row = rows.setdefault(
            (each["shape"], each["cv"]),
            {"shape": each["shape"], "cv": each["cv"], "runs": 0, "levels_found": 0, "slow": 0, "sessions_found": 0},
        )
        row["runs"] += 1
        row["levels_found"] += each["level"]
        row["slow"] += each["slow"]
        row["sessions_found"] += each["found"]
    return list(rows.values())


def _within(covered: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row per figure that has an interval."""
    rows = []
    for what in dict.fromkeys(each["what"] for each in covered):
        own = [each for each in covered if each["what"] == what]
        errors = sorted(abs(each["told"] - each["truth"]) for each in own)
        inside = sum(each["inside"] for each in own)
        rows.append(
            {"what": what, "intervals": len(own), "inside": inside, "median_error": round(errors[len(own) // 2], 5)}
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
