"""Numbers at the axes: one unit and one number of decimals for a whole axis, so that none is rounded."""

from collections.abc import Sequence

from matplotlib.ticker import Formatter

MAX_DECIMALS = 4
MS_BELOW_S = 0.9995
SMALL_BESIDE = 100
"""A tick that is less than the largest by more has a unit of its own."""


class EvenTicks(Formatter):
    """``12.5x`` beside ``5.0x``: values times ``scale`` with ``suffix``."""

    def __init__(self, suffix: str = "", scale: float = 1.0) -> None:
        self.suffix, self.scale = suffix, scale

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The words of all ticks of an axis."""
        shown = [value * self.scale for value in values]
        decimals = decimals_of(shown)
        return [f"{value:.{decimals}f}{self.suffix}" for value in shown]

    def __call__(self, x: float, pos: int | None = None) -> str:
        """That of one tick alone."""
        return self.format_ticks([x])[0]


class SecondTicks(EvenTicks):
    """Seconds as ``12.5 ms`` or ``1.5 s``; where an axis has both by far, each tick has its own unit."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The words of all ticks of an axis."""
        some = [abs(value) for value in values if value]
        most, least = max(some, default=0.0), min(some, default=0.0)
        if most >= MS_BELOW_S and most > SMALL_BESIDE * least:
            return [EvenTicks(*_unit(value))(value) for value in values]
        return EvenTicks(*_unit(most)).format_ticks(values)


def decimals_of(values: Sequence[float]) -> int:
    """The least number of decimals with which none of these is rounded."""
    exact = (all(abs(round(value, at) - value) < 1e-6 * max(1.0, abs(value)) for value in values)
             for at in range(MAX_DECIMALS))  # fmt: skip
    return next((at for at, is_exact in enumerate(exact) if is_exact), MAX_DECIMALS)


def _unit(value_s: float) -> tuple[str, float]:
    return (" s", 1.0) if abs(value_s) >= MS_BELOW_S else (" ms", 1000.0)
