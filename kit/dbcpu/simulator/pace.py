"""How the speed of a CPU changes by itself: a stranger on its core, or its host's clock."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FORMS = {
    "toggle": "two speeds, by turns",
    "walk": "a random walk between both speeds",
    "steps": "jumps to any speed between both",
}
STRIDE = 0.15
"""Standard deviation of one step of a walk, of the whole range."""


class Changing(Protocol):
    """What is known of a host's changes of speed; see ``SimulatedHost``."""

    @property
    def toggle(self) -> float: ...
    @property
    def toggle_slow(self) -> float: ...
    @property
    def toggle_s(self) -> float: ...
    @property
    def toggle_form(self) -> str: ...


class CpuPaces:
    """Of each of ``cpus`` CPUs by itself: ``slow`` is 0 at full speed and 1 where a piece takes ``toggle`` times as
    long, and ``next_s`` when it changes, ``first_s`` the first of them. ``begin_s``: the start of time."""

    def __init__(self, host: Changing, cpus: int, rng: np.random.Generator, begin_s: float = 0.0) -> None:
        self._host, self._rng = host, rng
        self.slow, self.next_s = np.zeros(cpus), np.full(cpus, float("inf"))
        if host.toggle > 1:
            drawn = rng.random(cpus)
            self.slow = (drawn < host.toggle_slow).astype(np.float64) if host.toggle_form == "toggle" else drawn
            self.next_s = begin_s + rng.exponential([self._state_s(each) for each in self.slow.tolist()])
        self.first_s = float(self.next_s.min())

    @property
    def times(self) -> Floats:
        """How many times longer a piece takes on each CPU than at full speed."""
        return np.asarray(self._host.toggle**self.slow)

    def turn(self, now_s: float) -> None:
        """Change what is due."""
        if now_s < self.first_s:
            return
        for cpu in (self.next_s <= now_s).nonzero()[0]:
            self.slow[cpu] = self._following(float(self.slow[cpu]))
            self.next_s[cpu] = now_s + self._rng.exponential(self._state_s(float(self.slow[cpu])))
        self.first_s = float(self.next_s.min())

    def _following(self, slow: float) -> float:
        if self._host.toggle_form == "toggle":
            return 1.0 - slow
        if self._host.toggle_form == "steps":
            return float(self._rng.random())
        there = abs(slow + STRIDE * float(self._rng.standard_normal())) % 2
        return min(there, 2 - there)

    def _state_s(self, slow: float) -> float:
        """Mean length of a state: slow ones last longer where CPUs are slow most of the time."""
        host = self._host
        if host.toggle_form != "toggle":
            return host.toggle_s
        return 2 * host.toggle_s * (host.toggle_slow if slow > 0 else 1 - host.toggle_slow)
