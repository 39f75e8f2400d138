"""What is said of a run in few words: the head, what the levels come to, who lost, what holds the host back."""

from dbcpu.analysis.comparison.variant_sentences import variant_sentences
from dbcpu.analysis.results.causes import CAUSE_WORDS
from dbcpu.analysis.results.run import REGIME_SHARE, Analysis, LevelView, SessionView
from dbcpu.formatting import listed, number, percent, plain, plural, rate, seconds, short_ranges
from dbcpu.record import HostInfo, RunRecord


def causes(each: LevelView) -> str:
    """``run queue 10/15``; several by commas; '' when nobody lost anything."""
    told = [f"{CAUSE_WORDS[cause]} {many}/{each.sessions}" for cause, many in each.causes if cause != "none"]
    return ", ".join(told)


def head(record: RunRecord, analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """What was measured, as (name, text) lines; text from outside is cleaned of control characters."""
    header = record.header
    plan, database, work = header.plan, header.database, header.plan.workload
    amount = f"{plural(plan.executions, 'execution')} each" if plan.executions else f"for {plan.for_s or 0:g} s"
    if plan.pieces:
        amount = f"{plural(plan.pieces, 'piece')} of work shared by the sessions of a round"
    lines = [
        ("run", f"{header.run_id} {header.label}".strip() + f", {header.started_at}, {header.status}"),
        ("host", _host(header.host, analysis)),
        ("database", f"{database.kind} {database.version} ({plan.target})"),
        ("workload", f"{work.name}, size {work.size} (n = {work.n}, {work.rows / 1e6:.1f} Mrows), {amount}"),
    ]
    ref = analysis.reference
    if ref is not None:
        lines.append(
            (
                "alone",
                f"{seconds(ref.elapsed_s)}, {rate(ref.mrows_per_s)} Mrows/s "
                f"({plural(ref.sessions, 'solo session')}, spread {percent(ref.spread)}, "
                f"losses from {percent(ref.tolerance)} explained)",
            )
        )
    return tuple((name, plain(text)) for name, text in lines)


def _host(host: HostInfo | None, analysis: Analysis) -> str:
    cpus = plural(analysis.vcpus, "vCPU") if analysis.vcpus else "vCPUs unknown"
    if analysis.cores and analysis.vcpus:
        cpus += f" on {plural(analysis.cores, 'core')}"
    if host is None:
        return f"not looked at, {cpus}"
    guest = f", {host.hypervisor} guest" if host.hypervisor else ""
    return f"{host.hostname}, {host.cpu_model}, {cpus}, kernel {host.kernel}{guest}"


def summary(record: RunRecord, analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """What the levels come to, as (name, text) lines; only those that can be told."""
    lines = [
        ("scaling", _scaling(analysis)),
        ("regimes", _regimes(analysis)),
        ("capacity", _capacity(analysis)),
        ("licences", _licences(analysis)),
        *(("variant", sentence) for sentence in (variant_sentences(analysis.variants) if analysis.variants else ())),
    ]
    return tuple((name, plain(text)) for name, text in lines if text)


def _scaling(analysis: Analysis) -> str:
    scaling, check = analysis.scaling, analysis.topology
    if not scaling.knees:
        return ""
    told = [f"throughput bends at {listed([number(knee, 1) for knee in scaling.knees])} sessions"]
    if scaling.turbo is not None and scaling.turbo >= REGIME_SHARE:
        told.append(f"all slow down by up to {percent(scaling.turbo)} on the way")
    if scaling.smt_yield is not None:
        interval = scaling.smt_yield_interval
        within = f" ({percent(interval.low)} to {percent(interval.high)})" if interval else ""
        told.append(f"further threads add {percent(scaling.smt_yield)}{within}")
    if scaling.effective_cores is not None:
        told.append(f"worth {number(scaling.effective_cores, 1)} cores")
    if check is not None:
        words = {
            "agrees": "as the topology shows",
            "unclear": f"the topology cannot be checked ({check.why})",
            "fewer_cores": f"as {number(check.cores_told, 0)} cores would, not {check.cores}",
            "told": f"as {number(check.cores_told, 0)} cores would",
            "like_full_cores": "as if each thread were a core",
        }
        told.append(words.get(check.verdict, ""))
    return "; ".join(part for part in told if part)


def _regimes(analysis: Analysis) -> str:
    kinds = (
        ("misplaced", "misplaced_s"),
        ("sharing cores, unavoidable", "sharing_s"),
        ("waiting in turn for a CPU", "oversubscribed_s"),
    )
    told = []
    for words, name in kinds:
        seen = [each for each in analysis.levels if each.share(getattr(each, name)) > REGIME_SHARE]
        if seen:
            most = max(each.share(getattr(each, name)) for each in seen)
            told.append(f"{words} at N={short_ranges(each.level for each in seen)} (up to {percent(most)} of the time)")
    return "; ".join(told)


def _capacity(analysis: Analysis) -> str:
    room = analysis.capacity
    if room is None or room.even_up_to is None or room.most_throughput is None:
        return ""
    least = "at least " if room.at_least else ""
    speed = f"at full speed up to {room.full_speed_up_to}, " if room.full_speed_up_to is not None else ""
    again = f", again at {room.even_again}" if room.even_again is not None else ""
    shares = ((room.per_vcpu, "vCPU"), (room.per_core, "core"))
    per = [f"{rate(value)} per {noun}" for value, noun in shares if value]
    most = listed([f"{rate(room.most_throughput)} Mrows/s", *per])
    return f"{speed}even up to {least}{plural(room.even_up_to, 'session')}{again}; most seen {most}"


def _licences(analysis: Analysis) -> str:
    found = analysis.capacity.licences if analysis.capacity else ()
    counts = [f"{plural(each.count, each.unit)} by {each.rule} ({each.how}, {each.date})" for each in found]
    sources = listed(list(dict.fromkeys(each.source for each in found)))
    return f"{'; '.join(counts)}. Not legal advice; after {sources}" if counts else ""


def telling_sessions(analysis: Analysis, order: int | None = None) -> tuple[SessionView, ...]:
    """The sessions of a round, by default the most telling one, the slowest first; those that failed last."""
    wanted = analysis.telling_order if order is None else order
    chosen = [each for each in analysis.sessions if each.order == wanted]
    return tuple(sorted(chosen, key=lambda each: (not each.valid, -(each.elapsed_s or 0.0), each.ordinal)))


def losers(analysis: Analysis) -> tuple[SessionView, ...]:
    """Of these, the ones that have something to explain."""
    return tuple(each for each in telling_sessions(analysis) if each.cause != "none")


def limits_of(host: HostInfo, analysis: Analysis) -> tuple[str, ...]:
    """What of the host may be used and what holds it back, a sentence each."""
    online = [each for each in host.topology.cpus if each.online]
    offline = [each.cpu for each in host.topology.cpus if not each.online]
    allowed = sorted(set(host.limits.allowed_cpus) & {each.cpu for each in online})
    threads = max((len(each.siblings) for each in online), default=0)
    cores = plural(len({each.core for each in online}), "core")
    usable = f"; sessions may use {plural(analysis.vcpus, 'vCPU')}" if analysis.vcpus else ""
    lines = [f"{plural(len(online), 'CPU')} on {cores}, {plural(threads, 'thread')} per core{usable}"]
    if offline:
        lines.append(f"offline: {plural(len(offline), 'CPU')} ({short_ranges(offline)})")
    if allowed and len(allowed) < len(online):
        lines.append(f"allowed: CPUs {short_ranges(allowed)} only")
    if host.limits.quota_cpus is not None:
        lines.append(f"CPU quota: {host.limits.quota_cpus:g} CPUs ({host.limits.quota_source or 'control group'})")
    if host.hypervisor and threads == 1:
        lines.append(f"a {host.hypervisor} guest: it may not be told which of its CPUs share a core")
    return tuple(plain(line) for line in lines)
