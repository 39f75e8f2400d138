"""The example reports are what this version makes of the records beside them.

``pytest tests/unit/test_examples.py --update-golden`` writes them anew: look at them then.
"""

from pathlib import Path

import pytest

from dbcpu import registry
from dbcpu.analysis.explain import explain
from dbcpu.store.record_file import read
from page_reader import without_pictures

FOLDER = Path(__file__).parents[2] / "reports" / "examples"
EXAMPLES = sorted(each.parent for each in FOLDER.glob("*/record.json.gz"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_report_is_what_its_record_gives(folder: Path, request: pytest.FixtureRequest) -> None:
    run = read(folder / "record.json.gz")
    page = registry.load("renderers", "html").render(run, explain(run))
    report = folder / "report.html"
    if request.config.getoption("--update-golden"):
        report.write_text(page, "utf-8", newline="\n")
    assert report.is_file(), f"{report} is missing; run pytest --update-golden and look at it"
    kept = report.read_text("utf-8")
    assert without_pictures(page) == without_pictures(kept), f"{report} differs; run pytest --update-golden and look"
    assert page.count("<svg") == kept.count("<svg")


def test_there_are_a_measured_and_a_simulated_example() -> None:
    assert {"embedded-2-vcpus", "simulated-c4.4xlarge"} <= {each.name for each in EXAMPLES}
