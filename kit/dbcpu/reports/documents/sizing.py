"""The sizing answer and the ranking as sections of a sheet."""

from dataclasses import asdict
from typing import Any

from dbcpu.analysis.comparison.sizing import RANKS, Ranked, Sizing
from dbcpu.formatting import UNKNOWN, listed, number, rate
from dbcpu.reports.document import Section

WORDS = {"vcpu": "vCPU", "core": "core", "licence": "licence", "money": "unit of money"}


def sections(sizing: Sizing) -> tuple[Section, ...]:
    """Needs (if asked for) and the ranking of all hosts."""
    return (*_needs(sizing), _ranking(sizing))


def data(sizing: Sizing) -> dict[str, Any]:
    """The same as plain data."""
    return {"sizing": asdict(sizing)}


def _needs(sizing: Sizing) -> tuple[Section, ...]:
    if not sizing.needs:
        return ()
    rows = tuple(
        (
            each.kind.name,
            str(each.vcpus),
            str(each.cores),
            UNKNOWN if each.licences is None else str(each.licences),
            _money(each.price, each.kind.price.currency if each.kind.price else "", each.kind.price),
        )
        for each in sizing.needs
    )
    title = f"What {sizing.busy} busy cores of {sizing.old.name} take"
    notes = (
        "A larger host of the same kind is taken to give as much per vCPU as the measured one.",
        *_rules(sizing),
    )
    return (Section(title, ("host", "vCPUs", "cores", "licences", "price"), rows, notes, words=("host",)),)


def _ranking(sizing: Sizing) -> Section:
    rows = tuple(
        (
            each.kind.name,
            str(each.kind.fair),
            rate(each.kind.fair_throughput),
            number(each.per_vcpu),
            number(each.per_core),
            number(each.per_licence),
            _per_money(each),
        )
        for each in sizing.ranking
    )
    columns = ("host", "fair N", "Mrows/s", "per vCPU", "per core", "per licence", "per money")
    note = (
        f"fair N: the largest N up to the vCPUs with max/min <= {sizing.ratio:g} there and at every N below; Mrows/s "
        "is what they get done together, the rest is fair N per counted thing."
    )
    notes = (note, *_best(sizing)) if sizing.needs else (note, *_best(sizing), *_rules(sizing))
    return Section("Ranking: sessions with even speed", columns, rows, notes, words=("host",))


def _best(sizing: Sizing) -> tuple[str, ...]:
    """Which host leads by what: with many of them the table shows only one order."""
    if len(sizing.ranking) < 3:
        return ()
    told = []
    for by in RANKS:
        known = [
            (value, each.kind.name) for each in sizing.ranking if (value := getattr(each, f"per_{by}")) is not None
        ]
        if known:
            most = max(value for value, _ in known)
            first = [name for value, name in known if value == most]
            told.append(f"per {WORDS[by]} {'all alike' if len(first) == len(sizing.ranking) else listed(first)}")
    return (f"Most sessions {'; '.join(told)}.",)


def _rules(sizing: Sizing) -> tuple[str, ...]:
    idle = tuple(f"No host here is one for rule {each}." for each in sizing.idle)
    if not sizing.rules:
        return (
            "Licences: name a rule by --licence or in dbcpu.toml; prices need a rule in dbcpu.toml. "
            "docs/configuration.md shows both.",
            *idle,
        )
    return (
        *(f"Rule {each}." for each in sizing.rules),
        *idle,
        f"{sizing.disclaimer[0].upper()}{sizing.disclaimer[1:]}.",
    )


def _money(amount: float | None, currency: str, rule: Any) -> str:
    if amount is None or rule is None:
        return UNKNOWN
    return f"{amount:,.2f} {currency}{f' per {rule.period}' if rule.period else ''}"


def _per_money(each: Ranked) -> str:
    if each.per_money is None or each.kind.price is None:
        return UNKNOWN
    return f"{each.per_money:.3g} per {each.kind.price.currency}"
