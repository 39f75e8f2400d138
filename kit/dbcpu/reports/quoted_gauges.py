"""What is quoted of a host as metrics: usable cores, and evenness beside them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from dbcpu.analysis.history.run_figures import ANSWERED
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.quote import Quote
from dbcpu.reports.document import Gauge


def quoted_gauges(quotes: Sequence[tuple[Mapping[str, str], Quote]], prefix: str = "dbcpu") -> Iterator[Gauge]:
    """The pair with each of these labels; names begin with ``prefix``.

    Where it is undecided whether a host is even there is no ``even``.
    """
    cores = "Usable cores: top of the throughput curve in rates of a single session, at most the vCPUs or the CPU quota"
    ratio = "Fastest / slowest session at the least even level up to the vCPUs or the CPU quota"
    low, high = "lower end of the 95 % interval.", "upper end of the 95 % interval."
    gauges: tuple[tuple[str, str, str, Callable[[Quote], float | None]], ...] = (
        ("usable_cores", f"{cores}.", "", attrgetter("usable_cores")),
        ("usable_cores_low", f"{cores}: {low}", "", attrgetter("usable_cores_low")),
        ("usable_cores_high", f"{cores}: {high}", "", attrgetter("usable_cores_high")),
        (
            "usable_cores_at_least",
            "Other numbers of sessions may show more usable cores: 1 yes, 0 no.",
            "",
            _at_least,
        ),
        ("evenness_ratio", f"{ratio}.", "ratio", attrgetter("evenness")),
        ("evenness_low_ratio", f"{ratio}: {low}", "ratio", attrgetter("evenness_low")),
        ("evenness_high_ratio", f"{ratio}: {high}", "ratio", attrgetter("evenness_high")),
        ("evenness_level", "The N of that level.", "", _evenness_level),
        ("evenness_decided", "Whether it is decided if all these levels are even: 1 yes, 0 no.", "", _decided),
        ("even", "All levels up to the vCPUs or the CPU quota are even: 1 yes, 0 no.", "", _even),
    )
    for name, meaning, unit, value in gauges:
        yield Gauge(f"{prefix}_{name}", meaning, unit, tuple((labels, value(each)) for labels, each in quotes))


def _at_least(quote: Quote) -> float | None:
    return None if quote.usable_cores is None else float(quote.at_least)


def _evenness_level(quote: Quote) -> float | None:
    return None if quote.evenness_level is None else float(quote.evenness_level)


def _decided(quote: Quote) -> float | None:
    return float(quote.even != Answer.UNDECIDED.value) if quote.even else None


def _even(quote: Quote) -> float | None:
    return ANSWERED.get(Answer(quote.even)) if quote.even else None
