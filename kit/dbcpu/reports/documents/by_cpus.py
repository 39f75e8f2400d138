"""Throughput by CPUs as a sheet: normalised to one CPU, linear or not, where it flattens, and what follows."""

from dataclasses import asdict

from dbcpu.analysis.comparison.cpu_scaling import FLAT, LINEAR, ByCpus, Point
from dbcpu.formatting import number, percent, plural, rate, times
from dbcpu.reports.document import Curves, Line, Section, Sheet


def sheet(found: ByCpus) -> Sheet:
    """Words, columns and the curve."""
    columns = ("CPUs", "variant", "sessions", "Mrows/s", "of 1 CPU", "of ideal", "avg s", "min s", "max s", "rounds")
    return Sheet(
        title=f"Throughput by CPUs, {plural(found.per_cpu, 'session')} per CPU: {found.workload}",
        verdict=(_scaling(found), _suggestion(found)),
        sections=(
            Section("Throughput by CPUs", columns, tuple(_row(each) for each in found.points), words=("variant",)),
        ),
        lines=tuple(
            Line(each.variant, "", each.sessions, each.cpus, "throughput", each.throughput, each.times)
            for each in found.points
        ),
        notes=(
            "Mrows/s is all work over the time until the last session ended, median over rounds; s is per execution.",
            f"Linear: at least {percent(LINEAR)} of what as many single CPUs do; flat: a CPU more adds less than "
            f"{percent(FLAT)} of one.",
        ),
        data=asdict(found),
        curves=(
            Curves(
                "Throughput by CPUs", "CPUs", "throughput over that of one CPU",
                (("measured", tuple((each.cpus, each.times) for each in found.points)),),
            ),
        ),
    )  # fmt: skip


def _row(each: Point) -> tuple[str, ...]:
    return (
        str(each.cpus),
        each.variant,
        str(each.sessions),
        rate(each.throughput),
        times(each.times),
        percent(each.share),
        number(each.mean_s, 3),
        number(each.least_s, 3),
        number(each.most_s, 3),
        str(each.rounds),
    )


def _scaling(found: ByCpus) -> str:
    last = found.points[-1]
    if found.linear_to == last.cpus:
        return (
            f"Linear over all that was measured: {plural(last.cpus, 'CPU')} do {times(last.times)} of one "
            f"({percent(last.share)} of ideal)."
        )
    linear = next(each for each in found.points if each.cpus == found.linear_to)
    flat = f", and from {plural(found.flat_from, 'CPU')} on one more adds little" if found.flat_from else ""
    return (
        f"Linear up to {plural(found.linear_to, 'CPU')} ({times(linear.times)}); {last.cpus} CPUs do "
        f"{times(last.times)} of one, {percent(last.share)} of ideal{flat}."
    )


def _suggestion(found: ByCpus) -> str:
    last = found.points[-1]
    linear = next(each for each in found.points if each.cpus == found.linear_to)
    several = last.cpus // linear.cpus
    if several < 2:
        return f"One instance can have all {plural(last.cpus, 'CPU')}."
    together = several * linear.throughput / last.throughput
    return (
        f"{several} instances of {plural(linear.cpus, 'CPU')} would do {times(together)} of one instance on all "
        f"{last.cpus}, if they do not slow each other: dbcpu run A B --together measures that."
    )
