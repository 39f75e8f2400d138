"""The answer of a sizing in one sentence per host, with what it rests on."""

from collections.abc import Sequence

from dbcpu.analysis.comparison.host_kind import Kind
from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.results.cause import Cause
from dbcpu.formatting import listed, plural, short_ranges

IF_TOTAL = "if only the total throughput counts, not the speed of each session"
MUCH_LESS = 0.95
"""A size by total throughput is named beside that at equal shares where it is so many times that, or less."""


def sizing_sentence(busy: int | None, old: Kind, needs: Sequence[Need], ratio: float) -> str:
    """The answer; '' for a ranking only."""
    if busy is None or not needs:
        return ""
    cores = f"{plural(busy, 'busy core')} of {old.name}"
    if all(each.least is None and not each.is_decided for each in needs):
        names = listed([each.kind.name for each in needs])
        return (
            f"Inconclusive: how many vCPUs replace {cores} is not known, because the throughput of {names} against "
            f"{old.name} is inconclusive and has no interval; measure more rounds (`--repeats 6`)."
        )
    are = f"{cores} {'is' if busy == 1 else 'are'}"
    decided, open_ = ([each for each in needs if each.is_decided is known] for known in (True, False))
    said = [f"{are} {_sizes(decided, ratio)}."] if decided else []
    if open_:
        said.append(f"Inconclusive: {'they are' if decided else are} {_sizes(open_, ratio)}.")
    return " ".join((*said, *filter(None, map(_basis, needs))))


def _sizes(needs: Sequence[Need], ratio: float) -> str:
    """What the work is on each of these hosts, and under which conditions that holds."""
    parts = [f"{each.words} ({_with(each)})" for each in needs]
    at_shares = [each.kind for each in needs if each.at_equal_shares]
    totals = [kind.name for kind in at_shares if kind.only_totals]
    even = [kind.name for kind in at_shares if not kind.only_totals]
    of = f" for {listed(even)}" if len(even) < len(needs) - len(totals) else ""
    fair = f"at max/min <= {ratio:g}{of}" if even else ""
    assumed = f"if sessions of {listed(totals)} get equal shares, which total rates do not show" if totals else ""
    open_ = [
        f"{kind.name} at N={short_ranges(kind.undecided)}"
        for kind in at_shares
        if kind.undecided and not kind.only_totals
    ]
    measured = f"if shares of {listed(open_)} are as measured, which is inconclusive" if open_ else ""
    return ", ".join(filter(None, (listed(parts, "or"), fair, assumed, measured)))


def _basis(need: Need) -> str:
    """What a size rests on where few sessions are served fairly, or vCPUs share cores unseen; '' for other hosts."""
    kind = need.kind
    each_core = (
        f"with one session on each of these cores, so that none slows another, the work takes "
        f"{plural(need.vcpus, 'vCPU')}; {IF_TOTAL}, {need.total_vcpus}"
    )
    if need.as_measured:
        return (
            f"{kind.name} is enough as it was measured: {plural(kind.shown, 'session')} on its "
            f"{kind.cpus_words} do this work at equal shares. With more sessions shares are not equal. A "
            f"smaller host of the kind was not measured; {IF_TOTAL}, {plural(need.total_vcpus, 'vCPU')} do it."
        )
    if kind.few_are_fair:
        why = "" if kind.disturbed_by is Cause.NONE else f" ({kind.disturbed_by.words})"
        return (
            f"Shares of {kind.name} {kind.equal_words} on its {kind.cpus_words}{why}: the number is right {IF_TOTAL}. "
            f"How many {'vCPUs' if kind.quota is None else 'CPUs'} do this work at equal shares is not known."
        )
    if kind.leaves_quota:
        return _of_larger_quota(need)
    if kind.like_cores:
        return (
            f"{kind.name} scales like {kind.like_cores} of the {plural(kind.cores or kind.vcpus, 'core')} that it "
            f"shows, and chance decides which sessions share one: {each_core}."
        )
    if kind.may_share:
        shows = f" Measure {kind.name} with `--sessions auto`, which shows it." if kind.vcpus > 2 else ""
        return (
            f"All sessions of {kind.name} are slow at N={kind.vcpus}, and its vCPUs may share "
            f"{plural(kind.vcpus // 2, 'core')} unseen: {each_core}.{shows}"
        )
    if kind.disturbed_by is not Cause.NONE:
        return (
            f"Shares of {kind.name} are unequal from {plural(kind.unfair or 0, 'session')} on "
            f"({kind.disturbed_by.words}), and its size includes that; {IF_TOTAL}, this work takes "
            f"{plural(need.total_vcpus, 'vCPU')}. Measure it without this disturbance."
        )
    if need.total_vcpus < MUCH_LESS * need.vcpus:
        return (
            f"{IF_TOTAL[0].upper()}{IF_TOTAL[1:]}, this work takes {plural(need.total_vcpus, 'vCPU')} of {kind.name}."
        )
    return ""


def _of_larger_quota(need: Need) -> str:
    """What a size rests on where a quota is not used up by sessions with equal shares."""
    kind = need.kind
    why = "" if kind.disturbed_by is Cause.NONE else f" ({kind.disturbed_by.words})"
    shares = f"Shares of {kind.name} {kind.equal_words} on its {kind.cpus_words}{why}"
    if need.most is not None and need.most <= kind.fair:
        return f"{shares}: this holds on a host with a core for each of them."
    return (
        f"{shares}: {IF_TOTAL}, this work takes {plural(need.total_vcpus, 'CPU')}; at equal shares "
        f"{plural(need.vcpus, 'CPU')}. Both assume that a larger quota comes with as many more cores: without "
        "them it does less per CPU."
    )


def _with(need: Need) -> str:
    kind = need.kind
    if kind.quota is not None:
        words = []
    elif kind.threads is None:
        words = ["threads per core unknown"]
    else:
        threads = f"{kind.threads:g} threads per core" if kind.threads > 1 else "one thread per core"
        words = [f"it shows {threads}" if kind.like_cores else f"{threads} {kind.cores_from}".rstrip()]
    if kind.quota is not None:
        words.append(f"measured with a quota of {plural(kind.quota, 'CPU')}")
    if need.decision is not None:
        within = f"{need.decision.low:.2f}x to {need.decision.high:.2f}x" if need.least is not None else "unknown"
        where = f" at {need.decision.levels}" if need.decision.levels else ""
        words.append(f"by the 95 % interval of throughput{where}, {within}")
    if not need.is_decided:
        return ", ".join(words)
    if need.licences is not None:
        words.append(plural(need.licences, kind.licence.unit if kind.licence else "licence"))
    if need.price is not None and kind.price is not None:
        per = f" per {kind.price.period}" if kind.price.period else ""
        words.append(f"{need.price:,.2f} {kind.price.currency}{per}")
    return ", ".join(words)
