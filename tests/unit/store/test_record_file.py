import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.errors import RecordFormatError, StoreError, UsageError
from dbcpu.store import record_file
from plugins import runs
from support.record_data import data_of

RUN = runs.full_record()


@pytest.mark.parametrize("name", ["run.json", "run.json.gz", "a b%c.json"])
def test_run_comes_back_the_same(tmp_path: Path, name: str) -> None:
    record_file.write_record(tmp_path / name, RUN)
    assert record_file.read(tmp_path / name) == RUN
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_same_run_gives_the_same_bytes_compressed(tmp_path: Path) -> None:
    record_file.write_record(tmp_path / "one.json.gz", RUN)
    record_file.write_record(tmp_path / "two.json.gz", RUN)
    one = (tmp_path / "one.json.gz").read_bytes()
    assert one == (tmp_path / "two.json.gz").read_bytes()
    assert json.loads(gzip.decompress(one)) == data_of(RUN)


def test_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    record_file.write_record(tmp_path / "link.json", RUN)
    assert (tmp_path / "link.json").is_symlink()
    assert record_file.read(tmp_path / "real.json") == RUN


def test_run_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    record_file.write_record(path, RUN)
    bad = runs.round_of(1, 0, released_monotonic_s=float("nan"))
    with pytest.raises(RecordFormatError):
        record_file.write(path, RUN.header, [bad])
    assert record_file.read(path) == RUN
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(("given", "kept"), [(datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00Z"), (5, None)])
def test_a_time_that_is_no_text_is_kept_as_one_or_refused(given: object, kept: str | None, tmp_path: Path) -> None:
    odd = replace(RUN, header=replace(RUN.header, started_at=given))
    path = tmp_path / "run.json"
    if kept is None:
        with pytest.raises(RecordFormatError, match="started_at"):
            record_file.write_record(path, odd)
        assert not path.exists()
    else:
        record_file.write_record(path, odd)
        assert record_file.read(path).header.started_at == kept


def test_other_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.txt does not end in \.json or \.json\.gz"):
        record_file.write_record(tmp_path / "run.txt", RUN)


def test_full_device_is_told_and_stays_a_device() -> None:
    with pytest.raises(StoreError, match="/dev/full could not be written: No space left on device"):
        record_file.write_record("/dev/full", RUN)
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_file_that_grows_too_large_leaves_the_old_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    record_file.write_record(path, RUN)
    code = f"""
import resource
from plugins import runs
from dbcpu.store import record_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
record_file.write_record({str(path)!r}, runs.record("other", rounds=40))
"""
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr.strip().endswith(f"StoreError: {path} could not be written: File too large; no file was changed")
    assert record_file.read(path) == RUN
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("path", ["missing/run.json", "file/run.json"])
def test_place_that_takes_no_file_is_told(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"run\.json could not be written: (No such file|Not a directory)"):
        record_file.write_record(tmp_path / path, RUN)


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone\.json could not be read: No such file"):
        record_file.read(tmp_path / "gone.json")


def test_compressed_file_cut_short_or_altered_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    record_file.write_record(path, RUN)
    whole = path.read_bytes()
    for content in (whole[:-20], whole[:30] + b"\x00" * 10 + whole[40:], whole[:2]):
        path.write_bytes(content)
        with pytest.raises(RecordFormatError, match=r"run\.json\.gz is damaged: it does not uncompress"):
            record_file.read(path)


@pytest.mark.parametrize(
    ("text", "is_file"), [("last", False), ("2025", False), ("x.json", True), ("./x", True), ("x.json.gz", True)]
)
def test_names_of_files_are_told_from_run_ids(text: str, is_file: bool) -> None:
    assert record_file.is_file_name(text) is is_file
