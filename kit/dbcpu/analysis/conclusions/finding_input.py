"""What every function that makes a finding is given."""

from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct

from dbcpu.analysis.host_usage.host_time import window_s
from dbcpu.analysis.results.host import Scaling, SharedCore, TopologyCheck
from dbcpu.analysis.results.pace import TwoSpeeds
from dbcpu.analysis.results.run import LevelView, MoreRounds, NoiseFloor, Reference, SessionView
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.formatting import short_ranges
from dbcpu.record.rounds import Round, RunRecord


class FindingInput(Struct, frozen=True, dict=True):
    """A record, and what has been made of it so far. ``in_turns`` and ``lost``: as of ``RunContext``."""

    record: RunRecord
    sessions: tuple[Timed, ...]
    views: tuple[SessionView, ...]
    levels: tuple[LevelView, ...]
    reference: Reference | None
    vcpus: int | None
    cores: int | None
    scaling: Scaling
    topology: TopologyCheck | None
    noise_floor: NoiseFloor | None
    shared_core: SharedCore | None = None
    two_speeds: TwoSpeeds | None = None
    more_rounds: MoreRounds | None = None
    in_turns: bool = False
    lost: tuple[int, ...] = ()

    @cached_property
    def counted(self) -> tuple[Timed, ...]:
        """Sessions of which the database counted anything."""
        return tuple([each for each in self.sessions if each.session.db])

    @property
    def busy(self) -> float:
        """Share of its time in which a session alone wants a CPU."""
        return self.reference.busy if self.reference else 1.0

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self.record.rounds

    def median_s(self, round_: Round) -> float | None:
        """Median elapsed time per execution of the round's level."""
        for level in self.levels:
            if (level.level, level.variant) == (round_.level, round_.variant):
                return level.median_s
        return None

    def window_s(self, round_: Round) -> float:
        """How long the round ran; 0 when nothing ended, or it was too short for a share of it."""
        if round_.cost:
            return window_s(round_)
        spans = [member.span for member in self.sessions if member.round is round_ and member.span]
        return max(span.end_s for span in spans) - min(span.start_s for span in spans) if spans else 0.0


def level_words(rounds: Iterable[Round]) -> str:
    """The levels at which something was seen: ``N=2,4-8``."""
    return f"N={short_ranges(each.level for each in rounds)}"
