"""What failed of a run: how many sessions and rounds, how many answers are wrong, and at which levels."""

from msgspec import Struct


class Failures(Struct, frozen=True):
    """``sessions`` of ``of_sessions`` failed at ``levels``, and ``rounds`` of ``of_rounds`` at ``levels_of_rounds``.

    ``wrong`` sessions at ``levels_of_wrong`` returned a wrong answer: they did not fail. A session that ended no
    execution did, and one during which the server's clock was set. Sessions are those of the rounds that did not fail
    as a whole.
    """

    sessions: int
    of_sessions: int
    levels: tuple[int, ...]
    rounds: int
    of_rounds: int
    levels_of_rounds: tuple[int, ...]
    wrong: int = 0
    levels_of_wrong: tuple[int, ...] = ()
