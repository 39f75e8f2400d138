"""A list of runs keeps to the width of the terminal: what has no room stands below, beside the name of its run."""

from dbcpu.workflows.list_runs import _within

HEADINGS = ("run", "verdict", "target", "label")
LINES = [(f"20261130-07000{at}-sim-abcdef", "slower", "a-target-of-a-long-name", "words " * 9) for at in range(2)]


def test_no_line_is_longer_than_the_terminal_and_nothing_is_left_out() -> None:
    whole = _within(None, HEADINGS, LINES)
    assert max(map(len, whole)) > 80
    shown = _within(60, HEADINGS, LINES)
    assert max(map(len, shown)) <= 60
    assert all(cell in "\n".join(shown) for cell in (LINES[0][0], LINES[1][0], "slower", "verdict"))
    assert "\n".join(shown).count("words") == 18
    assert _within(200, HEADINGS, LINES) == whole
