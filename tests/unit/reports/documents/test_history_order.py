"""An overview of histories begins with what changed, and counts the targets with one run in one line."""

from msgspec.structs import replace

from dbcpu.analysis.history.limits import LastingChange
from dbcpu.analysis.history.trend import SOLO, Series, Trend
from dbcpu.reports.documents import history, history_words


def of(target: str, values: tuple[float, ...], host: str = "", changes: tuple[LastingChange, ...] = ()) -> Trend:
    days = tuple(f"2026-11-{day:02}T04:30:00+00:00" for day in range(1, len(values) + 1))
    ids, labels = tuple(f"{target}-{day}" for day in days), ("",) * len(values)
    series = (Series(SOLO, (), values, None, changes),)
    return Trend(target, host or target, "cartesian, size tiny", ids, days, labels, series, ())


def test_changed_targets_come_first_and_those_with_one_run_are_counted() -> None:
    steady = (40.0,) * 4
    changed = of("worse", (*steady, *(30.0,) * 4))
    at = LastingChange("2026-11-05", 40.0, 30.0, 4, (4, 4), ("2026-11-05", "2026-11-05"))
    changed = replace(changed, series=(replace(changed.series[0], changes=(at,)),))
    trends = [of("once", (1.0,)), of("even", steady), of("again", (1.0,)), changed]
    found = history.overview_document(trends)
    *own, counted = found.front.sentences
    assert [each.split(":")[0] for each in own] == ["worse", "even"], "a name that stands twice is said once"
    assert counted == "2 targets with one run: a history needs at least two."
    assert found.verdict[-1] == counted
    titles = [each.title for each in found.page]
    assert titles[0].startswith("worse")
    assert titles[2:] == ["Targets with one run", "How to read it"]
    assert found.sections[-1].title.endswith("tiny, 2026-11-01"), "one day is one date"


def test_a_usual_range_of_too_few_runs_is_not_called_unmeasured() -> None:
    """The legend said so of a dash in a row that shows what was measured."""
    two = of("young", (1.0, 1.1))
    assert history_words.usual_words(two.series[0]) == "-"
    assert "by too few of them" in dict(history_words.terms([two]))["-"]
