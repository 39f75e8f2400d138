"""The sizing answer and the ranking as sections of a sheet."""

from dataclasses import asdict
from typing import Any

from dbcpu.analysis.sizing import Ranked, Sizing
from dbcpu.comparisons.base import Section
from dbcpu.wording import UNKNOWN, number


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
            number(each.per_vcpu),
            number(each.per_core),
            number(each.per_licence),
            _per_money(each),
        )
        for each in sizing.ranking
    )
    columns = ("host", "fair N", "per vCPU", "per core", "per licence", "per money")
    note = f"fair N: the largest N up to the vCPUs with max/min <= {sizing.ratio:g} there and at every N below."
    notes = (note,) if sizing.needs else (note, *_rules(sizing))
    return Section("Ranking: sessions with even speed", columns, rows, notes, words=("host",))


def _rules(sizing: Sizing) -> tuple[str, ...]:
    if not sizing.rules:
        return ("Licences and price need rules in dbcpu.toml; docs/configuration.md shows their form.",)
    return (*(f"Rule {each}." for each in sizing.rules), f"{sizing.disclaimer[0].upper()}{sizing.disclaimer[1:]}.")


def _money(amount: float | None, currency: str, rule: Any) -> str:
    if amount is None or rule is None:
        return UNKNOWN
    return f"{amount:,.2f} {currency}{f' per {rule.period}' if rule.period else ''}"


def _per_money(each: Ranked) -> str:
    if each.per_money is None or each.kind.price is None:
        return UNKNOWN
    return f"{each.per_money:.2f} per {each.kind.price.currency}"
