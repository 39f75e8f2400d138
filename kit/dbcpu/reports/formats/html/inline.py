"""An SVG file as part of a page: no file head, no metadata, no comments, and identifiers of its own."""

import re

from markupsafe import Markup, escape

SCALE = 1.6
"""CSS pixels per point: the letters of the picture are then as large as those of the page's tables."""
LONG = 0.85
"""Height over width from which a picture is a long one."""

_HEAD = re.compile(r"^.*?(?=<svg\b)", re.DOTALL)
_NOT_SHOWN = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'\s(?:width|height)="[\d.]+pt"')
_WIDTH = re.compile(r'\swidth="([\d.]+)pt"')
_HEIGHT = re.compile(r'\sheight="([\d.]+)pt"')
_NAMED = re.compile(r'(\bid="|href="#|url\(#)')


def inline(svg: str, prefix: str, label: str) -> Markup:
    """The ``svg`` element as markup; every identifier begins with ``prefix``, readers hear ``label``."""
    element = _NOT_SHOWN.sub("", _HEAD.sub("", svg))
    opening, rest = element.split(">", 1)
    width = _WIDTH.search(opening)
    points = float(width[1]) if width else 500.0
    height = _HEIGHT.search(opening)
    # On paper a picture gets half a page, unless it is a long one.
    long = ' class="long"' if height and float(height[1]) > LONG * points else ""
    opening = _SIZE.sub("", opening) + long
    body = _NAMED.sub(rf"\g<1>{prefix}-", f"{opening}>{rest}").split(">", 1)[1]
    size = f'style="width:{points * SCALE:.0f}px"'
    lines = "\n".join(line for line in body.splitlines() if line.strip())
    return Markup(f'{opening} role="img" aria-label="{escape(label)}" {size}>{lines}')  # noqa: S704 - made by matplotlib
