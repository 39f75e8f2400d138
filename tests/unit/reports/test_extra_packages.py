"""A form that needs a package says how to get it with what there is, and what does without."""

import sys
from importlib.machinery import ModuleSpec

import pytest

from dbcpu.reports import extra_packages


@pytest.mark.parametrize(("has_pip", "command"), [(True, "-m pip install duckdb"), (False, "uv pip install --python ")])
def test_the_command_is_one_that_works_here(has_pip: bool, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra_packages, "find_spec", lambda name: ModuleSpec(name, None) if has_pip else None)
    said = str(extra_packages.not_installed("Parquet", "duckdb", "data", "--csv"))
    assert command in said
    assert sys.executable in said
    assert said.endswith("installs it (extra dbcpu[data]), and --csv does without")
