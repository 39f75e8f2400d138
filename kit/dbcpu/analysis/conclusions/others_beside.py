"""Where other processes had the CPUs that sessions lacked, though each session has one: who waits, waits for a session
that was moved aside, and no session's own evidence shows them."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dbcpu.analysis.causes.evidence_rules import ACCOUNTS
from dbcpu.analysis.conclusions.named_levels import named_causes
from dbcpu.analysis.host_usage.host_time import foreign_share, throttled_shares, typical_foreign_share, window_s
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import percent
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.record.run_findings import FOREIGN_SHARE


def with_others(
    levels: Iterable[LevelView], record: RunRecord, vcpus: int | None, cores: int | None, disturbance: str
) -> tuple[LevelView, ...]:
    """The levels, those with ``others_share`` at which others had it; ``disturbance``: see ``Analysis``."""
    found = []
    for level in levels:
        causes = named_causes(level, vcpus)
        waits = Cause.RUN_QUEUE in causes and level.level <= (vcpus or 0)
        shares = Cause.SHARED_CORE in causes and level.level <= (cores or 0)
        rounds = rounds_of(record, level) if waits or shares else []
        if ((waits or shares) and disturbance in Cause.RUN_QUEUE.others) or (waits and _had_it(rounds, vcpus or 0)):
            level = replace(level, others_share=typical_foreign_share(rounds, vcpus) or None)
        found.append(level)
    return tuple(found)


def rounds_of(record: RunRecord, level: LevelView) -> list[Round]:
    return [each for each in record.rounds if (each.level, each.variant) == (level.level, level.variant)]


def others_words(level: LevelView, record: RunRecord, vcpus: int | None) -> str:
    """What other processes took of the CPUs in the rounds of a level; '' where that was little, and nobody's loss."""
    used = level.others_share
    if used is None:
        share = typical_foreign_share(rounds_of(record, level), vcpus)
        used = share if share > FOREIGN_SHARE else None
    return f", while other processes used {percent(used)} of the CPUs" if used else ""


def _had_it(rounds: Sequence[Round], vcpus: int) -> bool:
    """Whether in the usual round with a wait they used most of what sessions waited for, and left no CPU for each."""
    covered = []
    for each in rounds:
        throttled_s = sum(throttled_shares(each).values())
        queue_s = sum(session.run_delay_s or 0.0 for session in each.sessions) - throttled_s
        used = foreign_share(each, vcpus, window_s(each)) * vcpus
        if queue_s > 0:
            full = len(each.sessions) + used > vcpus
            covered.append(used * window_s(each) / queue_s if full else 0.0)
    return bool(covered) and median(covered) >= ACCOUNTS
