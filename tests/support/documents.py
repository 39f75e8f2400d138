"""Documents of every kind, made of small runs: what pages and formats are tried on."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache

from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.cpu_scaling import by_cpus
from dbcpu.analysis.comparison.published import parse
from dbcpu.analysis.comparison.sizing import size
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.past_figures import past_figures
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.history.trend import PastRun, Trend, trend
from dbcpu.analysis.results.quote import Quote
from dbcpu.config.settings import settings
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents import by_cpus as of_cpus
from dbcpu.reports.documents import comparison, history, published, run, run_list, variants
from dbcpu.reports.formats import html
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.comparison import noisy_run, with_variants

PUBLISHED = """# Source: <b>a</b> magazine
label,configuration,n,cpus,metric,value
Box A,default,,10,TPS,261
Box A,node 0,,10,TPS,1619
Box A,default,1,,latency,4
Box A,default,2,,latency,8
"""
FIRST_NIGHT = datetime.fromisoformat("2026-10-01T04:30:00+00:00")


def of_comparison(label: str = "old box", busy: int | None = None) -> Document:
    """Three hosts; with ``busy`` cores of the first to be moved."""
    runs = [
        Candidate(label, noisy_run(1, levels=(1, 2, 4), cores=4, threads=1, label=label)),
        Candidate("cloud", noisy_run(2, uneven=1.5, levels=(1, 2, 3, 4), label="cloud")),
        Candidate("cloud, SMT off", noisy_run(3, levels=(1, 2, 3, 4), threads=1)),
    ]
    found = [measured_side(each.name, [each]) for each in runs]
    sizing = size([(each.name, each.first.record, each.first.analysis) for each in found], settings().sizing, busy)
    return comparison.document(compare_sides(found), sizing)


def of_history(label: str = "", runs: int = 16) -> Document:
    """Nightly runs of a host that became slower."""
    return history.document(_trend(label, runs))


def of_overview(label: str = "", runs: int = 3) -> Document:
    """Two targets."""
    return history.overview_document([_trend(label, runs)] * 2)


def _trend(label: str, runs: int) -> Trend:
    made = trend(
        [PastRun(each.header, past_figures(run_figures(each, explain(each)))) for each in _nights(label, runs)]
    )
    return replace(made, quote=Quote(4, 2.04, 1.98, 2.11, 0.66, 0.64, 0.69, "no"))


def _nights(label: str, runs: int) -> list[RunRecord]:
    return [
        noisy_run(
            night, speed=1.0 if night < runs // 2 else 0.9, uneven=1.5, run_id=f"run-{night:02}",
            started_at=(FIRST_NIGHT + timedelta(days=night)).isoformat(), target=label or "old-box",
        )
        for night in range(runs)
    ]  # fmt: skip


def of_variants(label: str = "spread") -> Document:
    """One run of two variants."""
    both = with_variants(noisy_run(1, uneven=1.5), noisy_run(2, speed=0.8), label)
    analysis = explain(both)
    assert analysis.variants is not None
    return variants.document(analysis.variants, analysis)


def of_cpu_counts(label: str = "ncpus:2") -> Document:
    """One and two CPUs, a session each."""
    parts = [
        simulate(SimulatedHost("box", cores=cpus, threads=1, noise=0.002), (cpus,), repeats=3, seed=cpus)
        for cpus in (1, 2)
    ]
    joined = with_variants(parts[0], parts[1], label)
    rounds = tuple(
        replace(each, sessions=tuple(replace(one, allowed_cpus=(0, 1)[: each.level]) for one in each.sessions))
        for each in joined.rounds
    )
    found = by_cpus(replace(joined, rounds=rounds))
    assert found is not None
    return of_cpus.document(found)


def of_published(label: str = "Box A") -> Document:
    """Bars and a curve."""
    return published.document(parse(PUBLISHED.replace("Box A", label), "two figures"))


def of_run(label: str = "") -> Document:
    """One run, for comparison with the others."""
    record = noisy_run(1, uneven=1.5, label=label)
    return run.document(record, explain(record))


def of_run_list(label: str = "nightly") -> Document:
    """An index of runs of several targets, the oldest left out."""
    verdicts = ("equal", "unequal", "", "inconclusive")
    rows = [
        run_list.ListedRun(
            run_id=f"2026110{at}-043000-ab1{at}", started_at=f"2026-11-0{at}T04:30:00+00:00", status="complete",
            target=f"box-{at % 5}", host="db1" if at % 2 else "", database="postgresql 18.1", workload="mixed short",
            levels="1,4-5,8", rounds=24, label=label, verdict=verdicts[at % 4],
            quote=Quote(16, 10.7, 10.1, 11.2, 0.66, 0.64, 0.69, ("yes", "no", "", "undecided")[at % 4]),
            disturbance=("", "", "foreign-load", "steal")[at % 4],
        )
        for at in range(9, 0, -1)
    ]  # fmt: skip
    return run_list.document(rows, all_shown=False)


KINDS: dict[str, Callable[[], Document]] = {
    "run": of_run,
    "comparison": of_comparison,
    "sizing": lambda: of_comparison(busy=4),
    "history": of_history,
    "overview": of_overview,
    "variants": of_variants,
    "published": of_published,
    "cpu_counts": of_cpu_counts,
    "runs": of_run_list,
}


@cache
def document_of(kind: str) -> Document:
    """One of KINDS, made once per process."""
    return KINDS[kind]()


@cache
def page_of(kind: str) -> str:
    """Its page, drawn once per process."""
    return html.render(document_of(kind))
