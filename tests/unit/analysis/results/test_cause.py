"""Every reader of the table of causes handles every entry: one cause more is one entry, and these tests hold for it."""

import json

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.conclusions.verdict import verdict
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.findings import ENTRIES, noted
from support.builders.example import three_on_two

PUBLIC = """
none shared_core run_queue steal throttled frequency remote_memory competitor irq resource_manager wait stopped
slower_cpu unexplained
"""


def test_the_public_names_stay() -> None:
    gone = set(PUBLIC.split()) - {cause.value for cause in Cause}
    assert not gone, "stored runs, figures and programs have these names"


def test_a_cause_that_only_a_newer_version_has_is_none_of_these() -> None:
    assert Cause.of("steal") is Cause.STEAL
    assert (Cause.of(""), Cause.of("cosmic_rays")) == (None, None)


def test_words_colours_and_marks_belong_to_one_cause_each() -> None:
    for values in (
        [cause.words for cause in Cause],
        [cause.colour for cause in Cause],
        [cause.mark for cause in Cause],
    ):
        assert all(values)
        assert len(set(values)) == len(Cause)


@pytest.mark.parametrize("cause", Cause)
def test_it_is_written_by_its_name(cause: Cause) -> None:
    assert json.loads(json.dumps([cause])) == [f"{cause}"] == [cause.value]


@pytest.mark.parametrize("cause", Cause)
def test_the_verdict_says_what_it_means(cause: Cause) -> None:
    run = three_on_two()
    found = explain(run)
    levels = [
        replace(level, main_cause=cause, even=Answer.NO if level.level > 1 else Answer.YES) for level in found.levels
    ]
    said = verdict(run_context(run), levels)
    if cause.is_known and cause is not Cause.RUN_QUEUE:  # of a queue the number of vCPUs is said
        assert cause.sentence in said
    assert (cause.words in said) == cause.is_known


@pytest.mark.parametrize("cause", Cause)
def test_what_helps_is_a_finding_with_a_remedy_and_the_headline_gives_it(cause: Cause) -> None:
    assert set(cause.helped_by) <= set(ENTRIES)
    found = explain(three_on_two())
    levels = tuple(
        replace(
            level,
            main_cause=cause,
            counted_cause=cause,
            counted_slowdown=None,
            even=Answer.NO if level.level > 1 else Answer.YES,
        )
        for level in found.levels
    )
    findings = tuple(replace(noted("steal", "seen"), code=code, remedy=f"mend {code}") for code in cause.helped_by)
    remedy = headline(replace(found, levels=levels, findings=findings, vcpus=8)).remedy
    remedy = remedy.partition(". Against CPUs that change speed: ")[0]
    general = cause.remedy or Cause.UNEXPLAINED.remedy
    assert remedy in ({each.remedy for each in findings} or {general})
