"""Files are whole or not there, and land where the user said; another user's link leads none of them elsewhere."""

import os
import select
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dbcpu.config.trusted_file import UntrustedFile
from dbcpu.config.written_files import (
    check_way,
    draft_of,
    folder_for_files,
    is_descriptor,
    make_folder,
    open_device,
    open_to_append,
    replace_files,
)

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give links to somebody else")


def test_a_draft_takes_the_place_of_the_file_only_when_all_went_well(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    replace_files([(target, b"first")])

    def fail() -> None:
        with draft_of(target) as draft:
            draft.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_bytes() == b"first"
    replace_files([(target, b"second")])
    assert target.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_not_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        replace_files([(tmp_path / "report", b"x")])
    assert [each.name for each in tmp_path.iterdir()] == ["report"]


def test_a_link_where_the_draft_would_be_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can foresee its name; who guesses right has gained nothing."""
    target, precious = tmp_path / "report.html", tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / ".report.html.00000000.draft").symlink_to(precious)
    with monkeypatch.context() as guessed:
        guessed.setattr("os.urandom", lambda count: bytes(count))
        with pytest.raises(FileExistsError):
            replace_files([(target, b"new")])
    assert precious.read_text() == "kept"
    replace_files([(target, b"new")])
    assert (target.read_bytes(), target.is_symlink(), precious.read_text()) == (b"new", False, "kept")


def test_two_drafts_of_one_file_do_not_meet(tmp_path: Path) -> None:
    with draft_of(tmp_path / "x") as first, draft_of(tmp_path / "x") as second:
        first.write(b"first")
        second.write(b"second")
    assert (tmp_path / "x").read_bytes() == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


# --- links on the way


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the user's in a folder of the user's."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "precious").write_text("kept")
    return tmp_path / "own" / "precious"


def link_of(owner: int, link: Path, target: Path) -> Path:
    link.symlink_to(target)
    os.chown(link, owner, owner, follow_symlinks=False)
    return link


def test_where_writing_fails_no_empty_folder_is_left(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    for folder in (tmp_path / "own", tmp_path / "own" / "a" / "b"):
        with pytest.raises(OSError, match="full"), folder_for_files(folder):
            assert folder.is_dir()
            raise OSError("full")
    assert [*tmp_path.rglob("*")] == [tmp_path / "own"], "it was there before"
    with pytest.raises(OSError, match="full"), folder_for_files(tmp_path / "a" / "b"):
        (tmp_path / "a" / "file").touch()
        raise OSError("full")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "file", "own"]


@as_root
@pytest.mark.parametrize("in_between", [False, True], ids=["in place of the file", "on the way"])
def test_nothing_is_written_through_a_link_of_another_user(tmp_path: Path, precious: Path, in_between: bool) -> None:
    link = link_of(NOBODY, tmp_path / "link", precious.parent if in_between else precious)
    target = link / "precious" if in_between else link
    refusal = rf"^{link} is a link of user .*; give the path to which it leads"
    with pytest.raises(UntrustedFile, match=refusal):
        replace_files([(target, b"new")])
    with pytest.raises(UntrustedFile, match=refusal):
        open_device(target)
    with pytest.raises(UntrustedFile, match=refusal):
        check_way(target)
    assert precious.read_text() == "kept"
    assert [each.name for each in precious.parent.iterdir()] == ["precious"]


@as_root
def test_no_folder_is_made_behind_a_link_of_another_user(tmp_path: Path, precious: Path) -> None:
    link_of(NOBODY, tmp_path / "link", precious.parent)
    with pytest.raises(UntrustedFile):
        make_folder(tmp_path / "link" / "reports")
    assert [each.name for each in precious.parent.iterdir()] == ["precious"]


@as_root
def test_a_link_of_another_user_behind_an_own_one_is_not_followed(tmp_path: Path, precious: Path) -> None:
    link_of(NOBODY, tmp_path / "theirs", precious)
    (tmp_path / "mine").symlink_to("theirs")
    with pytest.raises(UntrustedFile, match="theirs is a link of user "):
        replace_files([(tmp_path / "mine", b"new")])
    assert precious.read_text() == "kept"


@as_root
def test_a_folder_of_another_user_is_written_into_and_nowhere_else(tmp_path: Path) -> None:
    """What is in it is that user's to change anyway."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    replace_files([(folder / "report.html", b"new")])
    assert (folder / "report.html").read_bytes() == b"new"


@as_root
def test_the_way_is_not_looked_up_again_once_it_was_checked(tmp_path: Path, precious: Path) -> None:
    """Another user puts a link in place of the folder in the midst of writing."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    with draft_of(folder / "precious") as draft:
        folder.rename(tmp_path / "moved")
        link_of(NOBODY, folder, precious.parent)
        draft.write(b"new")
    assert precious.read_text() == "kept"
    assert (tmp_path / "moved" / "precious").read_bytes() == b"new"


@as_root
@pytest.mark.parametrize("use", [open_device, open_to_append, check_way])
def test_a_fifo_of_another_user_is_not_even_opened(tmp_path: Path, use: Callable[[Path], object]) -> None:
    """Without a reader, opening it would last for ever."""
    fifo = tmp_path / "run.json"
    os.mkfifo(fifo)
    os.chown(fifo, NOBODY, NOBODY)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UntrustedFile, match=rf"^{fifo} belongs to user .*; name a file$"):
            use(fifo)
        seen = select.poll()
        seen.register(reader)
        assert seen.poll(0) == [], "a writer has come and gone"
    finally:
        os.close(reader)


@as_root
def test_nothing_is_added_to_a_file_of_another_user(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("theirs\n")
    os.chown(log, NOBODY, NOBODY)
    with pytest.raises(UntrustedFile, match=rf"^{log} belongs to user "):
        open_to_append(log)
    assert log.read_text() == "theirs\n"


@as_root
def test_nothing_is_added_through_a_link_of_another_user(tmp_path: Path, precious: Path) -> None:
    with pytest.raises(UntrustedFile, match="is a link of user "):
        open_to_append(link_of(NOBODY, tmp_path / "log", precious))
    assert precious.read_text() == "kept"


def test_nothing_is_added_to_a_file_that_has_another_name(tmp_path: Path, precious: Path) -> None:
    """Another user may have given an own file that name."""
    (tmp_path / "log").hardlink_to(precious)
    with pytest.raises(UntrustedFile, match="log has another name too"):
        open_to_append(tmp_path / "log")
    assert precious.read_text() == "kept"


def test_a_file_is_made_and_added_to(tmp_path: Path) -> None:
    for text in (b"a\n", b"b\n"):
        with open_to_append(tmp_path / "log") as log:
            log.write(text)
    assert (tmp_path / "log").read_bytes() == b"a\nb\n"


def test_a_fifo_of_the_users_own_waits_for_its_reader(tmp_path: Path) -> None:
    fifo = tmp_path / "own"
    os.mkfifo(fifo)
    with subprocess.Popen(["/bin/cat", fifo], stdout=subprocess.PIPE) as reader:
        with open_device(fifo) as device:  # type: ignore[union-attr]
            device.write(b"x")
        assert reader.communicate()[0] == b"x"


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_descriptor_that_was_handed_over_is_written_to(form: str) -> None:
    """As the shell hands over >(command)."""
    reading, writing = os.pipe()
    target = Path(form.format(writing))
    with pytest.raises(OSError, match="Bad file descriptor"):
        open_device(target)
    assert not is_descriptor(target), "it is one of our own"
    os.set_inheritable(writing, True)
    assert is_descriptor(target)
    check_way(target)
    with open_device(target) as device:  # type: ignore[union-attr]
        device.write(b"x")
    os.close(writing)
    with os.fdopen(reading, "rb") as read:
        assert read.read() == b"x"


def test_own_links_are_followed(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "folder").symlink_to("own")
    (tmp_path / "file").symlink_to(tmp_path / "folder" / ".." / "own" / "precious")
    replace_files([(tmp_path / "file", b"new")])
    assert precious.read_bytes() == b"new"
    assert (tmp_path / "file").is_symlink()
    make_folder(tmp_path / "folder" / "a" / "b")
    assert (tmp_path / "own" / "a" / "b").is_dir()


def test_links_that_lead_in_a_circle_end_and_the_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        replace_files([(tmp_path / "a", b"new")])
    assert caught.value.filename == str(tmp_path / "a")


def test_a_folder_that_cannot_be_made_is_named_as_it_was_given(tmp_path: Path, precious: Path) -> None:
    wanted = precious / "reports"
    with pytest.raises(NotADirectoryError) as caught:
        make_folder(wanted)
    assert caught.value.filename == str(wanted)


def test_a_file_is_no_device_and_neither_is_nothing(tmp_path: Path, precious: Path) -> None:
    assert open_device(precious) is None
    assert open_device(tmp_path / "nothing") is None
    with open_device(Path("/dev/null")) as device:  # type: ignore[union-attr]
        device.write(b"x")
