"""Text in aligned columns, for lists that are read by people and by grep alike."""

from collections.abc import Iterator, Sequence


def aligned(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """The headings and then the lines, each column as wide as its widest cell, two spaces between."""
    cells = [tuple(map(printable, line)) for line in (headings, *lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def printable(text: str) -> str:
    """``text`` without what would steer a terminal: it may come from a file of somebody else's."""
    return "".join(character if character.isprintable() else "?" for character in text)
