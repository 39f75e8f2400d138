"""How numbers, times, lists and foreign text are written, and read back, so that every sentence and format agrees."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from dbcpu.errors import UsageError, without_password

UNKNOWN = "-"
DAY_S = 86_400
MAX_WORDS = 40
"""Of a sentence; what stands in parentheses counts."""
COLON = ": "
_COMMAND = re.compile(r"`[^`]*`")
LONGEST_LIST = 60
"""Letters of a list of CPUs or levels within a sentence."""
MAX_DIGITS = 19
MAX_NUMBER = 2**63 - 1
"""What a signed number of 64 bits holds: a column of a store, a counter of the kernel."""
MAX_CPUS = 65_536
"""Far above any Linux (CONFIG_NR_CPUS is at most 8192); keeps a typing error from filling the memory."""


def seconds(value: float | None) -> str:
    """A duration with three digits and its unit: 182 ms, 1.82 s, 182 s."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size < 0.000_05:
        return "0 ms"
    if size < 0.01:
        return f"{value * 1000:.1f} ms"
    if size < 0.9995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if size < 99.95 else f"{value:.0f} s"


def short_time(value: float) -> str:
    """A duration that may be far below a millisecond: 4 us, 182 us, 1.8 ms."""
    return seconds(value) if abs(value) >= 0.000_999_5 else f"{value * 1e6:.0f} us"


def duration(value: float) -> str:
    """A long time in a suitable unit: 42 s, 9.5 min, 8.0 h."""
    # By the figure that is shown: no time is 90 s in one run and 1.5 min in another.
    if round(value) < 90:
        return f"{number(value, 0)} s"
    return f"{number(value / 60, 1)} min" if round(value / 60, 1) < 90 else f"{number(value / 3600, 1)} h"


def moment(text: str) -> datetime | None:
    """A time in ISO 8601, in UTC where it names no zone; None for what is no time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def as_whole_number(text: str, least: int = 0, most: int = MAX_NUMBER) -> int | None:
    """A number from ``least`` to ``most``, as 1 to 19 digits of ASCII; None for any other text, a sign included.

    ``int`` takes digits of every script, and refuses more than 4300 of them in words of its own.
    """
    if not (len(text) <= MAX_DIGITS and text.isascii() and text.isdecimal()):
        return None
    return found if least <= (found := int(text)) <= most else None


def version_numbers(version: str, most: int) -> tuple[int, ...]:
    """The first ``most`` parts of a version such as ``19.3.0.0.0``, without those that are no numbers; to compare."""
    return tuple(int(part) for part in version.split(".")[:most] if part.isdecimal())


def gibibytes(size_bytes: float) -> str:
    """Memory: 4.0 GiB."""
    return f"{size_bytes / 1024**3:.1f} GiB"


def times(value: float | None) -> str:
    """A ratio: 1.52x."""
    return UNKNOWN if value is None else f"{value:.2f}x"


def percent(share: float | None) -> str:
    """A share of one: 0.021 is 2.1 %, 0.96 is 96 %."""
    if share is None:
        return UNKNOWN
    text = f"{share:.0%}" if abs(share) >= 0.0995 else f"{share:.1%}"
    return text.replace("-0.0%", "0.0%").replace("%", " %")


def number(value: float | None, digits: int = 2) -> str:
    """A bare number for a column."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def decimal_s(value: float | None) -> str:
    """Seconds for a column: to a millisecond, and below a tenth of a second to a tenth of one."""
    return number(value, 3 if value is None or abs(value) >= 0.1 else 4)


def bare(value: float) -> str:
    """All digits of a whole number, six of any other; never as 2.7e+06."""
    if float(value).is_integer():
        return f"{value:.0f}"
    text = f"{value:.6g}"
    return f"{Decimal(text):f}" if "e" in text else text


def rate(value: float | None) -> str:
    """Mrows/s for a column: 93.7, but 0.037, for a slow host or a small workload has rates too."""
    return UNKNOWN if value is None else f"{value:.1f}" if value >= 1 or value == 0 else f"{Decimal(f'{value:#.2g}'):f}"


def count(value: float | None) -> str:
    """A count that may be a median: 2, or 2-3 where it lies between the two: nobody saw half a session."""
    if value is not None and value % 1 == 0.5:
        return f"{math.floor(value)}-{math.ceil(value)}"
    return UNKNOWN if value is None else bare(value)


def listed(parts: Sequence[str], last: str = "and", most: int | None = None) -> str:
    """``a``, ``a and b``, ``a, b and c``; ``last``: the word before the last one.

    Beyond ``most``: ``a, b and 7 more``.
    """
    if most is not None and len(parts) > most:
        parts = (*parts[:most], f"{len(parts) - most} more")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def sentences(*clauses: str) -> str:
    """The same as whole sentences."""
    said = joined(*clauses)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def joined(*clauses: str) -> str:
    """The clauses that are not '' after semicolons, or where that is too long a sentence as the next one.

    A clause that begins with ``: `` follows after that, if there is room for both. The first begins small, and no full
    stop follows the last.
    """
    bound: list[str] = []
    for clause in filter(None, clauses):
        text = clause.removeprefix(COLON)
        if bound and text is not clause and is_short(f"{bound[-1]} {text}"):
            bound[-1] += clause
        else:
            bound.append(text)
    said = ""
    for text in bound:
        last = said.rpartition(". ")[2]
        together = ". " not in text and is_short(f"{last} {text}")
        said += (f"; {text}" if together else f". {text[0].upper()}{text[1:]}") if said else text
    return said


def is_short(clause: str) -> bool:
    """Whether it has no more words than a sentence may have; a command between backticks is read as one."""
    return len(_COMMAND.sub("`", clause).split()) <= MAX_WORDS


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as the kernel lists them: 0-3,8."""
    runs: list[list[int]] = []
    for value in sorted(set(numbers)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers of a list as the kernel and ``ranges`` write it, rising and without repeats; () for an empty list.

    Raises:
        UsageError: not in the form of ``0-3,8,10-11``.
    """
    cpus: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        low, dash, high = part.strip().partition("-")
        first = as_whole_number(low, most=MAX_CPUS - 1)
        last = as_whole_number(high, most=MAX_CPUS - 1) if dash else first
        if first is None or last is None or first > last:
            raise UsageError(
                f"CPU list {text.strip()[:80]!r} is not understood at {part[:40]!r}; give a list such as 0-3,8,10-11"
            )
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def as_cpu_list(text: str) -> tuple[int, ...] | None:
    """The same, of a file or a record of somebody else's: None for any other text."""
    try:
        return parse_cpu_list(text)
    except UsageError:
        return None


def short_ranges(numbers: Iterable[int], longest: int = LONGEST_LIST) -> str:
    """The same, by their ends where that has over ``longest`` letters: ``2-512 by 2``, or ``1,3,8... (100)``."""
    ordered = sorted(set(numbers))
    text = ranges(ordered)
    if len(text) <= longest:
        return text
    steps = {later - earlier for earlier, later in pairwise(ordered)}
    if len(steps) == 1:
        return f"{ordered[0]}-{ordered[-1]} by {steps.pop()}"
    return f"{text[:longest].rpartition(',')[0]}... ({len(ordered)})"


def plural(amount: float, noun: str) -> str:
    """``1 session``, ``2 sessions``, ``2 processes``."""
    ending = "" if amount == 1 else "es" if noun.endswith("s") else "s"
    return f"{bare(amount)} {noun}{ending}"


def threads_words(counts: Sequence[int]) -> str:
    """``2 threads``; ``1 or 2 threads`` of a host with cores of two kinds, ``? threads`` where none is known."""
    return f"{listed([*map(str, counts)], 'or') or '?'} thread{'' if list(counts) == [1] else 's'}"


def plain(text: str) -> str:
    """Text from outside on one line, without a password or control characters: it may carry terminal escapes."""
    shown = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    return without_password(" ".join(shown.split()))


def over_connections(connections: int, *, one_at_a_time: bool) -> str:
    """How a pool is called, as a person would write it: ``over 10 TCP connections, one call at a time on each``."""
    each = ", one call at a time" + (" on each" if connections > 1 else "") if one_at_a_time else ""
    return f"over {plural(connections, 'TCP connection')}{each}"


def aligned(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """The headings and then the lines, each column as wide as its widest cell, two spaces between."""
    cells = [tuple(map(printable, line)) for line in (headings, *lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


MAX_LABEL = 60
"""Characters of a label in a table; JSON has all of it."""


def shortened(text: str, most: int = 40) -> str:
    """``text``, or its first characters and ``...``: in a table one long cell widens all lines."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def printable_lines(text: str) -> str:
    """``printable``, line by line."""
    return "\n".join(map(printable, text.split("\n")))


def printable(text: str) -> str:
    """``text`` without what would steer a terminal: it may come from a file of somebody else's."""
    return "".join(character if character.isprintable() else "?" for character in text)


def encodable(text: str) -> str:
    """``text`` with ``?`` for what UTF-8 has no form of: bytes of a name that were no text (surrogates)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def builtin(value: Any) -> Any:
    """What msgspec takes no subclass of, as it takes it: a figure of NumPy's, a text of a driver's, a mapping.

    Raises:
        TypeError: JSON has no form of it.
    """
    for kind in (str, float, int):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON has no form of {type(value).__name__}")
