"""The user's folders, and files that appear as a whole."""

from pathlib import Path

import pytest

from dbcpu.config import folders
from dbcpu.config.drafts import draft_of, replace_file

PLACES = [
    (folders.data_folder, "XDG_DATA_HOME", ".local/share/dbcpu"),
    (folders.state_folder, "XDG_STATE_HOME", ".local/state/dbcpu"),
    (folders.config_folder, "XDG_CONFIG_HOME", ".config/dbcpu"),
]


@pytest.mark.parametrize(("folder", "variable", "below_home"), PLACES)
def test_the_variable_counts_when_it_is_an_absolute_path_else_the_home_folder(
    folder: object, variable: str, below_home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert folder() == tmp_path / "elsewhere" / "dbcpu"
    for none in ("relative/is/ignored", ""):
        monkeypatch.setenv(variable, none)
        assert folder() == tmp_path / below_home
    monkeypatch.delenv(variable)
    assert folder() == tmp_path / below_home
    assert not (tmp_path / below_home).exists(), "to ask is not to make"


@pytest.mark.parametrize(("folder", "variable", "_"), PLACES)
def test_who_has_no_home_folder_has_none_of_them(
    folder: object, variable: str, _: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(folder)

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "no/absolute/path")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert folder() is None


def test_a_draft_takes_the_place_of_the_file_only_when_all_went_well(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    replace_file(target, b"first")

    def fail() -> None:
        with draft_of(target) as draft:
            draft.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_bytes() == b"first"
    replace_file(target, b"second")
    assert target.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_not_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        replace_file(tmp_path / "report", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["report"]


def test_a_link_where_the_draft_would_be_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can foresee its name; who guesses right has gained nothing."""
    target, precious = tmp_path / "report.html", tmp_path / "precious"
    precious.write_text("kept")
    monkeypatch.setattr("os.urandom", lambda count: bytes(count))
    (tmp_path / ".report.html.00000000.draft").symlink_to(precious)
    with pytest.raises(FileExistsError):
        replace_file(target, b"new")
    assert precious.read_text() == "kept"
    replace_file(target, b"new")
    assert (target.read_bytes(), target.is_symlink(), precious.read_text()) == (b"new", False, "kept")


def test_no_two_drafts_have_one_name(tmp_path: Path) -> None:
    with draft_of(tmp_path / "x") as first, draft_of(tmp_path / "x") as second:
        first.touch()
        second.touch()
        assert first != second
