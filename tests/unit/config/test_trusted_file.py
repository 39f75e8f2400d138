"""A file that is obeyed: whoever else could have written it, it is refused."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.config.trusted_file import UntrustedFile, open_trusted

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to somebody else")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "state" / "journal"
    folder.mkdir(parents=True, mode=0o755)
    (folder / "a.journal").write_text("{}\n")
    (folder / "a.journal").chmod(0o644)
    yield folder / "a.journal"


def text_of(path: Path) -> str:
    with os.fdopen(open_trusted(path)) as opened:
        return opened.read()


def test_own_file_in_own_folders_is_read(file: Path) -> None:
    assert text_of(file) == "{}\n"


@as_root
def test_root_is_named_once(file: Path) -> None:
    os.chown(file, NOBODY, NOBODY)
    with pytest.raises(UntrustedFile, match=r"; it has to belong to root$"):
        text_of(file)


def test_file_can_be_opened_for_writing(file: Path) -> None:
    with os.fdopen(open_trusted(file, os.O_RDWR), "r+") as opened:
        opened.write("[]")
    assert file.read_text() == "[]\n"


@pytest.mark.parametrize("level", [0, 1, 2], ids=["file", "folder", "folder above"])
def test_what_others_may_write_is_refused(file: Path, level: int) -> None:
    place = [file, *file.parents][level]
    place.chmod(0o777)
    with pytest.raises(UntrustedFile, match=f"^{place} can be written by others.*chmod go-w {place}$"):
        text_of(file)


def test_folder_where_the_sticky_bit_protects_is_accepted(file: Path) -> None:
    file.parent.parent.chmod(0o1777)
    assert text_of(file) == "{}\n"


@as_root
@pytest.mark.parametrize("level", [0, 1, 2], ids=["file", "folder", "folder above"])
def test_what_belongs_to_somebody_else_is_refused(file: Path, level: int) -> None:
    place = [file, *file.parents][level]
    os.chown(place, NOBODY, NOBODY)
    with pytest.raises(UntrustedFile, match=f"^{place} belongs to user "):
        text_of(file)


@as_root
def test_file_of_somebody_else_in_a_sticky_folder_is_refused(file: Path) -> None:
    file.parent.chmod(0o1777)
    os.chown(file, NOBODY, NOBODY)
    with pytest.raises(UntrustedFile, match="belongs to"):
        text_of(file)


def test_link_is_judged_by_where_it_leads(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.journal"
    link.symlink_to(file)
    assert text_of(link) == "{}\n"
    file.chmod(0o666)
    with pytest.raises(UntrustedFile, match=f"^{file} can be written"):
        text_of(link)


def test_fifo_is_refused_at_once(file: Path) -> None:
    fifo = file.with_name("b.journal")
    os.mkfifo(fifo)
    with pytest.raises(UntrustedFile, match="no regular file"):
        text_of(fifo)


def test_what_is_not_there_is_an_os_error(file: Path) -> None:
    with pytest.raises(FileNotFoundError):
        text_of(file.with_name("none.journal"))
