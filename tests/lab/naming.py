"""What both forms of the live lab assert: of sessions left alone that lost something, most have its cause named."""

import pytest

from lab.generator import Generator
from lab.labelled import rows as labelled_sessions
from lab.labelled import treated as left_alone_and_treated
from lab.live import ALONE_S, Lab

MIN_RIGHT = 0.75


def skip_where_nothing_can_be_made() -> None:
    reason = Generator.why_not()
    if reason:
        pytest.skip(reason)


def named(generators: list[type[Generator]], seed: int, alone_s: tuple[float, float] = ALONE_S) -> None:
    """Make each cause once. What else the machine does is nobody's fault: it skips where too few were left alone."""
    with Lab(seed, alone_s) as lab:
        rows = list(labelled_sessions(lab.run(generators, 0)))
    assert {row["generator"] for row in rows} == {generator.name for generator in generators}
    treated = left_alone_and_treated(rows)
    if len(treated) < len(rows) / 4:
        pytest.skip(f"this machine is too busy: only {len(treated)} of {len(rows)} sessions were left alone")
    wrong = [row for row in treated if row["said"] not in (row["label"], "unexplained")]
    assert sum(row["said"] == row["label"] for row in treated) >= MIN_RIGHT * len(treated), wrong
