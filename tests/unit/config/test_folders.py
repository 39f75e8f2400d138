"""The user's folders, and files that appear as a whole."""

from pathlib import Path

import pytest

from dbcpu.config import folders

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
