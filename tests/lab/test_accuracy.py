"""The kept results: docs/accuracy.md says what they say, and the analysis of today is as good on them as it was."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from dbcpu.analysis.causes.session_columns import watched_run
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.store import record_file
from lab import bars, between_runs, document, emulated, labelled
from lab.__main__ import BETWEEN_RUNS, CHANCE, HIDDEN, LIVE, VERDICTS
from lab.intervals import wilson

README = document.DOCUMENT.parent.parent / "README.md"
HARDLY_S = 0.2
"""What clocks and polls that are apart make of nothing."""


@cache
def left_alone() -> tuple[Mapping[str, Any], ...]:
    return tuple(row for _, rows in labelled.kept(LIVE) for row in rows if labelled.left_alone(row))


def live() -> tuple[Mapping[str, Any], ...]:
    return tuple(row for row in left_alone() if labelled.counted(row))


def test_the_page_is_what_the_kept_results_say(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        document.DOCUMENT.write_text(document.page(), "utf-8")
    assert document.DOCUMENT.read_text("utf-8") == document.page(), "shell/lab document writes it anew"


def test_the_readme_has_the_figures_of_the_page() -> None:
    page, readme = document.DOCUMENT.read_text("utf-8"), README.read_text("utf-8")
    said = readme[readme.index("How often is dbcpu right") : readme.index("Why the figures can be trusted")]
    found = re.findall(r"(\d+) of (\d+)\b", said)
    found += [(named, quiet) for quiet, named in re.findall(r"Of (\d+) quiet sessions beside a witness (\d+)", said)]
    assert len(found) >= 3
    assert [f"{some} of {every}" for some, every in found if f"; {some} of {every})" not in page] == []


def test_runs_with_usual_noise_are_decided_and_equal_is_never_said_falsely() -> None:
    kept = json.loads(VERDICTS.read_text("utf-8"))
    assert kept["contradicting"] == 0
    found = kept["noise_up_to"]
    for most, least in (("0.03", 0.98), ("0.05", 0.90)):
        default = found[most]["by_default"]
        assert default["decided"] >= least * default["runs"]
    for each in found.values():
        assert all(run["false_yes"] <= 0.01 * run["yes"] for run in (each, each["after_more"], each["by_default"]))


def test_with_several_runs_a_side_the_interval_holds_what_it_says_and_a_host_is_not_told_from_itself() -> None:
    rows = json.loads(BETWEEN_RUNS.read_text("utf-8"))["rows"]
    several = [row for row in rows if row["how"] == between_runs.SEVERAL and row["spread"] > 0]
    assert [row["spread"] for row in several] == [0.02, 0.05]
    assert all(row["comparisons"] >= 400 for row in several)
    for row in several:
        assert 0.93 <= row["inside"] / row["comparisons"] <= 0.97
        assert row["told_apart"] <= 0.01 * row["comparisons"]


def test_enough_sessions_were_labelled_live() -> None:
    assert sum(len(rows) for _, rows in labelled.kept(LIVE)) >= 300


def test_causes_made_on_real_processes_are_named_and_no_other() -> None:
    victims = [row for row in live() if row["label"] != "none"]
    wrong = [row for row in victims if labelled.said_beside(row) not in (row["label"], "none", "unexplained")]
    lost = labelled.treated(live())
    assert len(lost) >= 200
    assert sum(map(bars.found_right, lost)) >= 0.99 * len(lost)
    assert len(wrong) <= 0.01 * len(victims)


def test_a_session_to_which_nothing_was_done_is_left_alone() -> None:
    quiet = [row for row in live() if row["label"] == "none"]
    assert len(quiet) >= 90
    # No more than can come by chance from 1 %; the page shows the share itself.
    assert wilson(sum(map(labelled.named_slow, quiet)), len(quiet))[0] <= 0.01


def test_what_sessions_need_follows_the_instrument() -> None:
    """Otherwise it could not tell whose label is the whole truth."""
    measured = [row for row in left_alone() if row["label"] == "none" and row["cpu"] is not None]
    logs = np.log([[row["cpu"], row["needed"]] for row in measured])
    assert len(measured) >= 100
    assert np.corrcoef(logs.T)[0, 1] > 0.9
    assert np.median(np.abs(logs[:, 0] - logs[:, 1])) < 0.07


def test_what_the_kernel_counts_as_stolen_is_when_the_instrument_was_kept_waiting() -> None:
    counted, late = np.array([each for run, _ in labelled.kept(LIVE) for each in labelled.stolen(run)]).T
    assert (counted > 0.3).sum() >= 10
    assert np.corrcoef(counted, late)[0, 1] > 0.9
    assert late[counted < 0.01].mean() < 0.01


def test_who_was_slower_though_nobody_touched_it_is_told_nothing_false() -> None:
    said = {row["said"] for row in left_alone() if labelled.by_neighbour(row)}
    assert said <= {"none", "slower_cpu"}


@pytest.mark.parametrize("file", emulated.FILES)
def test_in_the_emulated_guest_who_shared_a_core_is_named(file: str) -> None:
    rows = [row for row in emulated.rows(file) if row.label]
    lost = [row for row in rows if row.label != "none"]
    assert len(lost) >= 18
    assert [row for row in lost if row.said != row.label] == []
    if file in emulated.EXAMPLE_FILES:
        assert sum(row.said != "none" for row in rows if row.label == "none") <= 1


@pytest.mark.parametrize("file", emulated.FILES)
def test_others_ran_no_longer_on_a_sibling_than_they_ran_at_all(file: str) -> None:
    context = run_context(record_file.read(emulated.FILES[file]))
    seen = watched_run(context)
    assert seen is not None
    for each in context.record.rounds:
        busy_s = sum(sum(row.busy_s) for row in each.cpu_timeline)
        others_s = busy_s - sum(session.cpu_s or 0.0 for session in each.sessions)
        rows = [seen.row[each.order, session.ordinal] for session in each.sessions]
        assert (seen.evidence.sibling_foreign_s[rows] <= max(0.0, others_s) + HARDLY_S).all()


def test_the_kept_bars_are_met() -> None:
    chance, hidden = (json.loads(file.read_text("utf-8")) for file in (CHANCE, HIDDEN))
    pairs = {
        name: sum(row[name] for row in chance["pairs"]) for name in ("pairs", "false_pairs", "sessions", "named_slow")
    }
    assert pairs["pairs"] >= 1000
    assert pairs["false_pairs"] <= 0.01 * pairs["pairs"]
    assert pairs["named_slow"] <= 0.01 * pairs["sessions"]
    assert sum(row["levels_found"] for row in chance["detections"]) >= 0.95 * sum(
        row["runs"] for row in chance["detections"]
    )
    assert len(chance["coverage"]) == 8
    for row in chance["coverage"]:
        # Never fewer than 93 %, and no more than can come by chance from 97 %.
        assert row["inside"] >= 0.93 * row["intervals"], row
        assert wilson(row["inside"], row["intervals"])[0] <= 0.97, row
    named = [(pair.split(">"), count) for counts in hidden["sessions"].values() for pair, count in counts.items()]
    lost = [(truth, said, count) for (truth, said), count in named if truth != "none"]
    assert sum(count for truth, said, count in lost if said not in (truth, "none", "unexplained")) <= 0.02 * sum(
        count for *_, count in lost
    )
