"""The example comparison is what this version makes of the records beside it: the picture of the 2017 articles.

``pytest tests/unit/test_comparison_example.py --update-golden`` writes it anew: look at it then.
"""

import json
from pathlib import Path

import pytest

from dbcpu import comparing, registry
from dbcpu.comparisons.base import Sheet

FOLDER = Path(__file__).parents[2] / "reports" / "examples" / "comparison-2017"
RUNS = ("on-prem", "cloud", "cloud-smt-off")
PICTURES = ("panels", "bars", "scaling")


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBCPU_CONFIG", str(FOLDER / "dbcpu.toml"))
        return comparing.comparison_sheet([str(FOLDER / f"{name}.json.gz") for name in RUNS], busy=12)


def test_the_text_is_what_the_records_give(sheet: Sheet, request: pytest.FixtureRequest) -> None:
    text = registry.load("comparisons", "markdown").render(sheet)
    pictures = registry.load("comparisons", "chart").pictures(sheet, "svg")
    assert tuple(pictures) == PICTURES
    text += "\n## Pictures\n\n" + "\n".join(f"![{name}]({name}.svg)" for name in pictures) + "\n"
    if request.config.getoption("--update-golden"):
        (FOLDER / "comparison.md").write_text(text, "utf-8", newline="\n")
        for name, picture in pictures.items():
            (FOLDER / f"{name}.svg").write_bytes(picture)
    assert all((FOLDER / f"{name}.svg").is_file() for name in PICTURES)
    assert text == (FOLDER / "comparison.md").read_text("utf-8"), "run pytest --update-golden and look"


def test_it_shows_what_was_found_in_2017(sheet: Sheet) -> None:
    data = json.loads(registry.load("comparisons", "json").render(sheet))
    old, cloud, off = data["sides"]
    spread = {
        each["name"]: {level["level"]: level["max_over_min"] for level in each["levels"]} for each in (cloud, off)
    }
    assert spread["cloud"][8] < 1.05
    assert spread["cloud"][9] == pytest.approx(1.5, abs=0.05)
    assert all(spread["cloud, SMT off"][level] < spread["cloud"][level] for level in (9, 10, 12, 14))
    assert old["decisions"] == []
    assert [each["outcome"] for each in cloud["decisions"]] == ["less", "more"]
    needs = {each["kind"]["name"]: each["vcpus"] for each in data["sizing"]["needs"]}
    assert needs == {"cloud": 24, "cloud, SMT off": 12}
