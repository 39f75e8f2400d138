"""A report as files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.errors import StoreError, UnknownName
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats.base import load_format
from dbcpu.reports.write import report_folder, write_document
from support.builders.example import three_on_two
from support.forms import FORMS

DRAWN = ("slowdown", "throughput", "host", "sessions", "cpu_map", "lanes", "connect")


@pytest.mark.slow
def test_a_report_holds_every_format_and_its_pictures(tmp_path: Path) -> None:
    run = three_on_two()
    folder = tmp_path / "with blank" / "report"
    written = write_document(document(run, explain(run)), folder)
    names, pictures = {path.name for path in written}, {f"{name}.{form}" for name in DRAWN for form in ("svg", "png")}
    assert names >= pictures | {"report.html", "report.md", "report.txt", "sessions.csv", "analysis.json"}
    suffixes = sorted(load_format(form).SUFFIX for form in FORMS if load_format(form).IN_FOLDER)
    assert sorted(path.suffix for path in written if path.name not in pictures) == suffixes
    assert sorted(folder.iterdir()) == sorted(written)
    assert json.loads((folder / "analysis.json").read_text("utf-8"))["run_id"] == run.header.run_id
    linked = (folder / "report.md").read_text("utf-8").split("](")[1:]
    assert [link.split(")")[0] for link in linked] == [f"{name}.svg" for name in DRAWN]
    assert (folder / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert (folder / "slowdown.png").read_bytes().startswith(b"\x89PNG")


def test_only_the_wanted_formats_and_no_links_to_pictures_that_are_not_there(tmp_path: Path) -> None:
    run = three_on_two()
    assert [path.name for path in write_document(document(run, explain(run)), tmp_path, ["markdown", "csv"])] == [
        "report.md",
        "sessions.csv",
    ]
    assert "](" not in (tmp_path / "report.md").read_text("utf-8")


def test_an_unknown_format_lists_those_there_are(tmp_path: Path) -> None:
    run = three_on_two()
    with pytest.raises(UnknownName, match=f"'docx'; there are: {', '.join(sorted([*FORMS, 'png', 'svg']))}"):
        write_document(document(run, explain(run)), tmp_path, ["docx"])


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    run = three_on_two()
    with pytest.raises(StoreError, match="--out"):
        write_document(document(run, explain(run)), tmp_path / "file" / "report")


def test_a_disk_that_fills_up_leaves_the_report_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a mixture of old and new files either: which of them are of one run could not be seen."""
    run = three_on_two()
    write_document(document(run, explain(run)), tmp_path, ["markdown", "csv"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    opened, room = os.fdopen, [1]

    def filling(descriptor: int, mode: str) -> Any:
        stream = opened(descriptor, mode)
        if not room:
            stream.close()
            return opened(os.open("/dev/full", os.O_WRONLY), mode)
        room.pop()
        return stream

    monkeypatch.setattr(os, "fdopen", filling)
    other = document(replace(run, header=replace(run.header, run_id="other")), explain(run))
    with pytest.raises(StoreError, match=r"could not be written to .*: No space left on device; none of its files was"):
        write_document(other, tmp_path, ["markdown", "csv"])
    assert not room, "one file was written"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_imported_run_id_does_not_lead_out_of_the_reports_folder() -> None:
    run = three_on_two()
    for run_id in ("../../etc", "..", "/etc/passwd", ""):
        folder = report_folder(replace(run, header=replace(run.header, run_id=run_id)))
        assert folder.parent == Path("reports")
        assert folder.name not in ("", ".", "..")
