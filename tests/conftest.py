"""Fixtures that tests of several folders share; each lives in a ``fix_<what>.py`` beside this file."""

from collections.abc import Iterator

import pytest

pytest_plugins = ["fix_postgresql"]


@pytest.fixture(scope="session", autouse=True)
def no_file_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests keep no run and no crash report in the home folder, and read no configuration there."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATA", "STATE", "CONFIG"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name.lower())))
        for name in ("DBCPU_STORE", "DBCPU_DEBUG"):
            patch.delenv(name, raising=False)
        yield
