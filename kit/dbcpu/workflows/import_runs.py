"""From files of any kind to records: what ``dbcpu import`` takes in."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dbcpu.analysis.comparison.published import NEEDED
from dbcpu.config.given_file import is_file
from dbcpu.errors import DbcpuError, RecordFormatError, UsageError
from dbcpu.formatting import plain, plural
from dbcpu.record.rounds import RunRecord
from dbcpu.store import imported_csv, imported_logs, record_file
from dbcpu.store.imported_csv import RunFacts
from dbcpu.store.record_checks import inconsistency
from dbcpu.store.shell_kit import line_file, line_samples

_FORMS = (
    "a record (.json or .json.gz from dbcpu export), lines of the scripts of shell/, "
    f"or CSV with the columns {imported_csv.FORMS}"
)


def read_run(path: str, samples: Sequence[str] = (), facts: RunFacts | None = None) -> tuple[RunRecord, str]:
    """The run in a file, whatever its form, and a warning, '' if there is none. ``facts`` are only for CSV.

    Raises:
        StoreError: the file cannot be read.
        RecordFormatError: it is damaged, or of no form that is known.
        UsageError: it belongs to another command, or ``facts`` are given for a file that has its own.
    """
    content = record_file.content_of(path)
    if line_file.recognises(content):
        _refuse(facts, path)
        record = _consistent(line_file.from_content(content, path, samples), path)
        missing = line_samples.missing_words(record.rounds) if samples else ""
        return record, "; ".join(filter(None, (_cut_short(record, path), missing)))
    if path.endswith(record_file.SUFFIXES) or content.lstrip().startswith(b"{"):
        _refuse(facts, path)
        if samples:
            raise UsageError(f"{path} has the samples of its run in it; --samples is for lines of shell/, leave it out")
        return record_file.from_content(content, path), ""
    text = _text(content, path)
    text = imported_logs.as_csv(text, path) or text
    columns = imported_csv.columns_of(text)
    if imported_csv.holds_run(columns):
        if samples:
            raise UsageError(f"{path} has no process numbers, so --samples cannot be matched; leave it out")
        record, warning = imported_csv.from_text(text, path, facts)
        return _consistent(record, path), plain(warning)
    if columns.issuperset(NEEDED):
        raise UsageError(f"{path} holds published figures and no run; give it to dbcpu compare: dbcpu compare {path}")
    if not text.strip():
        raise RecordFormatError(f"{path} is empty; give {_FORMS}")
    raise RecordFormatError(f"{path} is no run; give {_FORMS}")


def holds_run(path: str) -> bool:
    """Whether this is a readable CSV file, or a log, of a run; no pipe, which can be read only once."""
    if not is_file(path):
        return False
    try:
        text = _text(record_file.content_of(path), path)
        return imported_csv.holds_run(imported_csv.columns_of(imported_logs.as_csv(text, path) or text))
    except DbcpuError:
        return False  # whoever reads it says what is wrong


def read_runs(
    paths: Sequence[str], samples: Sequence[str] = (), facts: RunFacts | None = None
) -> Iterator[tuple[RunRecord, str]]:
    """The runs of several files, as ``read_run``: all can be read before the first is given.

    Each is read a second time then, so that memory does not grow with their number; what is no regular file, such as a
    pipe, gives its content once and is kept. Raises as ``read_run``.
    """
    kept: dict[str, tuple[RunRecord, str]] = {}
    for path in paths:
        found = read_run(path, samples, facts)
        if len(paths) == 1 or not Path(path).is_file():
            kept[path] = found
    return (kept.pop(path) if path in kept else read_run(path, samples, facts) for path in paths)


def _cut_short(record: RunRecord, path: str) -> str:
    """What is said of the lines of a run that has not ended; '' of a whole one."""
    if record.header.status == "complete":
        return ""
    kept = plural(len(record.rounds), "round")
    return f"{path} has not the whole run: it was stopped, or the file was cut short; {kept} of it are imported"


def _consistent(record: RunRecord, path: str) -> RunRecord:
    """As ``record_file.read`` checks it. Raises RecordFormatError."""
    if reason := inconsistency(record):
        raise RecordFormatError(f"{path} is no run that could be explained: {reason}; correct the file")
    return record


def _refuse(facts: RunFacts | None, path: str) -> None:
    if facts not in (None, RunFacts()):
        raise UsageError(f"{path} says itself what was measured; options such as --cpus are for CSV files")


def _text(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecordFormatError(f"{path} is no run: it is not UTF-8 text; give {_FORMS}") from None
