"""The jobs that the sessions of a simulated pool share, and when each is there to be taken."""

from collections.abc import Sequence

from msgspec import Struct


class CallsInTurn(Struct, frozen=True):
    """A closed loop: each of ``connections`` callers sends its next call when its last one is answered.

    ``turns_s``: of each job, how long after the end of a job the call of its caller is there.
    """

    connections: int
    turns_s: tuple[float, ...]


class SharedJobs:
    """In their order; all are there at once, or come as ``calls``, of whose connections no session may lack one.

    ``waits``: of each job, whether it only waits.
    """

    def __init__(self, waits: Sequence[bool], calls: CallsInTurn | None = None) -> None:
        self._waits, self._calls = waits, calls
        self._taken, self._last_s = 0, 0.0
        self._ended_s: list[float] = []

    def ended(self, now_s: float) -> None:
        """A session is through with one."""
        self._ended_s.append(now_s)

    def take(self, now_s: float) -> tuple[bool, float] | None:
        """Whether the next one only waits, and when it can begin; None when all are taken."""
        at = self._taken
        if at == len(self._waits):
            return None
        self._taken += 1
        calls = self._calls
        if calls is not None and at >= calls.connections:
            now_s = max(now_s, self._ended_s[at - calls.connections] + calls.turns_s[at])
        # Who waits longer is served first.
        self._last_s = max(self._last_s, now_s)
        return self._waits[at], self._last_s
