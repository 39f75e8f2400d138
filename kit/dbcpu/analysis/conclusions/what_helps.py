"""What would help: against what the verdict names, the cause of the headline first; or what would decide the answer."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dbcpu.analysis.conclusions.advice import Advice, is_said
from dbcpu.analysis.conclusions.lost_level_words import failure_advice
from dbcpu.analysis.conclusions.named_levels import named_beyond, named_by_turns_alone, named_causes, named_losses
from dbcpu.analysis.conclusions.session_findings import (
    AS_MANY_CPUS,
    FULL_SPEED_CORES,
    OWN_CORES,
)
from dbcpu.analysis.conclusions.sessions_that_fit import sessions_that_fit
from dbcpu.analysis.conclusions.throughput_words import fewer_words
from dbcpu.analysis.conclusions.turbo_advice import (
    PLAN_WITH_FALL,
    is_beside,
    may_be_turbo,
    measured_turbo_remedy,
    turbo_remedy,
    verdict_has_turbo,
)
from dbcpu.analysis.conclusions.verdict import like_one_core, steal_may_be_why
from dbcpu.analysis.levels.level_losses import LevelLosses, is_loss, level_losses, lost_to
from dbcpu.analysis.levels.rounds_apart import is_explained
from dbcpu.analysis.levels.rounds_needed import hidden_cores_possible
from dbcpu.analysis.placement.held_cpus import held_on_few
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import HELPED_FIRST, HELPED_LAST, PLAN_WITH_TURBO, SEVERAL_TIMES, Cause
from dbcpu.analysis.results.experiments import MIN_ROUNDS_APART, PartyView, Together
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.scaling.turbo import is_turbo
from dbcpu.formatting import plural
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import TOGETHER
from dbcpu.record.plan import NORMAL
from dbcpu.record.run_findings import QUIETER

VCPUS_AS_THREADS = (
    ". It is also normal that vCPUs are threads of one core (EC2, RDS: whole cores by `ThreadsPerCore=1`)"
)
TURBO = "a turbo frequency that falls"
MEMORY_STAYS = "A session that leaves the node where it began leaves its memory behind"
FEWER_SESSIONS = (Cause.SHARED_CORE, Cause.THROTTLED)
"""What helps against these leaves nobody waiting for a turn."""
NOBODY_WAITS = "fewer sessions, too: then no session waits for a CPU"


def what_helps(analysis: Analysis, found: LevelLosses) -> tuple[Advice, ...]:
    """Of a run with levels; () where nothing is lost."""
    helps = _of_levels(analysis, found, _what_decides(analysis, found))
    fewer = fewer_words(analysis.scaling)
    if fewer and not (helps and _is_advised(analysis.scaling, helps[0].text)):
        helps = (Advice(fewer), *helps)
    if not helps:
        return ()
    stolen = next((each.remedy for each in analysis.findings if each.code == "steal"), "")
    # Of undecided levels the verdict says where steal may be why.
    if stolen and not is_said(stolen, helps) and found.undecided and steal_may_be_why(analysis.steal_share):
        helps = (*helps, Advice(stolen, Cause.STEAL.words))
    # A verdict with a loss names CPUs that change speed as well: nothing else helps against these.
    for each in analysis.findings:
        if each.code in HELPED_LAST and not is_said(each.remedy, helps):
            helps = (*helps, Advice(each.remedy, HELPED_LAST[each.code]))
    return helps


def _what_decides(analysis: Analysis, found: LevelLosses) -> tuple[Advice, ...]:
    """Against what failed first: where only that leaves the answer open nothing else decides it."""
    if found.kind != Outcome.UNKNOWN:
        return ()
    mends = failure_advice(analysis) if found.lost else ()
    if mends and not found.undecided and not found.alone_undecided:
        return mends
    return (*mends, *(replace(each, decides=bool(mends) or each.decides) for each in to_decide(analysis)))


def _is_advised(scaling: Scaling, text: str) -> bool:
    """Whether the number of sessions that do most is in it, for another reason."""
    most = scaling.fall.advised if scaling.fall else None
    return most is not None and any(
        f"{how} {most}{end}" in text for how in ("no more than", "a pool of") for end in " )"
    )


def _of_levels(analysis: Analysis, found: LevelLosses, noise: tuple[Advice, ...] = ()) -> tuple[Advice, ...]:
    first, worst = headline_level(found), found.worst
    apart = [_of_slow_rounds(each) for each in found.undecided if is_explained([each])]
    if found.alone_undecided:  # the verdict names what some rounds of a single session lost to
        own = analysis.first_levels
        alone = [_of_slow_rounds(each) for each in own if each.level == 1]
        apart += [each for each in alone if lost_to(each).is_known][:1]
    if first is None or worst is None:
        return _then_to_decide(_against(analysis, apart), noise)
    shares = (_main(worst, analysis.findings), *named_causes(worst, analysis.vcpus))
    sharing = Cause.SHARED_CORE in shares and Cause.THROTTLED not in shares
    if analysis.busy < 1 and not found.losses and found.fine and not noise and sharing:
        # Only beyond the vCPUs: work that waits shares cores before that, and none was slow.
        return (Advice(f"run no more than {plural(found.largest_fine, 'such session')}, or add cores"),)
    named = (*named_losses(found), *named_beyond(found, analysis.vcpus))
    levels = [first, *(each for each in named if each is not first), *apart]
    at, cause, _ = next(_remedies(analysis, levels))
    if not cause.is_known or _waits_for_turns(analysis, at, cause):
        return _against(analysis, levels, noise)
    return _then_to_decide(_against(analysis, levels), noise)


def _then_to_decide(host: tuple[Advice, ...], noise: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """What helps the host comes before what helps the measurement."""
    if not host:
        return noise
    return (*host, *(replace(each, decides=True) for each in noise if not is_said(each.text, host)))


def _of_slow_rounds(level: LevelView) -> LevelView:
    """With the cause of those rounds alone that were slow; as it is where rounds are alike."""
    if level.rounds_apart is None:
        return level
    cause = level.rounds_apart.cause
    return replace(level, main_cause=cause, second_cause=Cause.NONE, counted_slowdown=None, even=Answer.UNDECIDED)


def what_helps_experiment(analysis: Analysis, levels: Sequence[LevelView]) -> tuple[Advice, ...]:
    """Against what the sessions of a soak lose, or targets beside each other; () of a pool, whose answer is a size."""
    if analysis.pool is not None:
        return ()
    if analysis.together is not None:
        return _beside_others(analysis, analysis.together)
    soak = analysis.soak
    own = [each for each in levels if soak is not None and each.level == soak.sessions]
    bimodal = soak is not None and soak.second is not None
    # What one alone loses its sessions lose as well.
    named = [each for each in own if is_loss(each) or (bimodal and lost_to(each).is_known)]
    return _against(analysis, [*named, *(each for each in levels if each.level == 1 and is_loss(each))])


def _beside_others(analysis: Analysis, both: Together) -> tuple[Advice, ...]:
    """Of several targets: against what is shown, was counted, or was seen and has a cause; then what would decide."""
    parties = both.parties
    told = any(each.told for each in parties)
    decides = () if told or all(each.slower is Answer.NO for each in parties) else _more_rounds_beside(parties)
    if decides and any(each.loss is None or not each.whole for each in parties):
        noise = decides if any(each.loss is not None and each.whole for each in parties) else ()
        decides = _then_to_decide(failure_advice(analysis), noise) or decides
    beside = [each for each in analysis.levels if each.variant == TOGETHER and each.sessions]
    seen = any(lost_to(each).is_known for each in beside) and any((each.loss or 0.0) > each.gate for each in parties)
    if not (told or seen or any(each.counted_cause.is_known for each in parties)):
        return decides
    if held_on_few(parties, analysis.vcpus or sum(each.sessions for each in parties)):
        return _then_to_decide((Advice(AS_MANY_CPUS),), decides)
    has_cores = sum(each.sessions for each in parties) <= (analysis.cores or 0)
    if both.common_cores and has_cores and any(lost_to(each) is Cause.SHARED_CORE for each in beside):
        return _then_to_decide((Advice(OWN_CORES),), decides)
    # Levels of targets of different kinds, or without a whole round, have no answer: what sessions lost to is known.
    helps = _of_levels(analysis, level_losses(beside, analysis.vcpus))
    lost = [each for each in beside if lost_to(each).is_known] if analysis.own_baselines or told else []
    return _then_to_decide(helps or _against(analysis, lost), decides)


def _more_rounds_beside(parties: Sequence[PartyView]) -> tuple[Advice, ...]:
    few = any(each.rounds < MIN_ROUNDS_APART for each in parties if each.loss is not None)
    return (Advice(f"more rounds (`--repeats {NORMAL}`)" if few else QUIETER),)


def headline_level(found: LevelLosses) -> LevelView | None:
    """The level that the headline is of: one session alone where that loses, for what it loses all lose; or the worst.

    Of sessions beside each other nothing is known for certain before one alone gets a whole CPU.
    """
    alone = found.losses[0] if found.losses and found.losses[0].level == 1 else None
    return found.worst if alone is None else alone


def _against(analysis: Analysis, levels: Sequence[LevelView], first: tuple[Advice, ...] = ()) -> tuple[Advice, ...]:
    """What helps against each cause of ``levels`` that the verdict names, in their order; once where two have the same.

    ``first``: what helps before all that; else the first has no name, for it is that of the headline.
    """
    helps, found, named = first, _others_first(analysis, list(_remedies(analysis, levels))), set[str]()
    turns: tuple[Advice, ...] = ()
    stop = {each.remedy for each in analysis.findings if each.code in HELPED_FIRST}
    fewer = any(cause in FEWER_SESSIONS for _, cause, _ in found)
    for level, cause, remedy in found:
        beyond = _is_beyond(analysis, level)
        waits = beyond and cause is Cause.RUN_QUEUE
        what = f"{cause.words} above the vCPUs" if beyond and cause.words in named else cause.words
        what = Cause.COMPETITOR.words if remedy in stop or remedy == Cause.COMPETITOR.remedy else what
        inferred = cause is Cause.SLOWER_CPU and remedy.startswith((PLAN_WITH_TURBO, PLAN_WITH_FALL))
        what = TURBO if inferred else what
        if waits and fewer:
            # That more sessions than vCPUs take turns is no loss that the verdict puts a name to.
            turns = turns or (() if named_by_turns_alone(level) else (Advice(NOBODY_WAITS, what),))
        elif not is_said(remedy, helps) and what not in named and (cause.is_known or not helps):
            helps = (*helps, Advice(remedy, what if helps else ""))
            named.add(what)
    return (*helps, *turns) if helps else ()


def _others_first(analysis: Analysis, found: list[tuple[LevelView, Cause, str]]) -> list[tuple[LevelView, Cause, str]]:
    """What stops other processes comes first where they use most: only then it shows what sessions do to each other."""
    first = [
        each.remedy for each in analysis.findings if each.code == analysis.disturbance and each.code in HELPED_FIRST
    ]
    return sorted(found, key=lambda each: each[2] not in first)


def _remedies(analysis: Analysis, levels: Sequence[LevelView]) -> Iterator[tuple[LevelView, Cause, str]]:
    own = [each for each in analysis.levels if levels and each.variant == levels[0].variant]
    named = named_losses(level_losses(own, analysis.vcpus))
    turbo = verdict_has_turbo(analysis, levels, named)
    for level in levels:
        main = _main(level, analysis.findings)
        causes = named_causes(level, analysis.vcpus) or (main,)
        if _waits_for_turns(analysis, level, causes[0]) and named_by_turns_alone(level):
            causes = tuple(each for each in causes if each is not Cause.SHARED_CORE)
        for cause in causes:
            yield level, cause, _remedy_of(analysis, level, cause, turbo=turbo)
        # The verdict says of no other level that even its fastest session is slow.
        if is_beside(analysis, level) and level in named:
            yield level, Cause.SLOWER_CPU, turbo_remedy(analysis)


def _is_beyond(analysis: Analysis, level: LevelView) -> bool:
    return analysis.vcpus is not None and level.level > analysis.vcpus


def _waits_for_turns(analysis: Analysis, level: LevelView, cause: Cause) -> bool:
    """Whether more sessions than vCPUs are all that is to be helped."""
    return _is_beyond(analysis, level) and cause in (Cause.RUN_QUEUE, Cause.COMPETITOR)


def _remedy_of(analysis: Analysis, worst: LevelView, cause: Cause, *, turbo: bool) -> str:
    """Of the finding that fits a cause of a level, else what helps against this cause in general.

    ``turbo``: whether the verdict names it for some level.
    """
    by_code = {each.code: each.remedy for each in analysis.findings}
    if turbo and cause is Cause.SLOWER_CPU and is_turbo(worst, analysis.scaling, analysis.two_speeds):
        # Inferred from times, as in a guest, which cannot set a frequency.
        normal = turbo_remedy(analysis) == PLAN_WITH_TURBO and analysis.cores in (None, analysis.vcpus)
        return f"{turbo_remedy(analysis)}{VCPUS_AS_THREADS if normal else ''}"
    wanted = cause.helped_by
    if (worst.misplaced_s or 0.0) <= max(worst.sharing_s or 0.0, worst.oversubscribed_s or 0.0):
        wanted = (*(code for code in wanted if code != "misplaced"), *(code for code in wanted if code == "misplaced"))
    beyond = _is_beyond(analysis, worst)
    if cause is Cause.FREQUENCY:
        return measured_turbo_remedy(analysis)
    if cause is Cause.SLOWER_CPU and analysis.two_kinds:
        return FULL_SPEED_CORES
    if cause is Cause.SLOWER_CPU and worst.left_node:
        return f"{Cause.REMOTE_MEMORY.remedy}. {MEMORY_STAYS}"
    grouped = analysis.topology is not None and analysis.topology.grouped
    if cause is Cause.SLOWER_CPU and (grouped or like_one_core(worst, analysis.vcpus, analysis.cores)):
        return noted("cores-fewer-than-shown", "", scaled=1, shown=2).remedy
    if cause is Cause.RUN_QUEUE and not beyond:  # there is a CPU for each: sessions were put on one, or others had it
        wanted = tuple(code for code in wanted if code != "oversubscribed")
    has_room = worst.level <= (analysis.cores or 0) if cause is Cause.SHARED_CORE else not beyond
    others = has_room and worst.others_share is not None
    if has_room and (others or analysis.disturbance in cause.others):
        wanted = (*cause.others, *wanted)
    if beyond and cause in (Cause.RUN_QUEUE, Cause.NONE, Cause.UNEXPLAINED):
        cpus = analysis.limiting_quota or analysis.vcpus or 0
        fit = sessions_that_fit(cpus, analysis.vcpus, analysis.busy, analysis.levels, analysis.scaling)
        return by_code.get("oversubscribed") or f"run no more than {fit}"
    in_general = (
        _of_waits(analysis, worst, cause) or (Cause.COMPETITOR if others else cause).remedy or Cause.UNEXPLAINED.remedy
    )
    measured = [each.level for each in analysis.levels]
    if cause is Cause.SLOWER_CPU and not hidden_cores_possible(measured, analysis.vcpus, analysis.cores):
        in_general = f"measure at {SEVERAL_TIMES}"
    if turbo and cause is Cause.SLOWER_CPU and may_be_turbo(analysis, worst):
        in_general = turbo_remedy(analysis)
    return next((by_code[code] for code in wanted if by_code.get(code)), "") or in_general


def _of_waits(analysis: Analysis, worst: LevelView, cause: Cause) -> str:
    """Work that waits in between shares cores before that slows anybody: as many as were at full speed are no loss."""
    if cause is not Cause.SHARED_CORE or analysis.busy == 1 or not _is_beyond(analysis, worst):
        return ""
    own = [each for each in analysis.levels if each.variant == worst.variant]
    most = level_losses(own, analysis.vcpus).largest_fine
    return f"run no more than {plural(most, 'such session')}, or add cores" if most >= (analysis.cores or 0) else ""


def _main(worst: LevelView, findings: tuple[Finding, ...]) -> Cause:
    """What the worst level lost most to: as attributed, as likely, or as a finding about the whole run says."""
    cause = lost_to(worst)
    if cause.is_known:
        return cause
    if worst.likely_cause:
        return worst.likely_cause
    codes = {each.code for each in findings}
    return next((c for c in (Cause.THROTTLED, Cause.STEAL, Cause.COMPETITOR) if codes & set(c.helped_by)), cause)


def to_decide(analysis: Analysis) -> tuple[Advice, ...]:
    """Of what takes CPU time on the host, and then more rounds or levels where they would decide; else of the noise."""
    by_code = {each.code: each.remedy for each in analysis.findings}
    first = analysis.first_levels
    alone = [each for each in first if each.level == 1 and each.full_speed is Answer.UNDECIDED]
    codes = [code for each in alone for code in lost_to(_of_slow_rounds(each)).helped_by]
    host = next((by_code[code] for code in (*codes, analysis.disturbance) if by_code.get(code)), "")
    measured = [each.level for each in first]
    undecided = level_losses(first, analysis.vcpus, analysis.levels_lost).undecided
    decide = bool(undecided) and analysis.more_rounds is not None
    if decide or hidden_cores_possible(measured, analysis.vcpus, analysis.cores):
        decides = by_code.get("inconclusive", "")
        given = (Advice(host), Advice(decides, decides=bool(host)))
        return tuple(each for each in given if each.text)
    codes = ["unsteady-cpu", "noisy-reference", "solo-drift", "inconclusive"]
    text = host or next((by_code[code] for code in codes if by_code.get(code)), "")
    return (Advice(text),) if text else ()
