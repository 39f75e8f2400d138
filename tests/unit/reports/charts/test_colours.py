"""Colours are told apart by everybody, and words and marks stand out from what is behind them."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from dbcpu.analysis.placement.timeline import ABSENT
from dbcpu.analysis.results.cause import Cause
from dbcpu.reports.charts.comparison.titles import COLOURS
from dbcpu.reports.charts.run import cpu_map, lanes
from dbcpu.reports.charts.style import FAINT, INK, PART_COLOURS
from dbcpu.reports.formats import html
from support.colour_vision import VISIONS, apart, contrast, farthest

TEXT, GRAPHICS = 4.5, 3.0
"""Least contrast of text and of marks (WCAG 2.2, success criteria 1.4.3 and 1.4.11)."""
PALETTES = {
    "causes": ({cause.value: cause.colour for cause in Cause}, 12.0),
    "parts of a session's time": (
        # A part that is put down to a cause has its colour.
        {colour: colour for colour in (*PART_COLOURS.values(), *(each.colour for each in Cause if each.is_known))},
        12.0,
    ),
    "what a CPU does": ({str(use): colour for use, colour in cpu_map.COLOURS.items()}, 18.0),
    "what a session shares": (
        {str(state): colour for state, colour in lanes.STATE_COLOURS.items() if state != ABSENT},
        18.0,
    ),
    "runs": ({str(at): colour for at, colour in enumerate(COLOURS)}, 12.0),
}
"""Each with the least distance of any two."""


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert apart("#ff0000", "#ff0000", "no red") == 0.0
    assert apart("#d55e00", "#8a9a00", "all colours") > 2 * apart("#d55e00", "#8a9a00", "no green")


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("name", PALETTES)
def test_any_two_colours_of_a_picture_are_apart_for_all_eyes(name: str, vision: str) -> None:
    palette, least = PALETTES[name]
    near = {
        (one, other): round(distance, 1)
        for one, other in combinations(palette, 2)
        if (distance := apart(palette[one], palette[other], vision)) < least
    }
    assert not near, f"less than {least} apart ({vision}); far from all is {farthest(palette.values(), GRAPHICS)}"


def test_the_colour_that_is_proposed_for_a_new_cause_fits() -> None:
    colours = [cause.colour for cause in Cause]
    new = farthest(colours, GRAPHICS)
    assert contrast(new) >= GRAPHICS
    assert min(apart(new, other, vision) for other in colours for vision in VISIONS) >= PALETTES["causes"][1]


def test_marks_and_words_of_pictures_stand_out_from_their_card() -> None:
    faint = {cause: round(contrast(cause.colour), 2) for cause in Cause if contrast(cause.colour) < GRAPHICS}
    assert not faint
    assert all(contrast(colour) >= TEXT for colour in (INK, FAINT, FAINT))


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_words_of_the_page_stand_out_in_every_scheme(scheme: str) -> None:
    style = (Path(html.__file__).parent / "templates" / "style.css").read_text("utf-8")
    schemes = re.findall(r":root \{([^}]*)\}", style)
    light, dark, paper = (dict(re.findall(r"--(\w+): (#[0-9a-f]+)", each)) for each in schemes)
    colours = {"light": light, "dark": dark, "print": paper}[scheme]
    assert colours.keys() == light.keys()
    for ink in ("ink", "soft", "accent", "problem", "warning", "good"):
        for page in ("page", "raised"):
            assert contrast(colours[ink], colours[page]) >= TEXT, (ink, page)
