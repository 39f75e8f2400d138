"""Colours as eyes see them: contrast by WCAG 2.2, and how far two are apart for people who see fewer colours.

Colour vision is simulated as in Machado, Oliveira and Fernandes (2009), severity 1; distances are CIE 1976 in L*a*b*.
"""

import math
from collections.abc import Iterable
from itertools import product

VISIONS = {
    "all colours": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""On linear RGB."""
_TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE = (0.95047, 1.0, 1.08883)

Triple = tuple[float, float, float]


def contrast(ink: str, paper: str = "#ffffff") -> float:
    """Contrast ratio of two ``#rrggbb`` (or ``#rgb``), 1 to 21; text wants 4.5, marks 3."""
    dark, light = sorted((_luminance(ink), _luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


def apart(one: str, other: str, vision: str) -> float:
    """Distance of two colours for such eyes; about 2 is just noticed side by side."""
    return math.dist(_lab(one, vision), _lab(other, vision))


def farthest(colours: Iterable[str], least_contrast: float) -> str:
    """Of a grid the colour that no eyes mistake for any of these: what a new one may be."""
    taken = [(vision, _lab(each, vision)) for each in colours for vision in VISIONS]
    grid = ["#" + "".join(digits) for digits in product([f"{part:02x}" for part in range(0, 256, 17)], repeat=3)]
    visible = [colour for colour in grid if contrast(colour) >= least_contrast]
    return max(visible, key=lambda colour: min(math.dist(_lab(colour, vision), other) for vision, other in taken))


def _linear(colour: str) -> Triple:
    digits = colour.removeprefix("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def _luminance(colour: str) -> float:
    return _times((0.2126, 0.7152, 0.0722), _linear(colour))


def _lab(colour: str, vision: str) -> Triple:
    linear = _linear(colour)
    seen = tuple(min(1.0, max(0.0, _times(row, linear))) for row in VISIONS[vision])
    x, y, z = (
        _root(_times(row, (seen[0], seen[1], seen[2])) / white) for row, white in zip(_TO_XYZ, _WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _times(row: Triple, colour: Triple) -> float:
    return sum(weight * part for weight, part in zip(row, colour, strict=True))


def _root(value: float) -> float:
    return float(value ** (1 / 3)) if value > 0.008856 else 7.787 * value + 16 / 116
