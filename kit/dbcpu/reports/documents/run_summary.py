"""A run in few words: the head, the summary of its levels, the slowed sessions, the limits of the host."""

import re
from statistics import median

from dbcpu.analysis.host_usage.host_time import window_s
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.level_details import MIN_EXECUTIONS
from dbcpu.analysis.levels.level_losses import cause_by_count, is_known_by_count, is_lost_alone_too
from dbcpu.analysis.levels.rounds_apart import rounds_differ
from dbcpu.analysis.placement.usable_cpus import bounding_quota, core_count, vcpu_count
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import REGIME_SHARE, Analysis, LevelView, SessionView
from dbcpu.analysis.scaling.licences import facts_of, not_counted
from dbcpu.formatting import (
    listed,
    over_connections,
    percent,
    plain,
    plural,
    rate,
    seconds,
    short_ranges,
    short_time,
    threads_words,
    times,
)
from dbcpu.record.header import IMPORTED, Header, HostInfo, work_words
from dbcpu.record.plan import MIN_PACE_PIECES, not_varied
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import TO_QUOTE
from dbcpu.reports.documents.answer_terms import answer_terms
from dbcpu.reports.documents.quoted import quoted_of_run
from dbcpu.reports.documents.run_scaling import scaling_words

SHOWN_CPUS = 8
EVENT_S = 1e-6
"""CPU time of an event of the kernel's trace (docs/benchmarks.md, "Cost of the kernel's trace")."""
MIN_SHOWN_SHARE = 0.001


def cause_counts(level: LevelView) -> str:
    """``run-queue wait (10 of 15)``, the sessions with each cause; '' when none was slowed.

    ``CPU steal; 14 % lost`` where a single session loses as much, and ``CPU steal (1 of 24); 14 % lost`` where beside
    what all lose few lose more. The share lost is of all that was counted, to whatever cause.
    """
    few = 2 * dict(level.causes).get(level.counted_cause, level.sessions) < level.sessions
    by_count, counted = is_known_by_count(level), cause_by_count(level)
    much = percent(1.0 - 1.0 / (level.counted_slowdown or 1.0))
    apart = level.rounds_apart
    some_rounds = apart is not None and rounds_differ(level) and (apart.counted or level.level == 1)
    is_lost = counted != Cause.NONE and (level.counted_slowdown or 1.0) > EQUAL and not some_rounds
    # Where few have a cause, what the slowdown shows too is a mean of these and the others, which nobody lost.
    is_lost = is_lost and level.full_speed is not Answer.UNDECIDED  # else the count is no evidence of this level
    is_lost = is_lost and (level.level == 1 or not few or is_lost_alone_too(level))

    def share(cause: Cause, many: int) -> str:
        if cause == counted and some_rounds and apart is not None:
            if level.level > 1:
                return f"{apart.rounds} of {plural(level.rounds, 'round')}"
            many = apart.rounds
        return f"{many} of {level.sessions}" if many else ""

    shown = [each for each in level.causes if each[0] != Cause.NONE]
    if by_count and counted != Cause.NONE and counted not in dict(shown):
        shown.insert(0, (counted, 0))
    texts = [(cause.words, share(cause, many)) for cause, many in shown]
    named = ", ".join(f"{words} ({text})" if text else words for words, text in texts)
    return f"{named}; {much} lost" if is_lost else named


def measured_lines(record: RunRecord, analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """What was measured, as (name, text) lines; text from outside is cleaned of control characters."""
    header = record.header
    plan, work = header.plan, header.plan.workload
    amount = f"{plural(plan.executions, 'execution')} each" if plan.executions else f"for {plan.for_s or 0:g} s"
    if plan.pieces:
        amount = f"{plural(plan.pieces, 'job')} shared by the sessions of a round"
        if plan.blocking:
            amount += f", {plan.blocking} of which only wait, {seconds(plan.block_s)} each"
        if plan.connections:
            amount += f"; they come as calls {over_connections(plan.connections, one_at_a_time=plan.one_at_a_time)}"
    started = header.started_at or "date not known"
    lines = [
        (
            "run",
            f"{header.run_id} {header.label}".strip() + f", {started}, {header.status}",
        ),
        ("host", _host(header, analysis)),
        _server(record),
        ("workload", work_words(work) + (f", {amount}" if plan.sampler != IMPORTED else "")),
    ]
    ref = analysis.reference
    if ref is not None:
        counted = "" if plan.sampler in (IMPORTED, "none") else ", unless the kernel counted the loss"
        lines.append(
            (
                "baseline",
                f"single session{_of_target(record)} {seconds(ref.elapsed_s)}, {rate(ref.mrows_per_s)} {analysis.unit} "
                f"({_solo_rounds(record, ref.sessions)}, noise {percent(ref.spread)}; "
                f"a slowdown of one session below {times(ref.limit)} may be noise{counted})",
            )
        )
    return tuple((name, plain(text)) for name, text in lines)


OWN_BASELINES = (
    "they are of different kinds: each session is compared with a single session of its own target. Of the rounds of "
    "all together elapsed time, max/min, CV, slow group, throughput and efficiency are not shown: they mix the targets"
)


def _of_target(record: RunRecord) -> str:
    """Of several targets the first one with a single session: that is the baseline of all of one kind."""
    single = [each for each in record.rounds if each.level == 1]
    alone = {one.variant for one in single if not any(each.error or each.answer_ok is False for each in one.sessions)}
    found = [each.target for each in record.header.plan.parties if each.target in alone]
    return f" of {found[0]}" if found else ""


def _solo_rounds(record: RunRecord, counted: int) -> str:
    """How many make the baseline, of how many that were measured under the first variant."""
    first = record.header.plan.variants[0]
    measured = sum(each.level == 1 and each.variant == first and each.error is None for each in record.rounds)
    if counted >= measured:
        return plural(counted, "round")
    others = "the other is" if measured - counted == 1 else "the others are"
    why = "steal, memory on another node, or not valid"
    return f"{counted} of {plural(measured, 'round')}: {others} no reference ({why})"


def _server(record: RunRecord) -> tuple[str, str]:
    """What did the work: a database, or a program where there is none."""
    database, target = record.header.database, record.header.plan.target
    if record.header.plan.sampler == IMPORTED:
        what = record.rounds[0].not_sampled if record.rounds else "no rounds"
        return "database", f"{database.kind or 'not known'}, imported: {what} ({target})"
    if parties := record.header.plan.parties:
        named = [f"{each.database.kind} {each.database.version} ({each.target})" for each in parties]
        return "database", listed(named)
    if database.kind == "shell":
        return "program", f"{database.version} ({target})"
    return "database", f"{database.kind} {database.version} ({target})"


def _host(header: Header, analysis: Analysis) -> str:
    host, whole = header.host, RunRecord(header, ())
    vcpus, cores = analysis.vcpus, analysis.cores
    if len(header.plan.variants) > 1:  # the first of them may hold its sessions on some of the host
        vcpus, cores = vcpu_count(whole), core_count(whole)
    cpus = plural(vcpus, "vCPU") if vcpus else "vCPUs unknown"
    quota = bounding_quota(whole)
    if host is not None and quota is not None:
        cpus = f"{plural(sum(each.online for each in host.topology.cpus), 'vCPU')} with a CPU quota of {quota:g}"
    elif cores and vcpus:
        cpus += f" on {plural(cores, 'core')}"
    if host is None:
        return f"{header.facts.get('model', 'not known')}, {cpus}"
    guest = f", {host.hypervisor} guest" if host.hypervisor else ""
    return f"{host.hostname}, {host.cpu_model}, {cpus}, kernel {host.kernel}{guest}"


def summary(record: RunRecord, analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """The summary of the levels as (name, text) lines; only those that are known."""
    lines = [
        ("scaling", scaling_words(record, analysis)),
        ("contention", of_first_variant(analysis, _contention(analysis))),
        ("pace", _pace(record, analysis)),
        ("trace", _trace(record, analysis.vcpus)),
        ("capacity", of_first_variant(analysis, _capacity(record, analysis))),
        *((TO_QUOTE, sentence) for sentence in quoted_of_run(record, analysis)),
        ("targets", OWN_BASELINES if analysis.own_baselines else ""),
        ("terms", answer_terms(analysis)),
        ("licences", _licences(record, analysis)),
        *(("variant", sentence) for sentence in _variants(analysis)),
        *(("variant", note.removeprefix("variant ")) for note in not_varied(record.header.notes)),
    ]
    return tuple((name, plain(text)) for name, text in lines if text)


def _variants(analysis: Analysis) -> tuple[str, ...]:
    """() of a run of one variant, which needs nothing of what compares."""
    if analysis.variants is None:
        return ()
    from dbcpu.analysis.comparison.variant_sentences import variant_sentences

    return tuple(variant_sentences(analysis.variants))


def _pace(record: RunRecord, analysis: Analysis) -> str:
    """What the witness showed of the CPUs' own speed, and what is made of it."""
    if not any(each.witness for each in record.rounds):
        return ""
    reference = analysis.reference
    pace = reference.pace if reference else None
    if reference is None or pace is None:
        return (
            "the speed of the CPUs themselves is not known, times are as delivered: fewer than two single sessions had "
            f"{MIN_PACE_PIECES} pieces of the witness beside them"
        )
    speeds, parts = analysis.two_speeds, ["the witness measured the speed of the CPUs themselves"]
    if speeds is not None:
        of_cpus = list(zip(speeds.cpus, speeds.by_cpu, strict=True))[:SHOWN_CPUS]
        slow = listed([f"CPU {cpu} was slow for {percent(share)}" for cpu, share in of_cpus])
        parts[0] += f": with at most one session {slow} of the time"
    delivered = {level.level for level in analysis.levels if not level.at_one_pace}  # under any of the variants
    same = sorted({level.level for level in analysis.levels if level.level > 1} - delivered)
    some = _levels_at_one_pace(analysis)
    if len(set(some.values())) > 1:
        where = listed([f"N={short_ranges(levels)} under {name}" for name, levels in some.items() if levels])
        paced = f"the single-session time and the figures of {where} exclude these changes of speed (at one pace)"
        parts.append(f"{paced}, all others include them (as delivered)")
    elif same:
        paced = f"the figures of N={short_ranges(same)} exclude these changes of speed (at one pace)"
        parts.append(f"{paced}, the tables of sessions include them (as delivered)")
    elif 1 not in delivered:
        paced = "the single-session time excludes these changes of speed (at one pace)"
        parts.append(f"{paced}, all other figures include them (as delivered)")
    if pace.tolerance > reference.tolerance:
        parts.append(f"without the witness slowdowns below {times(1 + pace.tolerance)} would be noise")
    return "; ".join(parts)


def _levels_at_one_pace(analysis: Analysis) -> dict[str, tuple[int, ...]]:
    """By variant, of several sessions; variants of one host may differ in this."""
    return {
        name: tuple(
            each.level for each in analysis.levels if each.variant == name and each.level > 1 and each.at_one_pace
        )
        for name in dict.fromkeys(each.variant for each in analysis.levels)
    }


def _trace(record: RunRecord, vcpus: int | None) -> str:
    """Where the kernel's trace was taken: how much of it is used, its cost, and how soon sessions that were woken ran.

    Percentiles are those of each session that was woken so often; their median over these sessions is shown.
    """
    used = [each for each in record.rounds if each.trace and not each.trace.why]
    if not used:
        return ""
    text = f"exact placement in {len(used)} of {plural(len(record.rounds), 'round')}, by the kernel's trace"
    cpu_s = sum(window_s(each) for each in used) * (vcpus or 0)
    if cpu_s:
        share = sum(each.trace.events for each in used if each.trace) * EVENT_S / cpu_s
        text += f", which took {percent(share) if share >= MIN_SHOWN_SHARE else 'less than 0.1 %'} of the CPU time"
    woken = [session.wake_ups for each in used for session in each.sessions if session.wake_ups]
    if not woken:
        return text
    usual = [
        f"{short_time(median(enough))} ({words})"
        for (share, least), words in zip(MIN_EXECUTIONS.items(), ("median", "95 %", "99 %"), strict=True)
        if (enough := [getattr(each, f"p{share}_s") for each in woken if each.count >= least])
    ]
    if not usual:
        return text
    longest = short_time(max(each.max_s for each in woken))
    return f"{text}; once woken, the usual session ran after {', '.join(usual)}; the longest wait was {longest}"


def _contention(analysis: Analysis) -> str:
    """Of the first variant: levels of the others are other ones, though they have the same numbers."""
    own = analysis.first_levels
    kinds = (
        ("avoidable (another core or CPU idle)", "misplaced_s"),
        ("SMT sharing", "sharing_s"),
        ("CPU queueing", "oversubscribed_s"),
    )
    parts = []
    for words, name in kinds:
        shares = {view.level: view.share(getattr(view, name)) for view in own}
        levels = [level for level, share in shares.items() if share > REGIME_SHARE]
        if levels:
            most = max(shares[level] for level in levels)
            parts.append(f"{words} at N={short_ranges(levels)} (up to {percent(most)} of the time)")
    return "; ".join(parts)


def of_first_variant(analysis: Analysis, said: str) -> str:
    """What is said of one variant alone, with its name where the run has several."""
    return f"{analysis.variants.first.name}: {said}" if said and analysis.variants is not None else said


def _capacity(record: RunRecord, analysis: Analysis) -> str:
    room = analysis.capacity
    if room is None or room.peak_throughput is None:
        return ""
    highest = ", the highest level measured" if room.at_least else ""
    parts = []
    if room.full_speed_up_to is not None and room.full_speed_up_to > 1:
        parts.append(f"equal shares at full speed {_up_to(analysis, room.full_speed_up_to)}")
    if room.even_up_to is not None and room.even_up_to > 1:
        again = _even_beyond(analysis, room.even_up_to, room.even_again)
        if parts and room.even_up_to == room.full_speed_up_to:
            parts[0] += f"{highest}{again}"
        else:
            parts.append(f"equal shares {_up_to(analysis, room.even_up_to)}{highest}{again}")
    cpu = "vCPU" if bounding_quota(record) is None else "CPU of the quota"
    shares = ((room.per_vcpu, cpu), (room.per_core, "core"))
    per = [f"{rate(value)} per {noun}" for value, noun in shares if value]
    parts.append(
        f"peak throughput {rate(room.peak_throughput)} {analysis.unit}" + (f" ({', '.join(per)})" if per else "")
    )
    return "; ".join(parts)


def _up_to(analysis: Analysis, sessions: int) -> str:
    """``up to 4 sessions``, and of levels with others between them ``at every measured level up to 8 sessions``."""
    measured = {each.level for each in analysis.levels if 1 < each.level <= sessions}
    every = "at every measured level " if len(measured) < sessions - 1 else ""
    return f"{every}up to {plural(sessions, 'session')}"


def _even_beyond(analysis: Analysis, up_to: int, again: int | None) -> str:
    """``; equal shares also at N=4-6`` beyond undecided levels; ``, equal again at 16`` beyond uneven ones."""
    variant, most = analysis.levels[0].variant, analysis.vcpus or 0
    after = [each for each in analysis.levels if each.variant == variant and up_to < each.level <= most]
    until = next((each.level for each in after if each.even is Answer.NO), most + 1)
    also = [each.level for each in after if each.even is Answer.YES and each.level < until]
    words = f"; equal shares also at N={short_ranges(also)}" if also else ""
    return words + (f", equal again at {again}" if again is not None and again > until else "")


def _licences(record: RunRecord, analysis: Analysis) -> str:
    found = analysis.capacity.licences if analysis.capacity else ()
    if not found:
        return not_counted(facts_of(record, analysis.vcpus, analysis.cores)) if analysis.capacity else ""
    counts = [f"{plural(each.count, each.unit)} by {each.rule} ({each.how}, {each.date})" for each in found]
    sources = listed(list(dict.fromkeys(each.source for each in found)))
    return f"{'; '.join(counts)}. Not legal advice; source: {sources}" if counts else ""


def sessions_of_round(analysis: Analysis, order: int | None = None) -> tuple[SessionView, ...]:
    """The sessions of a round, by default the representative one, the slowest first; those that failed last."""
    wanted = analysis.telling_order if order is None else order
    chosen = [each for each in analysis.sessions if each.order == wanted]
    return tuple(sorted(chosen, key=lambda each: (not each.valid, -(each.elapsed_s or 0.0), each.ordinal)))


def order_words(analysis: Analysis) -> str:
    """Which session is on top of a picture: of a pool or a soak each has as many jobs as it got."""
    return "the longest at work" if analysis.pool or analysis.soak else "the slowest"


def lane_id(variant: str, ordinal: int) -> str:
    """The identifier of a session's lane in the picture of lanes."""
    return f"lane-{re.sub(r'[^A-Za-z0-9]+', '-', variant)}-{ordinal}"


def slowed_sessions(analysis: Analysis) -> tuple[SessionView, ...]:
    """Those of the representative round that have a cause."""
    return tuple(each for each in sessions_of_round(analysis) if each.cause is not Cause.NONE)


def limits_of(host: HostInfo, analysis: Analysis) -> tuple[str, ...]:
    """Usable CPUs and limits of the host, a sentence each."""
    online = [each for each in host.topology.cpus if each.online]
    offline = [each.cpu for each in host.topology.cpus if not each.online]
    allowed = sorted(set(host.limits.allowed_cpus) & {each.cpu for each in online})
    threads = sorted({len(each.siblings) for each in online})
    cores = plural(len({each.core for each in online}), "core")
    # vCPUs that are so few because of a quota are no CPUs: it is named below.
    few = host.limits.quota_cpus is not None and (analysis.vcpus or 0) < len(allowed or online)
    usable = f"; sessions may use {plural(analysis.vcpus, 'vCPU')}" if analysis.vcpus and not few else ""
    lines = [f"{plural(len(online), 'CPU')} on {cores}, {threads_words(threads)} per core{usable}"]
    if offline:
        lines.append(f"offline: {plural(len(offline), 'CPU')} ({short_ranges(offline)})")
    if allowed and len(allowed) < len(online):
        lines.append(f"allowed: CPUs {short_ranges(allowed)} only")
    if host.limits.quota_cpus is not None:
        lines.append(
            f"CPU quota: {plural(host.limits.quota_cpus, 'CPU')} ({host.limits.quota_source or 'control group'})"
        )
    if host.hypervisor and threads == [1]:
        lines.append(f"a {host.hypervisor} guest: the hypervisor may hide which CPUs share a core")
    return tuple(plain(line) for line in lines)
