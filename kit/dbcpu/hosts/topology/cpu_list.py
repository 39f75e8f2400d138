"""Lists of CPUs as the kernel writes them, ``0-3,8,10-11``, and as ``formatting.ranges`` does."""

from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number
from dbcpu.record import MAX_CPUS


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers, rising and without repeats; () for an empty list.

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
