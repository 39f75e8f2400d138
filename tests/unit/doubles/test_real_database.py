"""With a real Oracle database given, tests of the double stand aside and all others run on it."""

from importlib import import_module

import pytest

from plugins.oracle import plays_on_the_double

ON_THE_DOUBLE = (
    "server.test_oracle_cli", "server.test_oracle_connect", "server.test_oracle_container", "server.test_oracle_faults",
    "server.test_oracle_pinned", "server.test_sqlplus_fanout", "unit.doubles.test_oracle_work",
)  # fmt: skip
ON_EITHER = ("server.test_oracle", "unit.targets.oracle.test_preflight", "unit.measure.test_gate")


@pytest.mark.parametrize("name", ON_THE_DOUBLE)
def test_modules_that_start_a_double_stand_aside(name: str) -> None:
    assert plays_on_the_double(import_module(name))


@pytest.mark.parametrize("name", ON_EITHER)
def test_other_modules_run_on_either(name: str) -> None:
    assert not plays_on_the_double(import_module(name))


def test_what_belongs_to_no_module_is_left_alone() -> None:
    assert not plays_on_the_double(None)
