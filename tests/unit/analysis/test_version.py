"""Figures that change need a new number of the analysis: stored ones of the old number are then made again."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.record.figures import FINDING, METRICS, VERSION, Figure
from dbcpu.store import record_file
from support.paths import ROOT, TESTS

KEPT = TESTS / "golden" / "figures.json"
RECORDS = sorted((ROOT / "reports/examples").glob("*/record.json.gz"))


def figures(file: Path) -> tuple[Figure, ...]:
    record = record_file.read(file)
    return run_figures(record, explain(record)).all


def shortened(text: str) -> str:
    return re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda number: f"{float(number[0]):.6g}", text)


def digest() -> str:
    """Of the figures of the committed records, to six digits, also within texts: the last ones are the machine's."""
    lines = [
        json.dumps([file.parent.name, each.metric, each.level, each.variant, each.text and shortened(each.text),
                    *(number and f"{number:.6g}" for number in (each.value, each.low, each.high))])
        for file in RECORDS for each in figures(file)
    ]  # fmt: skip
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def test_other_figures_have_another_number(request: pytest.FixtureRequest) -> None:
    kept, found = json.loads(KEPT.read_text("utf-8")), digest()
    if request.config.getoption("--update-golden") and str(VERSION) not in kept:
        KEPT.write_text(json.dumps({**kept, str(VERSION): found}, indent=1) + "\n", "utf-8")
        return
    assert kept.get(str(VERSION)) == found, (
        "the figures of the examples changed: count up VERSION in kit/dbcpu/record/figures.py, then run "
        "this test with --update-golden"
    )


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.parent.name)
def test_every_figure_is_in_the_catalogue_and_no_two_are_one_row(file: Path) -> None:
    found = figures(file)
    known = {each.name: each.of for each in METRICS}
    for each in found:
        if each.metric.startswith(FINDING):
            assert each.level == 0 and each.value in (1.0, 2.0, 3.0) and each.text
            continue
        assert (known[each.metric] == "run") == (each.level == 0 and each.variant == ""), each
        assert each.value is not None or each.text is not None
    keys = [(each.metric, each.level, each.variant) for each in found]
    assert len(set(keys)) == len(keys)
