"""A run beside those of its target before it, in one sentence; never that nothing has changed."""

from functools import cache
from json import loads

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.against_earlier_runs import BETTER, NOT_SHOWN, WORSE, AgainstHistory, against_history
from dbcpu.analysis.history.limits import HistoryPoint, check, point
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.config.check_limits import CheckLimits
from dbcpu.record.rounds import Foreign, KitCost, RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats import html, json, markdown
from support.builders.comparison import noisy_run
from support.page_reader import read_page


def night(day: int, speed: float = 1.0, noise: float = 0.01) -> RunRecord:
    started_at = f"2026-11-{day:02}T04:30:00+00:00"
    return noisy_run(day, speed, repeats=5, levels=(1, 2), noise=noise, started_at=started_at)


@cache
def known(day: int, speed: float, noise: float) -> HistoryPoint:
    """A night as a history holds it: most tests look back at the same ones, which are explained once."""
    run = night(day, speed, noise)
    return point(run.header.run_id, run.header.started_at, run_figures(run, explain(run)))


def nights(slow: int = 0, noise: float = 0.01) -> list[HistoryPoint]:
    """Fourteen, the last ones slow."""
    return [known(day, 0.7 if day > 14 - slow else 1.0, noise) for day in range(1, 15)]


def beside(run: RunRecord, *earlier: HistoryPoint, limits: CheckLimits | None = None) -> AgainstHistory | None:
    return against_history(run.header, run_figures(run, explain(run)), earlier, limits or CheckLimits())


def test_a_slow_night_says_so_in_the_words_of_the_check() -> None:
    slow, before = night(15, 0.7), nights()
    found = beside(slow, *before)
    assert found is not None
    assert (found.runs, found.change, found.strangers) == (14, WORSE, "")
    assert found.sentence.startswith("Slower than the 14 runs before: single-session throughput is ")
    said = [each.text for each in check(slow.header, run_figures(slow, explain(slow)), before, CheckLimits())]
    assert said
    assert found.sentence == f"Slower than the 14 runs before: {'; '.join(said)}."


def test_since_when_it_lasts_is_said() -> None:
    found = beside(night(15, 0.7), *nights(slow=5))
    assert found is not None
    assert found.change == WORSE
    assert found.sentence.startswith("Slower since 2026-11-10, by the 14 runs before: single-session throughput is ")
    assert "lasting change since 2026-11-10" in found.sentence


def test_a_usual_night_says_how_large_a_loss_would_have_been_seen() -> None:
    found = beside(night(15), *nights())
    assert found is not None
    assert found == AgainstHistory(
        14, NOT_SHOWN,
        "No change shown against the 14 runs before; a loss of throughput below 10 % would not have been seen.",
    )  # fmt: skip
    uneasy = beside(night(15), *nights(noise=0.06))
    assert uneasy is not None
    assert uneasy.change == NOT_SHOWN
    assert "a loss of throughput below 10 %" not in uneasy.sentence


def test_a_faster_night_is_no_night_without_a_change() -> None:
    found = beside(night(15, 1.3), *nights())
    assert found is not None
    assert found.change == BETTER
    assert found.sentence.startswith("Faster than the 14 runs before: single-session throughput is ")


@pytest.mark.parametrize("earlier", [0, 4])
def test_without_a_history_nothing_is_said(earlier: int) -> None:
    assert beside(night(15, 0.7), *nights()[:earlier]) is None


def test_what_is_switched_off_is_not_said_to_be_seen() -> None:
    found = beside(night(15), *nights(), limits=CheckLimits(throughput_drop=None))
    assert found is None or "throughput" not in found.sentence


def test_strangers_are_said_in_the_words_of_the_check() -> None:
    slow = night(15, 0.7)
    used = Foreign(1, "backup", 10.0 * 1.2)
    cost = KitCost(window_s=10.0, driver_cpu_s=0.0)
    busy = replace(slow, rounds=tuple(replace(each, cost=cost, foreign=(used,)) for each in slow.rounds))
    found = beside(busy, *nights())
    assert found is not None
    assert found.sentence.endswith(
        " The host was busy with strangers (other processes used 30 % of all vCPUs): not shown to be a worse host, "
        "measure again."
    )
    assert found.strangers == "other processes used 30 % of all vCPUs"
    assert shown(busy, found).front.lead_tone == "partly"


def shown(run: RunRecord, found: AgainstHistory | None) -> Document:
    return document(run, explain(run), found)


def test_every_format_begins_with_it() -> None:
    slow = night(15, 0.7)
    found = beside(slow, *nights())
    assert found is not None
    made = shown(slow, found)
    text = markdown.render(made)
    assert text.index("**Slower than the 14 runs before: ") < text.index(f"**{explain(slow).verdict[:20]}")
    data = loads(json.render(made))
    assert data["against_history"] == {"runs": 14, "change": "worse", "sentence": found.sentence, "strangers": ""}
    header = read_page(html.render(made)).text
    assert header.index("Slower than the 14 runs before: ") < header.index(made.front.headline)
    assert header.count("Slower than the 14 runs before: ") == 1
    assert (made.front.lead_tone, made.front.tone) == ("bad", "good")


def test_a_run_without_a_history_is_shown_as_it_was() -> None:
    made = shown(night(15), None)
    assert made.front.lead == ""
    assert len(made.verdict) == 1
    assert loads(json.render(made))["against_history"] is None
    assert 'class="lead"' not in html.render(made)
