"""Labelled runs: a record, and apart from it what was done to whom. What is said of them can be asked anew at any time.

``rows`` yields a row per session above level 1 (and of generators with one victim alone): what was done to it, and
what the analysis of today says. Two files keep a run: ``NAME.json.gz``, a record like any other, and
``NAME.labels.json``; nothing of the second is in the first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.record.header import AA
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import record_file
from lab import cpu_speed
from lab.cpu_speed import Speeds

DISTURBED = 0.05
"""Of all CPU time of a round: with more for processes nobody invited, or stolen, its labels are not the whole truth."""
AS_FAST, SLOWER = 1.03, 1.15
"""By the instrument: a CPU up to the first is as fast as alone, from the second truly slower (as for simulated ones).
What a treated session lost is by what was done to it if its CPU was neither slower than the second nor faster."""
_LABELS = ".labels.json"


class Treatment(Struct, frozen=True):
    """What was done in one round: its ``order`` in the record, and what each session truly loses to, by ordinal."""

    order: int
    generator: str
    setting: str
    labels: tuple[str, ...]
    helper_pids: tuple[int, ...]


class LabelledRun(Struct, frozen=True):
    """A record and the treatments of its rounds; rounds without one are solo rounds of the run."""

    name: str
    record: RunRecord
    treatments: tuple[Treatment, ...]
    speeds: Speeds

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        record_file.write_record(folder / f"{self.name}.json.gz", self.record)
        self.speeds.write(folder, self.name)
        # Last: a run of which only parts were written is none.
        told = {"treatments": [asdict(treatment) for treatment in self.treatments]}
        (folder / f"{self.name}{_LABELS}").write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def read(folder: Path) -> Iterator[LabelledRun]:
    """All labelled runs of a folder, by name."""
    for file in sorted(folder.glob(f"*{_LABELS}")):
        name = file.name.removesuffix(_LABELS)
        told = json.loads(file.read_text("utf-8"))["treatments"]
        treatments = tuple(
            Treatment(**{**each, "labels": tuple(each["labels"]), "helper_pids": tuple(each["helper_pids"])})
            for each in told
        )
        record = record_file.read(folder / f"{name}.json.gz")
        yield LabelledRun(name, record, treatments, cpu_speed.read(folder, name))


def with_witness(run: LabelledRun) -> bool:
    return any(each.witness for each in run.record.rounds)


@cache
def kept(folder: Path) -> tuple[tuple[LabelledRun, tuple[Mapping[str, Any], ...]], ...]:
    """All labelled runs of a folder with their rows, read and explained once per process."""
    return tuple((run, tuple(rows(run))) for run in read(folder))


def rows(run: LabelledRun, explained: Analysis | None = None) -> Iterator[dict[str, Any]]:
    """A row per labelled session. ``cpu`` is how many times as slow its CPU was as alone, by the instrument, or None;
    ``needed`` is its CPU time, in times of that alone. ``explained``: of ``one_host``, where it is known already.
    """
    analysis = explained or explain(one_host(run.record))
    done = {treatment.order: treatment for treatment in run.treatments}
    rounds = {each.order: each for each in run.record.rounds}
    speed = cpu_speed.times_as_slow(run.record, run.speeds, solos(run))
    alone_s = [cpu_s for order in solos(run) if (cpu_s := rounds[order].sessions[0].cpu_s)]
    for view in analysis.sessions:
        treatment = done.get(view.order)
        if treatment is None:
            continue
        each = rounds[view.order]
        yield {
            "run": run.name,
            "n": run.record.header.plan.workload.n,
            "order": view.order,
            "generator": treatment.generator,
            "setting": treatment.setting,
            "sessions": len(treatment.labels),
            "ordinal": view.ordinal,
            "label": treatment.labels[view.ordinal],
            "said": view.cause,
            "pace_only": view.pace_only,
            "pieces": view.pieces,
            "beside": _rounded(_beside_pace(view)),
            "two_speeds": analysis.two_speeds,
            "valid": view.valid,
            "slowdown": _rounded(view.slowdown),
            "tolerance": _rounded(analysis.reference.tolerance if analysis.reference else None),
            "parts_s": [_rounded(part) for part in _parts(view)],
            "disturbed": _rounded(disturbed(each, (*treatment.helper_pids, *run.speeds.pids))),
            "cpu": _rounded(speed.get((view.order, view.ordinal))),
            "needed": _rounded((each.sessions[view.ordinal].cpu_s or 0.0) / median(alone_s)) if alone_s else None,
            "evidence": view.evidence,
        }


def stolen(run: LabelledRun) -> Iterator[tuple[float, float]]:
    """Per CPU and round: the share of time that the kernel counts as stolen, and that of pieces that came late."""
    for each in run.record.rounds:
        from_s, to_s = (each.released_monotonic_s + at_s for at_s in (each.timeline_s[0], each.timeline_s[-1]))
        for row in each.cpu_timeline:
            late = cpu_speed.late_share(run.speeds.samples.get(row.cpu, ()), from_s, to_s)
            if late is not None:
                yield sum(row.steal_s) / (to_s - from_s), late


def one_host(record: RunRecord) -> RunRecord:
    """Solo rounds and treated ones as two halves of one thing: what is done to a process is no variant of its host."""
    names = dict(zip(record.header.plan.variants, AA, strict=True))
    plan = replace(record.header.plan, variants=AA)
    rounds = tuple(replace(each, variant=names[each.variant]) for each in record.rounds)
    return RunRecord(replace(record.header, plan=plan), rounds)


def solos(run: LabelledRun) -> list[int]:
    """Orders of the rounds of one session to which nothing was done."""
    done = {treatment.order for treatment in run.treatments}
    return [each.order for each in run.record.rounds if each.level == 1 and each.order not in done]


def left_alone(row: Mapping[str, Any]) -> bool:
    """A first rule made beforehand: only sessions whose round was left alone."""
    return bool(row["valid"]) and row["disturbed"] <= DISTURBED


def counted(row: Mapping[str, Any]) -> bool:
    """A second rule: only sessions of which the label says all that is true, as far as the instrument can tell.

    A bystander is quiet if its CPU was seen to be as fast as for sessions alone; a treated session's CPU was no
    cause of its own, or not measured. Where a witness saw the pace of its CPUs, that is no part of what is labelled.
    """
    if not left_alone(row):
        return False
    if row["pieces"] is not None:
        return True
    if row["label"] == "none":
        return row["cpu"] is not None and row["cpu"] <= AS_FAST
    return row["cpu"] is None or 1 / SLOWER < row["cpu"] < SLOWER


def by_neighbour(row: Mapping[str, Any]) -> bool:
    """Nothing was done to it here, and yet its CPU was truly slower."""
    return left_alone(row) and row["label"] == "none" and row["cpu"] is not None and row["cpu"] >= SLOWER


def treated(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sessions of rounds left alone to which something was done that they lost by, beside their CPUs' pace."""
    return [row for row in rows if counted(row) and row["label"] != "none" and row["beside"] > 1 + row["tolerance"]]


def said_beside(row: Mapping[str, Any]) -> str:
    """The cause of what it lost beside its CPU's pace: a pace that is measured is none that was claimed."""
    return "none" if row["pace_only"] else str(row["said"])


def named_slow(row: Mapping[str, Any]) -> bool:
    """A cause was named, and not that its CPU was slow while the lab's instrument saw that, too."""
    slower = row["said"] == Cause.SLOWER_CPU and row["cpu"] is not None and row["cpu"] >= SLOWER
    return named_beside_pace(row) and not slower


def named_beside_pace(row: Mapping[str, Any]) -> bool:
    """The same by the witness alone: all that was lost has to be what the pace of its CPUs explains."""
    seen = row["cpu"] is not None and row["cpu"] > AS_FAST
    return bool(row["said"] != "none" and not (row["pace_only"] and seen))


def _beside_pace(view: SessionView) -> float | None:
    if view.elapsed_s is None or not view.reference_s:
        return None
    return (view.elapsed_s - (view.pace_s or 0.0)) / view.reference_s


def _parts(view: SessionView) -> tuple[float | None, ...]:
    return view.inflation_s, view.queue_s, view.throttled_s, view.gap_s


def disturbed(each: Round, helper_pids: Sequence[int]) -> float:
    """Share of CPU time that neither sessions nor generator used, or that was stolen; the kit's own is among it."""
    theirs_s = sum(process.cpu_s for process in each.foreign if process.pid in helper_pids)
    theirs_s += sum(session.cpu_s or 0.0 for session in each.sessions)
    busy_s = sum(sum(row.busy_s) + sum(row.steal_s) for row in each.cpu_timeline)
    whole_s = (each.timeline_s[-1] - each.timeline_s[0]) * len(each.cpu_timeline)
    return max(0.0, busy_s - theirs_s) / whole_s


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
