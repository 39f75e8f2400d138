"""How wide a text is drawn, and a text broken or cut to a width."""

from textwrap import wrap

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

SPARE = 0.96
"""Of a width: a reader's font may be a little wider, and a line has more of its wide letters."""
POINTS_PER_INCH = 72.0


def inches_of(text: str, points: float, *, bold: bool = False) -> float:
    """The width of the widest line of letters of ``points``, in the font of all pictures."""
    font = FontProperties(size=points, weight="bold" if bold else "normal")
    lines = text.split("\n")
    widths = [text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines]
    return float(max(widths)) / POINTS_PER_INCH


def wrapped_to(inches: float, text: str, points: float, *, bold: bool = False) -> list[str]:
    """The text in lines that fit; no line for no text."""
    return wrap(text, _letters(inches, text, points, bold=bold))


def cut_to(inches: float, text: str, points: float) -> str:
    """As much of the text as fits, with an ellipsis for the rest."""
    most = _letters(inches, text, points)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _letters(inches: float, text: str, points: float, *, bold: bool = False) -> int:
    """How many letters like those of the text fit."""
    whole = inches_of(text, points, bold=bold)
    return max(12, int(SPARE * inches * len(text) / whole)) if whole else 12
