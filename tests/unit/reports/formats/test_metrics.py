"""OpenMetrics text: taken by the official parsers, in both formats."""

import importlib

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.formatting import number
from dbcpu.record.finding_entry import Level
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import TO_QUOTE
from dbcpu.reports.documents.run_summary import summary
from dbcpu.reports.formats import metrics
from support.builders.example import nine_on_eight, three_on_two, two_settings

PARSERS = ("prometheus_client.openmetrics.parser", "prometheus_client.parser")


def parsed(text: str, parser: str) -> dict[tuple[str, ...], float]:
    """(name, sorted labels) -> value, by the official parser."""
    module = importlib.import_module(parser)
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in module.text_string_to_metric_families(text)
        for sample in family.samples
    }


def renamed(record: RunRecord, target: str) -> RunRecord:
    return RunRecord(replace(record.header, plan=replace(record.header.plan, target=target)), record.rounds)


@pytest.mark.parametrize("parser", PARSERS)
def test_the_official_parser_reads_every_value_that_the_analysis_has(parser: str) -> None:
    record = nine_on_eight()
    analysis = explain(record)
    found = parsed(metrics.exposition(record, analysis), parser)
    for each in analysis.levels:
        labels = (
            "database=postgresql", "host=db1", f"level={each.level}", "target=embedded", f"variant={each.variant}",
        )  # fmt: skip
        assert found["dbcpu_elapsed_seconds", *labels] == pytest.approx(each.median_s)
        ratio = found.get(("dbcpu_max_over_min_ratio", *labels))
        assert ratio == (None if each.max_over_min is None else pytest.approx(each.max_over_min))
        assert found["dbcpu_throughput_rows_per_second", *labels] == pytest.approx((each.throughput or 0) * 1e6)
    where = ("database=postgresql", "host=db1")
    for severity in (Level.PROBLEM, Level.WARNING):
        named = f"severity={severity.name.lower()}"
        count = sum(each.level is severity for each in analysis.findings)
        assert found["dbcpu_findings", *where, named, "target=embedded"] == count


@pytest.mark.parametrize("parser", PARSERS)
def test_awkward_text_is_escaped(parser: str) -> None:
    target = 'quote " back\\slash\nline \x1b[31m'
    record = renamed(three_on_two(), target)
    found = parsed(metrics.exposition(record, explain(record)), parser)
    assert any('target=quote " back\\slash\nline  [31m' in key for key in found)


def test_the_text_has_no_time_stamps_and_ends_as_it_must() -> None:
    record = three_on_two()
    lines = metrics.exposition(record, explain(record)).splitlines()
    assert lines[-1] == "# EOF"
    assert all(len(line.rpartition("}")[2].split()) == 1 for line in lines if not line.startswith("#"))


def test_a_run_without_rounds_says_that_it_is_not_complete() -> None:
    record = RunRecord(replace(three_on_two().header, status="failed"), ())
    text = metrics.exposition(record, explain(record))
    assert 'dbcpu_run_complete{database="postgresql",host="db1",target="embedded"} 0.0\n' in text
    assert "dbcpu_elapsed_seconds" not in text


def test_the_answer_has_its_verdict_and_cause_as_labels() -> None:
    record = nine_on_eight()
    analysis = explain(record)
    found = [key for key in parsed(metrics.exposition(record, analysis), PARSERS[0]) if key[0] == "dbcpu_answer"]
    assert found == [
        ("dbcpu_answer", "cause=shared_core", "database=postgresql", "host=db1", "target=embedded", "verdict=unequal")
    ]


def test_what_others_took_has_no_line_where_it_is_not_known() -> None:
    record = nine_on_eight()
    analysis = explain(record)
    known = metrics.exposition(record, analysis)
    assert "dbcpu_other_processes_ratio{" in known
    blind = RunRecord(record.header, tuple(replace(each, cpu_timeline=(), foreign=()) for each in record.rounds))
    assert "dbcpu_steal_ratio{" not in metrics.exposition(blind, explain(blind))


def test_what_is_quoted_of_a_host_has_its_intervals_and_says_whether_it_is_decided() -> None:
    run = three_on_two()
    analysis = explain(run)
    room = analysis.capacity
    assert room is not None and room.evenness is not None and room.evenness.interval and room.usable_cores_interval

    def told(even: Answer) -> dict[str, float]:
        assert room is not None and room.evenness is not None
        changed = replace(analysis, capacity=replace(room, evenness=replace(room.evenness, even=even)))
        return {key[0]: value for key, value in parsed(metrics.exposition(run, changed), PARSERS[0]).items()}

    found = told(Answer.YES)
    assert found["dbcpu_usable_cores"] == pytest.approx(room.usable_cores)
    ends = (found["dbcpu_usable_cores_low"], found["dbcpu_usable_cores_high"])
    assert ends == pytest.approx((room.usable_cores_interval.low, room.usable_cores_interval.high))
    assert found["dbcpu_evenness_ratio"] == pytest.approx(room.evenness.value)
    ends = (found["dbcpu_evenness_low_ratio"], found["dbcpu_evenness_high_ratio"])
    assert ends == pytest.approx((room.evenness.interval.low, room.evenness.interval.high))
    assert (found["dbcpu_evenness_decided"], found["dbcpu_even"]) == (1.0, 1.0)
    assert (told(Answer.NO)["dbcpu_evenness_decided"], told(Answer.NO)["dbcpu_even"]) == (1.0, 0.0)
    undecided = told(Answer.UNDECIDED)
    assert undecided["dbcpu_evenness_decided"] == 0.0
    assert "dbcpu_even" not in undecided
    assert found["dbcpu_effective_cores"] == pytest.approx(analysis.scaling.effective_cores)


def test_each_variant_of_a_run_has_what_is_quoted_of_it() -> None:
    run = two_settings()
    analysis = explain(run)
    assert analysis.variants is not None
    found = parsed(metrics.exposition(run, analysis), PARSERS[0])
    lines = [text for name, text in summary(run, analysis) if name == TO_QUOTE]
    for each, said in zip(analysis.variants.variants, lines, strict=True):
        assert each.quote.evenness is not None
        own = {key[0]: value for key, value in found.items() if f"variant={each.name}" in key}
        assert own["dbcpu_evenness_ratio"] == pytest.approx(each.quote.evenness)
        assert own["dbcpu_evenness_level"] == each.quote.evenness_level
        assert said.startswith(f"{each.name}: ")
        assert f"evenness {number(each.quote.evenness)} " in said
    assert len({each.quote.evenness for each in analysis.variants.variants}) == 2
