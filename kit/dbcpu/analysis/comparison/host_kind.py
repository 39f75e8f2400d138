"""A kind of host, as one run has measured it: what it serves at equal shares, and the cores behind its vCPUs. Pure."""

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.rounds_needed import hidden_cores_possible
from dbcpu.analysis.placement.usable_cpus import bounding_quota
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.scaling.licences import LicenceFacts, chosen_rule, facts_of
from dbcpu.config.rules import Licence, Price, SizingRules
from dbcpu.errors import UsageError
from dbcpu.formatting import plural, short_ranges
from dbcpu.record.rounds import RunRecord

FAIR = EQUAL
"""Largest max/min at which a level counts for sizing, if the user gives no other."""

DISTURBING = (Cause.COMPETITOR, Cause.STEAL)
"""Causes that another day, or another neighbour, does not have."""


class Kind(Struct, frozen=True):
    """A kind of host, as measured. ``fair`` is the largest fair N, ``fair_throughput`` (Mrows/s) what it got done.

    ``unfair``: the smallest measured N whose shares are not, None if there is none; ``disturbed_by``: the cause there
    where it is no part of this host's CPUs.
    ``shown``: the largest N up to which shares are shown to be fair, no more than ``fair``, and ``shown_throughput``.
    ``measured``: the largest level up to the vCPUs, which bounds ``fair`` where nothing else does. ``undecided``:
    levels up to the vCPUs of which it is undecided whether shares are equal; ``fair`` goes by what was measured there.
    ``only_totals``: ``fair`` rests on levels of which only total rates are known. ``peak_throughput``: of any level up
    to the vCPUs (``peak_level``), whatever the shares. ``like_cores``: where the host scales like fewer cores than it
    shows. ``may_share``: its CPUs may share cores unseen, two each, for all sessions are slow when every vCPU is busy,
    nothing explains it, and no level was measured that would show it. ``core_throughput``: of one session on each of
    these cores, None for other hosts. ``quota``: in CPUs, where it bounds the vCPUs; ``quota_throughput``: that lasts,
    of one CPU of it while all of it is used, None where no level uses all of it.
    ``cores``: as shown by the host, as given, or by the curve or the sessions; ``cores_from`` says which in words, ''
    where the host shows them. None where nothing gives them.
    """

    name: str
    target: str
    vcpus: int
    cores: int | None
    cores_from: str
    sockets: int
    fair: int
    fair_throughput: float
    measured: int
    shown: int
    shown_throughput: float
    undecided: tuple[int, ...] = ()
    only_totals: bool = False
    unfair: int | None = None
    disturbed_by: Cause = Cause.NONE
    peak_throughput: float = 0.0
    peak_level: int = 0
    like_cores: int | None = None
    may_share: bool = False
    core_throughput: float | None = None
    quota: float | None = None
    quota_throughput: float | None = None
    licence: Licence | None = None
    price: Price | None = None

    @property
    def loaded(self) -> bool:
        """Whether the levels say what the host can do: they load all its cores, or end beyond the largest fair one.

        They have to use all of a quota: its cores may be fewer.
        """
        if self.quota is not None:
            return self.fair < self.measured or self.quota_throughput is not None
        return self.fair < self.measured or self.measured >= (self.cores or self.vcpus)

    @property
    def equal_words(self) -> str:
        """Of its shares, where few sessions are served fairly: up to where they are equal."""
        open_ = [level for level in self.undecided if level <= self.fair]
        if not open_:
            return f"are equal only up to {plural(self.fair, 'session')}"
        shown = f"are shown to be equal only up to {plural(self.shown, 'session')}"
        return f"{shown} (inconclusive at N={short_ranges(open_)})"

    @property
    def undecided_beyond_shown(self) -> tuple[int, ...]:
        """Levels that may be fair as well."""
        return tuple(level for level in self.undecided if level > self.shown)

    @property
    def few_are_fair(self) -> bool:
        """Whether shares are known to be equal only while at most half of the cores are busy, for no core is shared."""
        cores = self._cores
        known = self.unfair is not None and self.unfair <= cores
        return 2 * self.fair <= cores and known and self.core_throughput is None

    @property
    def at_equal_shares(self) -> bool:
        """Whether its size is that at which shares are equal, and neither by totals nor by cores that are not shown."""
        return not (self.few_are_fair or self.leaves_quota) and self.core_throughput is None

    @property
    def leaves_quota(self) -> bool:
        """Whether shares are equal only while a whole CPU of the quota is left, as of one with fewer cores behind it.

        More sessions of a larger quota then share these cores, unless as many more of them come with it.
        """
        return self.quota is not None and self.fair + 1 <= self.quota and not self.few_are_fair

    @property
    def leaves_cores_open(self) -> bool:
        """Whether nothing is known of the shares while more than half of the cores are busy."""
        open_ = 2 * self.fair <= self._cores and not self.few_are_fair
        return open_ and self.core_throughput is None and not self.only_totals

    @property
    def cpus_words(self) -> str:
        """``8 vCPUs``, or ``quota of 6.2 CPUs``."""
        return plural(self.vcpus, "vCPU") if self.quota is None else f"quota of {plural(self.quota, 'CPU')}"

    @property
    def _cores(self) -> float:
        return self.cores or self.vcpus / 2

    @property
    def cpu_throughput(self) -> float:
        """Of one vCPU, or of one CPU of the quota: by the largest fair level, by one session on each core that is
        shared unseen, or by all sessions together where few are served fairly.
        """
        if self.core_throughput is not None:
            return self.core_throughput / self.vcpus
        if self.few_are_fair:
            return self.total_cpu_throughput
        # What is left of a quota is no whole CPU of a session, or the sessions that would use it have no core.
        at_shares = self.fair_throughput / (self.quota if self.leaves_quota and self.quota else self._used(self.fair))
        return at_shares if self.quota is None else min(at_shares, self.total_cpu_throughput)

    @property
    def total_cpu_throughput(self) -> float:
        """The same by all sessions together, whatever the shares."""
        return self.quota_throughput or self.peak_throughput / self._used(self.peak_level)

    def has_cores_for(self, demand: float) -> bool:
        """Whether the sessions that leave a CPU of the quota do this work, at equal shares, with a CPU of it each."""
        return self.leaves_quota and demand <= self.fair_throughput

    def _used(self, sessions: int) -> float:
        return self.vcpus if self.quota is None else min(float(sessions), self.quota)

    @property
    def threads(self) -> float | None:
        """Per core; None also for a quota, which is time on any of the host's CPUs."""
        return self.vcpus / self.cores if self.cores and self.quota is None else None

    @property
    def threads_behind(self) -> float:
        """Per whole core: as shown, or as shared unseen, then a whole number; 1 where no cores are known."""
        if self.core_throughput is not None:
            return max(1, round(self.vcpus / self.like_cores)) if self.like_cores else 2
        return self.threads or 1.0


def fair_level(
    levels: Sequence[LevelView], ratio: float, most: int, cores: int | None = None
) -> tuple[LevelView | None, LevelView | None]:
    """The largest level up to ``most`` that is fair, as is every smaller one, and the first that is not; or None.

    Where only total rates are known, nothing says that a level is unfair. With ``cores`` below ``most`` sessions are
    even again at ``most``, where two share each core and all are slower: without a level between, this shows no fair
    shares.
    """
    found = None
    for each in sorted(levels, key=lambda view: view.level):
        if not each.sessions or each.level > most:
            continue
        if each.shares_known and not _is_fair(each, ratio):
            return found, each
        untested = found is not None and found.level <= (cores or most) < most - 1
        if each.shares_known and each.level == most and untested and not _as_fast(each, found):
            break
        found = each
    return found, None


def _as_fast(level: LevelView, than: LevelView | None) -> bool:
    """Whether each session gets as much done as at another level."""
    if than is None or not than.throughput or not level.throughput:
        return False
    return EQUAL * level.throughput / level.level >= than.throughput / than.level


def _is_fair(level: LevelView, ratio: float) -> bool:
    """By the level's answer; as measured where that is undecided, or where more than equal shares are accepted."""
    seen = round(level.max_over_min or 1.0, 2) <= ratio
    if level.even is Answer.NO:
        return seen and ratio > EQUAL
    return seen or (level.even is Answer.YES and ratio >= EQUAL)


def cores_behind(record: RunRecord, analysis: Analysis) -> tuple[int | None, str]:
    """Cores behind the vCPUs, None if unknown, and where they are from in words: '' for what the host shows."""
    if analysis.cores:
        return analysis.cores, "" if record.header.host else "as given"
    check = analysis.topology
    if check is not None and check.verdict == "told" and check.cores_told and analysis.vcpus:
        # A knee is known to a core or so; threads per core are a whole number.
        threads = max(1, round(analysis.vcpus / check.cores_told))
        seen_by = "two groups of session times" if check.two_speeds else "the throughput curve"
        return max(1, analysis.vcpus // threads), f"by {seen_by}"
    return None, ""


def facts_of_run(run: tuple[str, RunRecord, Analysis]) -> LicenceFacts:
    """What licence rules ask of a run by its name, with the cores behind its vCPUs as far as its levels show them."""
    name, record, analysis = run
    cores, _ = cores_behind(record, analysis)
    found = facts_of(record, analysis.vcpus, cores, name)
    if found.threads_per_core is None and cores and analysis.vcpus:
        return replace(found, threads_per_core=math.ceil(analysis.vcpus / cores))
    return found


def kind_of(run: tuple[str, RunRecord, Analysis], facts: LicenceFacts, rules: SizingRules, ratio: float) -> Kind:
    """The kind of host that a run measured; ``ratio``: up to this max/min shares count as fair.

    Raises UsageError where its vCPUs, or a throughput, are not known.
    """
    name, record, analysis = run
    levels = analysis.first_levels
    cores, cores_from = cores_behind(record, analysis)
    # Beyond the vCPUs sessions may be even again by taking turns: no more of them are served by that.
    fair, unfair = fair_level(levels, ratio, analysis.vcpus or 0, cores)
    if not analysis.vcpus:
        raise UsageError(f"{name}: its vCPUs are not known, so sizing is not possible; give --vcpus {name}=N")
    if fair is None or not fair.throughput:
        raise UsageError(f"{name}: no level has a throughput; sizing needs a complete run, with one session alone too")
    licence, price = chosen_rule(rules.licences, facts), chosen_rule(rules.prices, facts)
    within = [each for each in levels if each.level <= analysis.vcpus]
    # What somebody accepts as fair beyond equal shares goes by what was measured, and so do totals.
    open_ = [each.level for each in within if each.level > 1 and each.shares_known and each.even is Answer.UNDECIDED]
    first_open = min(open_, default=math.inf) if ratio <= EQUAL else math.inf
    shown = max(
        (each for each in within if each.sessions and each.level <= fair.level and each.level < first_open),
        key=lambda each: each.level,
        default=fair,
    )
    peak = max(within, key=lambda each: each.throughput or 0.0)
    like_cores = analysis.topology.like_cores if analysis.topology else None
    may_share = _may_share(analysis, within, cores)
    alone = next((each.throughput for each in within if each.level == 1), None)
    behind = like_cores or (analysis.vcpus / 2 if may_share else None)
    return Kind(
        name=name,
        target=record.header.plan.target,
        vcpus=analysis.vcpus,
        cores=cores,
        cores_from=cores_from,
        sockets=facts.sockets or 1,
        fair=fair.level,
        fair_throughput=fair.throughput,
        measured=max(each.level for each in within),
        shown=shown.level if shown.level < first_open else 1,
        shown_throughput=shown.throughput or 0.0,
        undecided=tuple(each.level for each in within if each.level > 1 and each.even is Answer.UNDECIDED),
        unfair=unfair.level if unfair else None,
        disturbed_by=unfair.main_cause if unfair and unfair.main_cause in DISTURBING else Cause.NONE,
        peak_throughput=peak.throughput or 0.0,
        peak_level=peak.level,
        like_cores=like_cores if alone else None,
        may_share=may_share and alone is not None,
        core_throughput=min(alone * behind, peak.throughput or 0.0) if alone and behind else None,
        quota=bounding_quota(record),
        quota_throughput=_quota_throughput(bounding_quota(record), analysis),
        only_totals=any(1 < each.level <= fair.level and not each.shares_known for each in within),
        licence=licence if isinstance(licence, Licence) else None,
        price=price if isinstance(price, Price) else None,
    )


def _quota_throughput(quota: float | None, analysis: Analysis) -> float | None:
    """The most that lasts of one CPU of a quota of which no whole CPU is left, in Mrows/s."""
    if quota is None:
        return None
    most = (analysis.capacity.peak_throughput if analysis.capacity else None) or math.inf
    lasting = ((each.level, each.lasting_throughput or each.throughput) for each in analysis.first_levels)
    used = [min(rate, most) / min(float(level), quota) for level, rate in lasting if rate and level > quota - 1]
    return max(used, default=None)


def _may_share(analysis: Analysis, levels: Sequence[LevelView], cores: int | None) -> bool:
    """Whether two vCPUs may share each core, which neither the host nor a level shows: none is between."""
    vcpus, check = analysis.vcpus or 0, analysis.topology
    alone, full = (next((each for each in levels if each.level == at), None) for at in (1, vcpus))
    if alone is None or full is None or cores not in (None, vcpus) or (check is not None and check.cores_told):
        return False
    unmeasured = vcpus == 2 or hidden_cores_possible([each.level for each in levels], vcpus, cores)
    cause = full.main_cause
    return (
        unmeasured
        and (not cause.is_known or cause is Cause.SLOWER_CPU)
        and full.even is not Answer.NO
        and not _as_fast(full, alone)
    )
