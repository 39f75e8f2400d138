"""What failed of a run: how many sessions and rounds, and at which levels."""

from msgspec import Struct


class Failures(Struct, frozen=True):
    """``sessions`` of ``of_sessions`` failed at ``levels``, and ``rounds`` of ``of_rounds`` at ``levels_of_rounds``.

    Sessions are those of the rounds that did not fail as a whole.
    """

    sessions: int
    of_sessions: int
    levels: tuple[int, ...]
    rounds: int
    of_rounds: int
    levels_of_rounds: tuple[int, ...]
