"""From when to when each session of a round ran, as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats, Mask


class SessionSpans(NamedTuple):
    """From when to when the sessions of a round ran, one row each; NaN where that is not known."""

    starts_s: Floats
    ends_s: Floats

    @classmethod
    def of(cls, spans: Sequence[tuple[float, float] | None]) -> "SessionSpans":
        """Of the (start, end) of each."""
        unknown = (np.nan, np.nan)
        return cls(*np.array([span or unknown for span in spans], dtype=np.float64).reshape(-1, 2).T)

    @classmethod
    def joined(cls, parts: Sequence["SessionSpans"]) -> "SessionSpans":
        """Those of several rounds."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def later(self, by_s: Floats) -> "SessionSpans":
        """With so much added to the times of each row."""
        return SessionSpans(self.starts_s + by_s, self.ends_s + by_s)

    @property
    def known(self) -> Mask:
        return ~np.isnan(self.starts_s)

    def or_always(self) -> "SessionSpans":
        """The same, as if sessions of which it is not known had always run."""
        return SessionSpans(np.where(self.known, self.starts_s, -np.inf), np.where(self.known, self.ends_s, np.inf))
