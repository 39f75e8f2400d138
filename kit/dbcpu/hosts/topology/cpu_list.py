"""Lists of CPUs as the kernel writes them, ``0-3,8,10-11``, and as ``formatting.ranges`` does."""

from dbcpu.errors import UsageError
from dbcpu.record import MAX_CPUS

MAX_DIGITS = 9
"""Python refuses to read thousands of digits, in words of its own."""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers, rising and without repeats; () for an empty list.

    Raises:
        UsageError: not in the form of ``0-3,8,10-11``.
    """
    cpus: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        low, dash, high = part.strip().partition("-")
        if not _is_number(low) or (dash and not _is_number(high)) or not int(low) <= int(high or low) < MAX_CPUS:
            raise UsageError(
                f"CPU list {text.strip()[:80]!r} is not understood at {part[:40]!r}; give a list such as 0-3,8,10-11"
            )
        cpus.update(range(int(low), int(high or low) + 1))
    return tuple(sorted(cpus))
