"""What the errors themselves say."""

from dbcpu.errors import UnknownName


def test_a_name_with_a_comma_is_told_from_two_names() -> None:
    known = ("cores 8", "cores 8, threads 2")
    assert str(UnknownName("run", "x", known)).endswith("there are: cores 8, 'cores 8, threads 2'")
