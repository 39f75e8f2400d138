"""Logs of two well-known CPU tests by other people, as the CSV that ``csv_file`` reads.

cputoolkit (K. Arao): report_sqldetail.txt, a row per step with EXEC, CPUSECS, ELAPSECS and more. A row does not say
how many sessions its step had: a line ``# sessions: 1-16`` before the table has to.

The gzip test of the 2017 articles: "Running 2 parallel gzip", and a line of dd(1) per process.
"""

import re
from collections.abc import Sequence

from dbcpu.errors import RecordFormatError, UsageError
from dbcpu.plan import parse_levels

_TOOLKIT = re.compile(r"^\s*TM\s*,\s*EXEC\s*,\s*LIOS\s*,\s*CPUSECS\s*,\s*ELAPSECS\b", re.MULTILINE)
_STEP = re.compile(r"^\s*\d\d/\d\d/\d\d [\d:]{8}\s*,\s*(\d+)\s*,\s*\d+\s*,\s*[\d.]+\s*,\s*([\d.]+)\s*,", re.MULTILINE)
_SESSIONS = re.compile(r"^#\s*sessions\s*:\s*(.+?)\s*$", re.MULTILINE)
_REMARK = re.compile(r"^#(?!\s*sessions\s*:).*$", re.MULTILINE)
_GZIP = re.compile(r"^\s*Running (\d+) parallel gzip\s*$", re.MULTILINE)
_COPIED = re.compile(r"(\d+) bytes\b.*\bcopied, ([\d.,]+) s\b")


def as_csv(text: str, name: str) -> str | None:
    """The log as CSV, or None if it is neither. Remarks before it are kept, and count more.

    Raises:
        RecordFormatError: the log is not whole; the sentence says where.
    """
    if _TOOLKIT.search(text) or (_SESSIONS.search(text) and _STEP.search(text)):
        return _of_toolkit(text, name)
    return _of_gzip(text, name) if _GZIP.search(text) else None


def _of_toolkit(text: str, name: str) -> str:
    """A rate per step: so many sessions at once, each of which needs ELAPSECS / EXEC for an execution."""
    steps = _STEP.findall(text)
    said = _SESSIONS.search(text)
    if said is None:
        raise RecordFormatError(
            f"{name} has {len(steps)} steps of cputoolkit and does not say how many sessions each had; "
            "write it before the table, such as `# sessions: 1-16` or `# sessions: 1,5,9`"
        )
    try:
        levels = parse_levels(said[1], 1)
    except UsageError as error:
        raise RecordFormatError(f"{name}: the line # sessions: {error}") from None
    if len(levels) != len(steps):
        raise RecordFormatError(
            f"{name} has {len(steps)} steps of cputoolkit, and # sessions names {len(levels)}: {said[1]}"
        )
    if empty := [n for n, (executions, s) in zip(levels, steps, strict=True) if not int(executions) or not float(s)]:
        raise RecordFormatError(f"{name}: the step of {empty[0]} sessions has no execution that ended")
    rows = [f"{n},{n * int(count) / float(s):.9g}" for n, (count, s) in zip(levels, steps, strict=True)]
    facts = ("# kind: oracle", "# workload: cputoolkit", "# unit: executions/s")
    return _csv(text, facts, "n,rate", rows)


def _of_gzip(text: str, name: str) -> str:
    """Each process's seconds. A number of processes that was run again is another round."""
    rows: list[str] = []
    repeats: dict[int, int] = {}
    copied: set[str] = set()
    for number, block in _blocks(text):
        times = _COPIED.findall(block)
        if len(times) != number:
            raise RecordFormatError(f"{name}: {number} processes were started and {len(times)} lines say `copied`")
        copied |= {size for size, _ in times}
        if len(copied) > 1:
            sizes = " and ".join(sorted(copied, key=int))
            raise RecordFormatError(f"{name}: the processes copied {sizes} bytes; only equal work can be compared")
        repeats[number] = repeats.get(number, 0) + 1
        rows += [
            f"{number},{repeats[number]},{at},{time_s.replace(',', '.')}"
            for at, (_, time_s) in enumerate(times, start=1)
        ]
    return _csv(text, ("# kind: shell", "# workload: gzip"), "n,repeat,session,seconds", rows)


def _blocks(text: str) -> list[tuple[int, str]]:
    found = list(_GZIP.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return [(int(each[1]), text[each.end() : end]) for each, end in zip(found, ends, strict=True)]


def _csv(text: str, facts: Sequence[str], columns: str, rows: Sequence[str]) -> str:
    own = _REMARK.findall(text)
    keys = {line.lstrip("# ").partition(":")[0].strip() for line in own}
    kept = [line for line in facts if line.lstrip("# ").partition(":")[0] not in keys]
    return "\n".join([*own, *kept, columns, *rows, ""])
