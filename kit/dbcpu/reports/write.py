"""A run's report: a folder with a page, pictures, a text for a ticket, sessions as CSV and the analysis as JSON."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dbcpu.analysis.results.run import Analysis
from dbcpu.config.drafts import replace_file
from dbcpu.errors import StoreError, UnknownName
from dbcpu.record import RunRecord

PICTURES = ("svg", "png")
FORMATS = ("html", *PICTURES, "markdown", "csv", "json")
FILE_NAMES = {"html": "report.html", "markdown": "report.md", "csv": "sessions.csv", "json": "analysis.json"}


def report_folder(record: RunRecord) -> Path:
    """``reports/<run_id>`` below the current folder; an imported run_id cannot lead out of it."""
    name = re.sub(r"[^\w.-]+", "_", record.header.run_id).lstrip(".")
    return Path("reports") / (name or "run")


def write_report(
    record: RunRecord, analysis: Analysis, folder: Path, formats: Iterable[str] = FORMATS
) -> tuple[Path, ...]:
    """Write the report into ``folder``, which is made if need be; files of an earlier report are replaced.

    Returns:
        The files written, pictures first.

    Raises:
        UnknownName: a format that there is not.
        StoreError: a file could not be written.
    """
    wanted = tuple(dict.fromkeys(formats))
    for form in wanted:
        if form not in FORMATS:
            raise UnknownName("report format", form, FORMATS)
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _files(record, analysis, wanted):
            replace_file(folder / name, content)
            written.append(folder / name)
    except OSError as error:
        where = error.filename or folder
        raise StoreError(
            f"the report could not be written to {where}: {error.strerror}; give another folder with --out"
        ) from None
    return tuple(written)


def _files(record: RunRecord, analysis: Analysis, formats: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    from dbcpu import registry  # matplotlib is loaded for pictures only

    forms = [form for form in PICTURES if form in formats]
    drawn: Mapping[str, Mapping[str, bytes]] = {}
    names: list[str] = []
    if forms:
        chart = registry.load("reports", "charts")
        drawn = chart.drawn(record, analysis, forms)
        for form, pictures in drawn.items():
            for name, picture in chart.with_empty_ones(record, analysis, form, pictures).items():
                names.append(f"{name}.{form}")
                yield names[-1], picture
    for form in formats:
        if form in PICTURES:
            continue
        renderer = registry.load("reports.formats", form)
        shares_pictures = form == "html" and "svg" in drawn
        text = renderer.page(record, analysis, drawn["svg"]) if shares_pictures else renderer.render(record, analysis)
        # The text for a ticket links to the pictures.
        linked = [name for name in names if name.endswith(".svg")]
        if form == "markdown" and linked:
            text += "\n## Pictures\n\n" + "\n".join(f"![{Path(name).stem}]({name})" for name in linked) + "\n"
        yield FILE_NAMES[form], text.encode("utf-8")
