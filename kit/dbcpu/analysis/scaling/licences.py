"""How many licences, and how much money, does a host need? Dated rules applied to plain facts. Pure.

The rules are configuration (``rulebook``), so that another policy or another year is an edit and not a release.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from dbcpu.analysis.placement.usable_cpus import bounding_quota, core_by_cpu
from dbcpu.analysis.results.host import LicenceNeed
from dbcpu.config.rules import OCPU_ACCOUNTS, OCPU_SIZES, Licence, OcpuSize, Price, Rule
from dbcpu.formatting import number, percent, plural
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord

_CLOUDS = ("Amazon EC2", "Google Compute Engine")
"""Hypervisors by name that only a public cloud has."""


class LicenceFacts(Struct, frozen=True):
    """What is counted; None where it is not known, and then rules that count it say nothing.

    ``edition`` is the database's full name, ``place`` one of ``rules.PLACES``; '' where they are not known.
    ``sockets`` are those of one host; ``names`` are the target, host name and label that a rule may be meant for.
    ``whole_host``: a CPU quota bounds the sessions, and all that the host shows is counted.
    """

    vcpus: int | None
    cores: int | None
    sockets: int | None
    threads_per_core: int | None
    cpu_model: str = ""
    database: str = ""
    names: frozenset[str] = frozenset()
    hosts: int = 1
    edition: str = ""
    place: str = ""
    whole_host: bool = False

    @property
    def ocpu_size(self) -> OcpuSize | None:
        """None elsewhere than on a host in Oracle's cloud whose CPU is known: what is sold there may be ECPUs."""
        model, threads = self.cpu_model.lower(), self.threads_per_core
        if self.place != "oracle-cloud" or not model:
            return None
        sizes = (each for each in OCPU_SIZES if any(name in model for name in each.models))
        return next((each for each in sizes if each.threads in (None, threads)), None)

    @property
    def ocpus(self) -> int | None:
        """Whole ones, for which the vCPUs of the sessions pay; None where they are not known."""
        size = self.ocpu_size
        return None if size is None or self.vcpus is None else math.ceil(self.vcpus / size.vcpus)


def facts_of(record: RunRecord, vcpus: int | None, cores: int | None, name: str = "") -> LicenceFacts:
    """The facts of a record's host; cores and sockets are those the sessions may use, as the kernel shows them.

    A CPU quota is time on any of them: it makes neither vCPUs nor cores fewer.
    Source: Oracle Partitioning Policy (a resource manager is soft partitioning, and limits no licence).

    ``name`` is what the run is called beside its target, host name and label.
    """
    header, host = record.header, record.header.host
    names = frozenset(filter(None, (name, header.plan.target, header.label, host.hostname if host else "")))
    edition, place = header.database.parameters.get("edition", ""), place_of(header)
    if host is None:
        kind, threads = header.database.kind, math.ceil(vcpus / cores) if vcpus and cores else None
        return LicenceFacts(vcpus, cores, None, threads, "", kind, names, edition=edition, place=place)
    usable = [each for each in host.topology.cpus if each.online and each.cpu in host.limits.allowed_cpus]
    quota = bounding_quota(record) is not None
    if quota:
        whole = core_by_cpu(record)
        vcpus, cores = len(whole) or vcpus, len(set(whole.values())) or cores
    return LicenceFacts(
        vcpus=vcpus,
        cores=cores,
        sockets=len({each.socket for each in usable}) or None,
        threads_per_core=max((len(each.siblings) for each in usable), default=None),
        cpu_model=host.cpu_model,
        database=header.database.kind,
        names=names,
        edition=edition,
        place=place,
        whole_host=quota,
    )


def place_of(header: Header) -> str:
    """Where the database runs, as far as host and database say so; '' where several places look alike."""
    host, parameters = header.host, header.database.parameters
    seen = (host.hypervisor or "") if host else ""
    if "cloud_service" in parameters or "Oracle Cloud" in seen:
        return "oracle-cloud"
    metal = host is not None and ".metal" in host.facts.get("product", "")
    if "managed_service" in parameters or metal or any(name in seen for name in _CLOUDS):
        return "cloud"
    return "own" if host is not None and host.hypervisor is None and host.facts.get("product") else ""


def licences_needed(rules: Iterable[Licence], facts: LicenceFacts) -> tuple[LicenceNeed, ...]:
    """What each rule that fits asks for, in their order; where somebody chose rules, what these ask for."""
    found = [(rule, count) for rule in rules if (count := licence_count(rule, facts)) is not None]
    chosen = [each for each in found if each[0].chosen]
    return tuple(_asked(rule, count, facts) for rule, count in chosen or found)


def rule_fits(rule: Rule, facts: LicenceFacts) -> bool:
    """Whether a rule is meant for such a host and run, and what it counts is known."""
    counted = _counted(rule, facts)
    if counted is None or (rule.when != "always" and facts.threads_per_core is None):
        return False
    smt = (facts.threads_per_core or 1) > 1
    each = counted // facts.hosts if rule.per in ("socket", "host") else counted
    return (
        {"always": True, "smt": smt, "no-smt": not smt}[rule.when]
        and (not rule.targets or not facts.names.isdisjoint(rule.targets))
        and (not rule.databases or facts.database in rule.databases)
        and (not rule.editions or not facts.edition or any(each in facts.edition for each in rule.editions))
        and (not rule.places or not facts.place or facts.place in rule.places)
        and (rule.most is None or each <= rule.most)
    )


def licence_count(rule: Licence, facts: LicenceFacts) -> int | None:
    """Whole licences; None where the rule does not fit or the count is not known."""
    factor, counted = _factor(rule, facts), _counted(rule, facts)
    if factor is None or counted is None or not rule_fits(rule, facts):
        return None
    return max(rule.least, math.ceil(counted * factor - 1e-9))


def price_of(rule: Price, facts: LicenceFacts) -> float | None:
    """Money; None where the rule does not fit."""
    counted = _counted(rule, facts)
    return None if counted is None or not rule_fits(rule, facts) else counted * rule.amount


def rule_words(rule: Rule) -> str:
    """A rule in a line, with its source and date."""
    what = ""
    if isinstance(rule, Licence):
        what = plural(rule.factor, rule.unit)
        others = [f"{rule.factor_smt:g} with SMT"] if rule.factor_smt is not None else []
        others += [f"{factor:g} for {part}" for part, factor in rule.models]
        if rule.price is not None:
            others.append(f"{rule.price:,.2f} {rule.currency} each, {percent(rule.support)} of it as support a year")
        what += f" ({', '.join(others)})" if others else ""
    if isinstance(rule, Price):
        what = f"{rule.amount:g} {rule.currency}{f' per {rule.period}' if rule.period else ''}"
    when = {"always": "", "smt": ", with SMT", "no-smt": ", without SMT"}[rule.when]
    most = f", up to {rule.most}" if rule.most is not None else ""
    return f"{rule.name}: {what} per {rule.per}{when}{most} ({rule.source}, {rule.dated.isoformat()})"


def chosen_rule(rules: Sequence[Rule], facts: LicenceFacts) -> Rule | None:
    """Of the rules that somebody chose the first one that fits."""
    return next((rule for rule in rules if rule.chosen and rule_fits(rule, facts)), None)


def _asked(rule: Licence, count: int, facts: LicenceFacts) -> LicenceNeed:
    how = f"{plural(_counted(rule, facts) or 0, rule.per)} x {number(_factor(rule, facts))}"
    how += " of the whole host, whatever the quota" if facts.whole_host else ""
    return LicenceNeed(
        rule.name, float(count), rule.unit, how, rule.applies or "as configured", rule.dated.isoformat(), rule.source
    )


def _counted(rule: Rule, facts: LicenceFacts) -> int | None:
    if rule.per == "host":
        return facts.hosts
    if rule.per == "socket":
        return None if facts.sockets is None else facts.sockets * facts.hosts
    return {"vcpu": facts.vcpus, "core": facts.cores, "ocpu": facts.ocpus}[rule.per]


def not_counted(facts: LicenceFacts) -> str:
    """Why no rule that comes with dbcpu counts licences of this Oracle database, in words; '' where some may."""
    if facts.database != "oracle" or facts.place != "oracle-cloud":
        return ""
    size, ocpus = facts.ocpu_size, facts.ocpus
    known = "its OCPUs or ECPUs are not visible from here"
    if size is not None and ocpus is not None:
        known = f"{plural(facts.vcpus or 0, 'vCPU')} are {plural(ocpus, 'OCPU')} ({size.words})"
    return (
        f"not counted: {known}; how many of them a licence covers in Oracle's cloud depends on service and contract"
        f'{_by_accounts(facts.edition, ocpus)}; a rule with `per = "ocpu"` in dbcpu.toml has yours'
    )


def _by_accounts(edition: str, ocpus: int | None) -> str:
    """What public accounts come to, from the fewest to the most; '' where edition or OCPUs are not known."""
    found = next((each for name, each in OCPU_ACCOUNTS.items() if name in edition), None)
    if found is None or ocpus is None:
        return ""
    covered, unit = found
    counts = sorted({math.ceil(ocpus / each) for each in covered})
    many = plural(counts[0], unit) if len(counts) == 1 else f"{counts[0]} to {plural(counts[-1], unit)}"
    each_covers = f"{', '.join(map(str, covered[:-1]))}{' or ' if covered[:-1] else ''}{covered[-1]}"
    return (
        f": {many}, since public accounts differ ({each_covers} OCPUs each, 2026)"
        if len(covered) > 1
        else (f": {many} by the one public account that was found ({each_covers} OCPUs each, 2026)")
    )


def _factor(rule: Licence, facts: LicenceFacts) -> float | None:
    for part, factor in rule.models:
        if part.lower() in facts.cpu_model.lower():
            return factor
    if rule.factor_smt is None:
        return rule.factor
    if facts.threads_per_core is None:
        return None
    return rule.factor_smt if facts.threads_per_core > 1 else rule.factor
