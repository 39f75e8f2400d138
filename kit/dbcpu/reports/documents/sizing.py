"""Required vCPUs of each host, and the ranking of the hosts, as sections of a comparison."""

from dbcpu.analysis.comparison.sizing import RANKS, Need, Ranked, Sizing
from dbcpu.formatting import listed, number, plural, rate
from dbcpu.reports.document import Column, Section
from dbcpu.reports.documents.lines import titled_table

WORDS = {"vcpu": "vCPU", "core": "core", "licence": "licence", "money": "unit of money"}
SAME_KIND = "A larger host of the same kind is assumed to have the same throughput per vCPU as the measured one."
HOST = Column("host", "host", kind="name", value=lambda row: row.kind.name)


def sections(sizing: Sizing) -> tuple[Section, ...]:
    """The sizing, if requested, and the ranking of all hosts."""
    return (*_needs(sizing), _ranking(sizing))


def _needs(sizing: Sizing) -> tuple[Section, ...]:
    if not sizing.needs:
        return ()
    columns = (
        HOST,
        Column("vcpus", "vCPUs", kind="figure"),
        Column("cores", "cores", kind="figure"),
        Column("licences", "licences", kind="figure"),
        Column("price", "price", kind="figure", value=money),
    )
    title = f"Hosts that replace {plural(sizing.busy or 0, 'busy core')} of {sizing.old.name}"
    return (titled_table("sizing", title, columns, sizing.needs, SAME_KIND, *_cores(sizing), *_rules(sizing)),)


def _ranking(sizing: Sizing) -> Section:
    columns = (
        HOST,
        Column("fair", "fair N", kind="figure", value=lambda row: row.kind.fair),
        Column("fair_throughput", "Mrows/s", rate, kind="figure", unit="Mrows/s",
               value=lambda row: row.kind.fair_throughput),
        Column("per_vcpu", "per vCPU", number, kind="figure"),
        Column("per_core", "per core", number, kind="figure"),
        Column("per_licence", "per licence", number, kind="figure"),
        Column("per_money", "per money", kind="figure", value=_per_money),
    )  # fmt: skip
    note = (
        f"fair N: the largest N up to the vCPUs with max/min <= {sizing.ratio:g} there and at every N below; Mrows/s "
        "is their throughput; the other columns are fair N per vCPU, core, licence and price."
    )
    rules = () if sizing.needs else (*_cores(sizing), *_rules(sizing))
    title = "Ranking by sessions with even times"
    return titled_table("ranking", title, columns, sizing.ranking, note, *_best(sizing), *rules)


def _best(sizing: Sizing) -> tuple[str, ...]:
    """The leading host of each order: the table shows only one."""
    if len(sizing.ranking) < 3:
        return ()
    leaders = []
    for by in RANKS:
        known = [
            (value, each.kind.name) for each in sizing.ranking if (value := getattr(each, f"per_{by}")) is not None
        ]
        if known:
            most = max(value for value, _ in known)
            first = [name for value, name in known if value == most]
            leaders.append(f"per {WORDS[by]} {'all equal' if len(first) == len(sizing.ranking) else listed(first)}")
    return (f"Most sessions {'; '.join(leaders)}.",)


def _cores(sizing: Sizing) -> tuple[str, ...]:
    """Where cores are from, if not from the host itself, and what is unknown."""
    kinds = [each.kind for each in sizing.ranking if each.kind.cores_from]
    found = (
        f"{each.name}: {plural(each.vcpus, 'vCPU')} on {plural(each.cores or 0, 'core')} {each.cores_from}."
        for each in kinds
    )
    return (*found, *sizing.unknown)


def _rules(sizing: Sizing) -> tuple[str, ...]:
    idle = tuple(f"Rule {each} applies to none of these hosts." for each in sizing.idle)
    if not sizing.rules:
        return (
            "Licences need a rule (`--licence`, or in `dbcpu.toml`), prices a rule in `dbcpu.toml`: see "
            "docs/configuration.md.",
            *idle,
        )
    return (
        *(f"Rule {each}." for each in sizing.rules),
        *idle,
        f"{sizing.disclaimer[0].upper()}{sizing.disclaimer[1:]}.",
    )


def money(need: Need) -> str | None:
    """The price with its currency and period; None without a rule."""
    rule = need.kind.price
    if need.price is None or rule is None:
        return None
    return f"{need.price:,.2f} {rule.currency}{f' per {rule.period}' if rule.period else ''}"


def _per_money(ranked: Ranked) -> str | None:
    if ranked.per_money is None or ranked.kind.price is None:
        return None
    return f"{ranked.per_money:.3g} per {ranked.kind.price.currency}"
