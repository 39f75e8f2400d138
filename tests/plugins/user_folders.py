"""Keeps the tests away from the user's own runs, crash reports and configuration, and root's from its journals."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The XDG folders are empty ones of the test session, for the tests' child processes too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATA", "STATE", "CONFIG"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name.lower())))
        for name in ("DBCPU_STORE", "DBCPU_DEBUG", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
            patch.delenv(name, raising=False)
        patch.setenv("DBCPU_JOURNAL", str(tmp_path_factory.mktemp("journal")))
        yield
