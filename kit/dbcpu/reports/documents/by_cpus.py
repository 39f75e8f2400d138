"""Throughput by CPUs: normalised to one CPU, whether it is linear, where it flattens, and the advice."""

from functools import partial

from dbcpu.analysis.comparison.cpu_scaling import FLAT, LINEAR, ByCpus, CpuPoint
from dbcpu.analysis.results.answer import Fact, Outcome
from dbcpu.analysis.results.comparison import LASTING_THROUGHPUT
from dbcpu.formatting import bare, decimal_s, listed, percent, plural, rate, times
from dbcpu.record.plan import NORMAL
from dbcpu.reports.document import Chart, Column, Curves, Document, Front, Section
from dbcpu.reports.documents.comparing_document import Line, comparing_document, pictured, titled_table
from dbcpu.reports.documents.comparison_front import ONLY_CPU
from dbcpu.reports.plain_data import plain_data

NAME = "Throughput by CPUs"
READING = (
    "Throughput with more CPUs, at the same number of sessions per CPU. Along the dashed line every CPU adds as much "
    "as the first; where the curve stays below it, a further CPU adds less."
)
TERMS = (
    ("of 1 CPU", "throughput / throughput of one CPU"),
    ("efficiency", "throughput / throughput of as many single CPUs"),
    ("Mrows/s", "million rows per second; the work is fixed, so that more is faster"),
)
COLUMNS = (
    Column("cpus", "CPUs", kind="figure"),
    Column("variant", "variant", kind="text"),
    Column("sessions", "sessions", kind="figure"),
    Column("throughput", "Mrows/s", rate, kind="figure", unit="Mrows/s"),
    Column("times", "of 1 CPU", times, kind="figure"),
    Column("share", "efficiency", percent, kind="figure"),
    Column("mean_s", "avg s", decimal_s, kind="figure", unit="s"),
    Column("least_s", "min s", decimal_s, kind="figure", unit="s"),
    Column("most_s", "max s", decimal_s, kind="figure", unit="s"),
    Column("rounds", "rounds", kind="figure"),
)


def document(found: ByCpus) -> Document:
    """Words, columns and the curve."""
    series = (("measured", tuple((each.cpus, each.times) for each in found.points)),)
    several = len(found.tried) > 1
    loads = f"the best of {listed([bare(each) for each in found.tried])} sessions per CPU" if several else ""
    title = f"{NAME}, {loads or plural(found.per_cpu, 'session') + ' per CPU'}: {found.workload}"
    chart = Chart("scaling", NAME, Curves(NAME, "CPUs", "throughput / that of one CPU", series, below=title))
    section = titled_table("by-cpus", NAME, COLUMNS, found.points)
    tried = [titled_table("tried", "Mrows/s by sessions per CPU", _tried(found), found.points)] if several else []
    said = (_seen(found),) if found.unclaimed else (_scaling(found), _suggestion(found), *_open(found))
    notes = (
        f"Mrows/s is {LASTING_THROUGHPUT}, median over rounds; s is per execution.",
        f"Linear: at least {percent(LINEAR)} of the throughput of as many single CPUs; flat: a further CPU adds less "
        f"than {percent(FLAT)} of one.",
    )
    return comparing_document(
        title=title,
        verdict=said,
        sections=(section, *tried),
        lines=[
            Line(each.variant, "", each.sessions, each.cpus, "throughput", each.throughput, ratio=each.times)
            for each in found.points
        ],
        notes=notes,
        data=lambda: plain_data(found),
        front=Front(
            "How much does a further CPU add?",
            NAME,
            *_headline(found),
            tiles=tuple(
                Fact(plural(each.cpus, "CPU"), rate(each.throughput), f"Mrows/s, efficiency {percent(each.share)}")
                for each in found.points
            ),
            caveats=(ONLY_CPU,),
        ),
        page=lambda: (
            pictured(chart, READING, section.tables),
            *tried,
            Section("reading", "How to read it", notes=notes, terms=TERMS),
        ),
        footer=f"dbcpu, {found.workload}.",
    )  # fmt: skip


def _tried(found: ByCpus) -> tuple[Column, ...]:
    return (
        Column("cpus", "CPUs", kind="figure"),
        *(
            Column(f"per_cpu_{bare(each)}", f"{bare(each)} per CPU", rate, kind="figure", unit="Mrows/s",
                   value=partial(_rate_at, each))
            for each in found.tried
        ),
    )  # fmt: skip


def _rate_at(ratio: float, point: CpuPoint) -> float | None:
    return dict(point.tried).get(ratio)


def _open(found: ByCpus) -> tuple[str, ...]:
    """Where throughput had not begun to fall, the best may be beyond what was measured."""
    cpus = [bare(each.cpus) for each in found.points if each.is_open]
    if not cpus:
        return ()
    more = f"`--per-cpu {bare(found.per_cpu)},{bare(2 * found.per_cpu)}`"
    return (f"On {listed(cpus)} CPUs most sessions per CPU did most: more of them may do more ({more}).",)


def _headline(found: ByCpus) -> tuple[str, Outcome]:
    last = found.largest
    if found.unclaimed:
        return "Inconclusive: too few rounds were measured", Outcome.UNKNOWN
    tone = Outcome.GOOD if found.linear_to == last.cpus else Outcome.PARTLY
    return f"{plural(last.cpus, 'CPU')} have {times(last.times)} the throughput of one", tone


def _seen(found: ByCpus) -> str:
    """What was measured, where it is too little for more."""
    last = found.largest
    return (
        f"Inconclusive whether throughput is linear: {found.unclaimed}. In what was measured "
        f"{plural(last.cpus, 'CPU')} have {times(last.times)} the throughput of one; `dbcpu vary --repeats {NORMAL}` "
        "measures enough."
    )


def _scaling(found: ByCpus) -> str:
    last = found.largest
    if found.linear_to == last.cpus:
        return (
            f"Linear over all measured sizes: {plural(last.cpus, 'CPU')} have {times(last.times)} the throughput of "
            f"one (efficiency {percent(last.share)})."
        )
    linear = next(each for each in found.points if each.cpus == found.linear_to)
    flat = f", and from {plural(found.flat_from, 'CPU')} on a further one adds little" if found.flat_from else ""
    return (
        f"Linear up to {plural(found.linear_to, 'CPU')} ({times(linear.times)}); {last.cpus} CPUs have "
        f"{times(last.times)} the throughput of one, efficiency {percent(last.share)}{flat}."
    )


def _suggestion(found: ByCpus) -> str:
    last = found.largest
    linear = next(each for each in found.points if each.cpus == found.linear_to)
    several = last.cpus // linear.cpus
    if several < 2:
        return f"One instance can have all {plural(last.cpus, 'CPU')}."
    together = several * linear.throughput / last.throughput
    return (
        f"{several} instances of {plural(linear.cpus, 'CPU')} would have {times(together)} the throughput of one "
        f"instance on all {last.cpus}, if they do not slow each other: `dbcpu run A B --together` measures that."
    )
