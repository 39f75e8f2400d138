"""N sessions in a loop for a time, kept in segments: does the speed of anybody change while it lasts?

The sessions stay connected and go from one segment to the next without waiting for each other. When something
ends a session (a restarted database, a killed process) the segment ends there and is kept with its error; the
sessions are opened anew as soon as the database lets them, and the time between is a gap.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbcpu.errors import MeasureError, UsageError
from dbcpu.formatting import listed
from dbcpu.measure.experiments._segments import Stretch
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape, workload_info
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import RoundSetup, run_round
from dbcpu.measure.workloads import Workload
from dbcpu.record.header import SOAK, Plan
from dbcpu.record.plan import NextRound, RoundSpec
from dbcpu.record.rounds import Round
from dbcpu.targets.base import Target, Work

SEGMENT_S = 60.0
MAX_SEGMENTS = 1440
MIN_SEGMENTS = 10
MIN_SEGMENT_S = 2.0
SIZE_TURNS = 3
"""Turns that each of several sizes gets at least."""
ALONE_S = 5.0
RETRY_S = 2.0


@dataclass(slots=True)
class SoakShape(ExperimentShape):
    """``for_s`` in all; ``sizes`` beyond the first are measured in turns with it, with new sessions each turn."""

    for_s: float
    sizes: tuple[str, ...] = ()
    survives_failures: bool = field(default=True, init=False)
    _works: dict[str, Work] = field(default_factory=dict, init=False)

    @property
    def segment_s(self) -> float:
        """A minute; less for a short soak, so that there is a course to see, more for one of many days."""
        turns = SIZE_TURNS * len(self.sizes) if self.several else MIN_SEGMENTS
        return max(MIN_SEGMENT_S, min(SEGMENT_S, self.for_s / turns), self.for_s / MAX_SEGMENTS)

    @property
    def several(self) -> bool:
        """Whether sizes take turns."""
        return len(self.sizes) > 1

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """One session alone at the start and at the end, the segments between."""
        level, segments = max(levels), math.ceil(self.for_s / self.segment_s - 1e-6)
        kinds = self.sizes if self.several else variants[:1]
        turns = [kinds[(at + at // len(kinds)) % len(kinds)] for at in range(segments)]
        alone = [RoundSpec(1, at, kind, 0, anchor=True) for at in range(2) for kind in kinds]
        loaded = [RoundSpec(level, at // len(kinds), kind, 0) for at, kind in enumerate(turns)]
        ordered = [*alone[: len(kinds)], *loaded, *alone[len(kinds) :]]
        return tuple(replace(each, order=order) for order, each in enumerate(ordered))

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        alone_s = sum(self._alone_s(solo_s) for each in specs if each.anchor)
        busy = min(max(each.level for each in specs), vcpus)
        amount = f"in a loop for {self.for_s:g} s"
        if self.several:
            amount += f", {listed(self.sizes)} in turns"
        return replace(preview, amount=amount, duration_s=self.for_s + alone_s, cpu_s=self.for_s * busy + alone_s)

    def opened(self, target: Target, workload: Workload) -> None:
        self._works = {size: workload.work(size) for size in self.sizes}

    def planned(self, made: Plan, target: Target) -> Plan:
        others = tuple(workload_info(target, self._works[size]) for size in self.sizes[1:])
        variants = self.sizes if self.several else made.variants
        made = replace(made, repeats=1, rounds=None, executions=None, for_s=self.for_s)
        return replace(made, experiment=SOAK, segment_s=self.segment_s, sizes=others, variants=variants)

    def rounds(
        self,
        setup: RoundSetup,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        if self.several:
            for spec in specs:
                begun(spec)
                yield run_round(self._sized(setup, spec), spec)
            return
        first, *loaded, last = specs
        alone = replace(setup, executions=None, for_s=self._alone_s(setup.solo_s))
        begun(first)
        yield run_round(alone, first)
        order = first.order
        for done in self._segments(setup, loaded, begun):
            order = done.order
            yield done
        begun(last)
        yield run_round(alone, replace(last, order=order + 1))

    def _alone_s(self, solo_s: float) -> float:
        return max(min(ALONE_S, self.segment_s), 3 * solo_s)

    def _sized(self, setup: RoundSetup, spec: RoundSpec) -> RoundSetup:
        work = self._works[spec.variant]
        solo_s = setup.solo_s * work.rows / setup.work.rows
        for_s = self._alone_s(solo_s) if spec.anchor else self.segment_s
        return replace(setup, work=work, solo_s=solo_s, executions=None, for_s=for_s)

    def _segments(
        self, setup: RoundSetup, loaded: Sequence[RoundSpec], begun: Callable[[RoundSpec], object]
    ) -> Iterator[Round]:
        """Segments of one stretch of sessions after the other, until the time is over."""
        spec, end_s = loaded[0], None
        while True:
            begun(spec)
            stretch = Stretch(setup, spec, self.segment_s, self.for_s, end_s)
            for done in stretch.rounds(begun):
                yield done
                spec = replace(spec, order=done.order + 1, repeat=done.repeat + 1)
            # Set when sessions are open and the host is settled; a first stretch that fails before that raises.
            end_s = stretch.end_s or time.monotonic()
            if stretch.broken:
                time.sleep(min(RETRY_S, max(0.0, end_s - time.monotonic())))
            if time.monotonic() >= end_s - 0.5 * self.segment_s:
                return
            if stretch.broken:
                _come_back(setup.target, end_s)


def open_experiment(options: ExperimentOptions) -> ExperimentShape:
    """``options.for_s`` and ``options.sizes``. Raises UsageError where no segment of each size fits in."""
    min_for_s = MIN_SEGMENT_S * max(1, len(options.sizes))
    if options.for_s < min_for_s:
        segments = f"a segment of {MIN_SEGMENT_S:g} s" + (" for each size" if len(options.sizes) > 1 else "")
        raise UsageError(f"--for {options.for_s:g}s is too short for {segments}; give --for {min_for_s:g}s or more")
    return SoakShape(options.for_s, options.sizes)


def _come_back(target: Target, until_s: float) -> None:
    """Wait until the database takes sessions again. Raises MeasureError when it does not by then."""
    reason = "it did not answer"
    while time.monotonic() < until_s:
        try:
            target.connect(0, RETRY_S).close()
            target.clock()
        except MeasureError as error:
            reason = str(error)
        else:
            return
        time.sleep(RETRY_S)
        try:
            # It may answer again, while the target's own connection did not live through it.
            target.__exit__(None, None, None)
            target.__enter__()
        except MeasureError as error:
            reason = str(error)
    raise MeasureError(f"the database did not come back before the end of the soak: {reason}")
