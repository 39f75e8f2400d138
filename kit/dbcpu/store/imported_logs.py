"""Logs of two well-known CPU tests by other people, as the CSV that ``imported_csv`` reads.

cputoolkit (K. Arao): report_sqldetail.txt, a row per step with EXEC, CPUSECS, ELAPSECS and more. A row does not say
how many sessions its step had: a line ``# sessions: 1-16`` before the table has to.

The gzip test of the 2017 articles: "Running 2 parallel gzip", and a line of dd(1) per process.
"""

import re
from collections.abc import Sequence

from dbcpu.errors import RecordFormatError, UsageError
from dbcpu.formatting import as_whole_number
from dbcpu.record.plan import MAX_SESSIONS, parse_levels

_TOOLKIT = re.compile(r"^\s*TM\s*,\s*EXEC\s*,\s*LIOS\s*,\s*CPUSECS\s*,\s*ELAPSECS\b", re.MULTILINE)
_STEP = re.compile(r"^\s*\d\d/\d\d/\d\d [\d:]{8}\s*,\s*(\d+)\s*,\s*\d+\s*,\s*[\d.]+\s*,\s*([\d.]+)\s*,", re.MULTILINE)
_SESSIONS = re.compile(r"^#\s*sessions\s*:\s*(.+?)\s*$", re.MULTILINE)
_REMARK = re.compile(r"^#(?!\s*sessions\s*:).*$", re.MULTILINE)
_GZIP = re.compile(r"^\s*Running (\d+) parallel gzip\s*$", re.MULTILINE)
_COPIED = re.compile(r"(\d+) bytes\b.*\bcopied, ([\d.,]+) s\b")

MAX_S = 1e9
"""Thirty years."""
_SHOWN = 40
"""Letters of a text from the file within a message."""
_NO_TIME = f"no time from 0 to {MAX_S:g} s"


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
    steps = list(_STEP.finditer(text))
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
    rows = [f"{n},{_rate(n, step, name)}" for n, step in zip(levels, steps, strict=True)]
    facts = ("# kind: oracle", "# workload: cputoolkit", "# unit: executions/s")
    return _csv(text, facts, "n,rate", rows)


def _rate(n: int, step: re.Match[str], name: str) -> str:
    """Executions per second of ``n`` sessions. Raises RecordFormatError."""
    executions, elapsed_s = as_whole_number(step[1]), _seconds(step[2])
    if executions is None:
        raise _damaged(name, step, f"EXEC {step[1][:_SHOWN]!r} is no number of executions")
    if elapsed_s is None:
        raise _damaged(name, step, f"ELAPSECS {step[2][:_SHOWN]!r} is {_NO_TIME}")
    if not executions or not elapsed_s:
        raise RecordFormatError(f"{name}: the step of {n} sessions has no execution that ended")
    return f"{n * executions / elapsed_s:.9g}"


def _seconds(text: str) -> float | None:
    """From 0 to ``MAX_S``; None for any other text."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found <= MAX_S else None


def _damaged(name: str, found: re.Match[str], what: str) -> RecordFormatError:
    line = found.string.count("\n", 0, found.start(1)) + 1
    return RecordFormatError(
        f"{name}, line {line}: {what}; the log is damaged there: correct the line, or run that step again"
    )


def _of_gzip(text: str, name: str) -> str:
    """Each process's seconds. A number of processes that was run again is another round."""
    rows: list[str] = []
    repeats: dict[int, int] = {}
    copied: set[str] = set()
    for begin, end in _blocks(text):
        number = as_whole_number(begin[1], 1, MAX_SESSIONS)
        if number is None:
            what = f"{begin[1][:_SHOWN]!r} is no number of processes from 1 to {MAX_SESSIONS}"
            raise _damaged(name, begin, what)
        lines = list(_COPIED.finditer(text, begin.end(), end))
        times = [_time(line, name) for line in lines]
        if len(times) != number:
            raise RecordFormatError(f"{name}: {number} processes were started and {len(times)} lines say `copied`")
        copied |= {line[1] for line in lines}
        if len(copied) > 1:
            sizes = " and ".join(size[:_SHOWN] for size in sorted(copied, key=lambda size: (len(size), size)))
            raise RecordFormatError(f"{name}: the processes copied {sizes} bytes; only equal work can be compared")
        repeats[number] = repeats.get(number, 0) + 1
        rows += [f"{number},{repeats[number]},{at},{time_s}" for at, time_s in enumerate(times, start=1)]
    return _csv(text, ("# kind: shell", "# workload: gzip"), "n,repeat,session,seconds", rows)


def _time(line: re.Match[str], name: str) -> str:
    """Seconds with a decimal point, in the digits of the file. Raises RecordFormatError."""
    text = line[2].replace(",", ".")
    if _seconds(text) is None:
        raise _damaged(name, line, f"copied in {line[2][:_SHOWN]!r} is {_NO_TIME}")
    return text


def _blocks(text: str) -> list[tuple[re.Match[str], int]]:
    """Each line ``Running``, and where the next one or the text ends it."""
    found = list(_GZIP.finditer(text))
    return list(zip(found, [*(each.start() for each in found[1:]), len(text)], strict=True))


def _csv(text: str, facts: Sequence[str], columns: str, rows: Sequence[str]) -> str:
    own = _REMARK.findall(text)
    keys = {line.lstrip("# ").partition(":")[0].strip() for line in own}
    kept = [line for line in facts if line.lstrip("# ").partition(":")[0] not in keys]
    return "\n".join([*own, *kept, columns, *rows, ""])
