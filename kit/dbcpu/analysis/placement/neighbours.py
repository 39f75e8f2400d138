"""With whom a session shared a CPU or a core: asked only when its evidence is put into words."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dbcpu.analysis.placement.residency import RUNNABLE, ResidencyStretches, Span
from dbcpu.analysis.statistics.robust import distinct
from dbcpu.record.rounds import Round


class Neighbours:
    """The stretches ``every`` of a round, by CPU when they are needed; ``siblings``: all CPUs of a CPU's core."""

    def __init__(self, round_: Round, every: ResidencyStretches, siblings: Mapping[int, tuple[int, ...]]) -> None:
        self._round, self._every, self._siblings = round_, every, siblings

    @cached_property
    def _on_cpu(self) -> dict[int, ResidencyStretches]:
        runnable = self._every.where(self._every.runnable)
        return {int(cpu): runnable.where(np.asarray(runnable.cpu == cpu)) for cpu in distinct(runnable.cpu)}

    @cached_property
    def _index(self) -> dict[int, int]:
        return {session.ordinal: index for index, session in enumerate(self._round.sessions)}

    def partners(self, ordinal: int, span: Span, on_siblings: bool) -> list[tuple[int, int, float]]:
        """Sessions runnable at the same time on the same CPU, or on its siblings, longest first.

        Each as (ordinal, CPU of the asking session, seconds).
        """
        index, every = self._index[ordinal], self._every
        rows = every.of(index)
        met: dict[tuple[int, int], float] = {}
        for cpu in sorted(set(every.cpu[rows][every.kind[rows] == RUNNABLE].tolist())):
            here = self._on_cpu[cpu]
            own = here.of(index)
            wanted = [c for c in self._siblings.get(cpu, ()) if c != cpu] if on_siblings else [cpu]
            for from_s, to_s in zip(here.from_s[own], here.to_s[own], strict=True):
                low, high = max(from_s, span[0]), min(to_s, span[1])
                for near in (self._on_cpu[c] for c in wanted if c in self._on_cpu):
                    overlap_s = np.minimum(near.to_s, high) - np.maximum(near.from_s, low)
                    touching = np.asarray((overlap_s > 0) & (near.session != index))
                    for other, seconds in zip(near.session[touching], overlap_s[touching], strict=True):
                        met[int(other), cpu] = met.get((int(other), cpu), 0.0) + float(seconds)
        ordered = sorted(met.items(), key=lambda each: (-each[1], each[0]))
        return [(self._round.sessions[other].ordinal, cpu, seconds) for (other, cpu), seconds in ordered]
