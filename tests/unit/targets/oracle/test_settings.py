"""A setting is in effect when the session has it, not when the order was accepted."""

import pytest

from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.settings import SETTINGS, missing_of, words

AS_WANTED = {each.name: each.wanted for each in SETTINGS}


def test_what_holds_is_not_missing_however_it_came_about() -> None:
    assert missing_of({}, AS_WANTED) == {}
    assert missing_of({"statistics_level": "ORA-01031"}, AS_WANTED) == {}, "it is the default"
    assert missing_of({}, {}) == {}, "accepted, and not readable: no claim either way"


@pytest.mark.parametrize(
    ("refused", "held", "found"),
    [
        ({"result_cache_mode": "ORA-01031"}, {"result_cache_mode": "FORCE"}, "FORCE, refused with ORA-01031"),
        ({}, {"result_cache_mode": "FORCE"}, "FORCE, set without effect"),
        ({"result_cache_mode": "ORA-01031"}, {}, "value not known, refused with ORA-01031"),
    ],
)
def test_what_does_not_hold_says_why(refused: dict[str, str], held: dict[str, str], found: str) -> None:
    assert missing_of(refused, held) == {"result_cache_mode": found}
    assert words({"result_cache_mode": found}) == f"result_cache_mode ({found})"


def test_a_parameter_that_this_version_does_not_have_needs_no_setting() -> None:
    assert missing_of({"optimizer_ignore_hints": "ORA-02248"}, {}) == {}


def test_each_setting_is_a_statement_of_the_catalogue() -> None:
    sets = {name for name in statements.names() if statements.text(name).startswith("alter session")}
    assert {each.statement for each in SETTINGS} == sets
