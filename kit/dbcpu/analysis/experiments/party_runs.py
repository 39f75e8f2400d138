"""A target of a run of several as a run of its own: alone, and beside the others, so that it can be compared."""

from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.experiments.together import rounds_that_count
from dbcpu.analysis.levels.variant_rounds import host_of_variant
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.header import SWEEP, TOGETHER, Party
from dbcpu.record.rounds import Round, RunRecord

BESIDE = f"+{TOGETHER}"
"""Ends the variant's name of a target beside the others."""


def party_runs(record: RunRecord) -> tuple[RunRecord, ...]:
    """For each target two runs of one variant: its name, and its name with ``+together``; () of any other run.

    Its single-session rounds belong to both, unless one session is all that it has. The CPUs that it was held on are
    all that the host has for it.
    """
    parties = record.header.plan.parties
    beside = [each for each in timed(record) if each.round.variant == TOGETHER] if parties else []
    counts = {members[0].round.order for members in rounds_that_count(beside)[0]}
    found, first = [], 0
    for party in parties:
        ordinals = range(first, first + party.sessions)
        first += party.sessions
        own = [each for each in record.rounds if each.variant == party.target]
        alone = [each for each in own if each.anchor and party.sessions > 1]
        # Its own failed sessions are part of its run; beside failed ones of others it had more CPU.
        failed = {each.round.order for each in beside if each.why and each.session.ordinal in ordinals}
        every = [each for each in record.rounds if each.variant == TOGETHER and each.order in counts | failed]
        found += [
            _run(record, party, party.target, own),
            _run(record, party, f"{party.target}{BESIDE}", alone + [_part(each, ordinals) for each in every]),
        ]
    return tuple(found)


def _part(each: Round, ordinals: range) -> Round:
    sessions = tuple(one for one in each.sessions if one.ordinal in ordinals)
    # Counters of the whole host would show the neighbours as other load.
    return replace(each, level=len(ordinals), sessions=sessions, host_counters=None)


def _run(record: RunRecord, party: Party, name: str, rounds: Sequence[Round]) -> RunRecord:
    renamed = tuple(replace(each, variant=name) for each in sorted(rounds, key=lambda each: each.order))
    plan = replace(
        record.header.plan,
        target=party.target,
        workload=party.workload,
        levels=tuple(sorted({each.level for each in renamed})),
        variants=(name,),
        rounds=None,
        experiment=SWEEP,
        parties=(),
    )
    header = replace(record.header, plan=plan, database=party.database)
    return RunRecord(host_of_variant(header, renamed, ()), renamed)
