"""Required vCPUs of each host, and the ranking of the hosts, as sections of a comparison."""

from collections.abc import Callable, Iterator
from itertools import product

from dbcpu.analysis.comparison.cost import break_even, cost
from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing import RANKS, ROUNDED, RankedKind, Sizing
from dbcpu.analysis.comparison.sizing_sentence import IF_TOTAL
from dbcpu.formatting import UNKNOWN, listed, number, plural, rate, short_ranges
from dbcpu.reports.document import Column, Section
from dbcpu.reports.documents.comparing_document import titled_table

WORDS = {"vcpu": "vCPU", "core": "core", "licence": "licence", "money": "unit of money"}
SAME_KIND = (
    "A larger host of the same kind is assumed to have the same throughput per vCPU as the measured one. Sizes are "
    f"rounded up to whole cores; a single number may be below its figure by {100 * ROUNDED:.0f} %, at most a quarter "
    "of a core, as measured rates are not exact to that."
)
HOST = Column("host", "host", kind="name", value=lambda row: row.kind.name)
_WITHIN = Column(
    "within", "interval",
    value=lambda need: need.range_words if need.least is not None else UNKNOWN,
)  # fmt: skip


def sizing_sections(sizing: Sizing) -> tuple[Section, ...]:
    """The sizing, if requested, and the ranking of all hosts."""
    return (*_needs(sizing), _ranking(sizing))


def _needs(sizing: Sizing) -> tuple[Section, ...]:
    if not sizing.needs:
        return ()
    ranges = tuple(_ranges(sizing))
    columns = (
        HOST,
        Column("vcpus", "vCPUs", kind="figure"),
        *([_WITHIN] if ranges else []),
        Column("cores", "cores", kind="figure"),
        Column("licences", "licences", kind="figure"),
        Column("price", "price", kind="figure", value=money),
        *_costs(sizing),
    )
    title = f"Hosts that replace {plural(sizing.busy or 0, 'busy core')} of {sizing.old.name}"
    return (
        titled_table(
            "sizing",
            title,
            columns,
            sizing.needs,
            SAME_KIND,
            *ranges,
            *_cost_words(sizing),
            *_cores(sizing),
            *_rules(sizing),
        ),
    )


def _ranges(sizing: Sizing) -> Iterator[str]:
    """What the row of a host holds whose vCPUs are no one number."""
    few = [need.kind.name for need in sizing.needs if need.by_totals]
    left = [need.kind.name for need in sizing.needs if need.kind.leaves_quota and not need.is_decided]
    shared = [need.kind.name for need in sizing.needs if need.kind.core_throughput is not None]
    undecided = [need.kind.name for need in sizing.needs if not need.is_decided and need.at_equal_shares]
    row = "vCPUs, cores, licences and prices in its row are"
    if undecided:
        yield (
            f"The throughput of {listed(undecided)} is inconclusive: {row} of the ratio as it was measured, and the "
            "interval says how many vCPUs it may be."
        )
    if few:
        yield (f"On {listed(few)} only few sessions get equal shares: {row} right {IF_TOTAL}. Equal shares take more.")
    if left:
        yield (
            f"Sessions with equal shares leave CPUs of the quota of {listed(left)}: {row} those at equal shares. The "
            f"interval begins with the CPUs that are enough {IF_TOTAL}."
        )
    if shared:
        yield (
            f"vCPUs of {listed(shared)} share cores that are not shown, or may share them: {row} those of one session "
            f"on each of these cores. The interval begins with the vCPUs that are enough {IF_TOTAL}."
        )


def _costs(sizing: Sizing) -> tuple[Column, ...]:
    """Money once, in a month and in a year; () where no rule has a price."""
    if not any(map(cost, sizing.needs)):
        return ()

    def of(field: str) -> Callable[[Need], str | None]:
        def shown(need: Need) -> str | None:
            found = cost(need)
            # What is paid once are licences alone: without their price it is not known, and not nothing.
            if found is None or (field == "once" and "licences" in found.without):
                return None
            return f"{getattr(found, field):,.0f} {found.currency}"

        return shown

    return tuple(
        Column(field, heading, kind="figure", value=of(field))
        for field, heading in (("once", "once"), ("per_month", "per month"), ("per_year", "per year"))
    )


def _cost_words(sizing: Sizing) -> tuple[str, ...]:
    known = [(need.kind.name, found) for need in sizing.needs if (found := cost(need))]
    if not known:
        return ()
    without = [f"that of {name} is without {listed(found.without)}, which no rule has a price for"
               for name, found in known if found.without]  # fmt: skip
    words = "Once: licences. Per month and year: the host, all hours of a year, and the support of the licences"
    return (f"{'; '.join([words, *without])}.", *smt_off_words(sizing))


def smt_off_words(sizing: Sizing) -> Iterator[str]:
    """What a licence may cost in a year until SMT off is cheaper than SMT on, or the reverse."""
    known = [need for need in sizing.needs if need.kind.threads and need.is_decided]
    on, off = ([need for need in known if ((need.kind.threads or 1) > 1) is smt] for smt in (True, False))
    for one, other in product(on, off):
        if (found := break_even(one, other)) is None:
            continue
        fewer = min(one, other, key=lambda need: need.licences or 0).kind.name
        if found.per_licence <= 0:
            more = max(one, other, key=lambda need: need.licences or 0).kind.name
            yield f"{fewer} needs fewer licences than {more}, and no more money for the host."
        else:
            yield (
                f"{one.kind.name} (SMT on) and {other.kind.name} (SMT off) cost the same where a licence is "
                f"{found.per_licence:,.0f} {found.currency} a year; above that {fewer} is cheaper."
            )


def _ranking(sizing: Sizing) -> Section:
    columns = (
        HOST,
        Column("fair", "fair N", kind="figure", value=lambda row: row.kind.shown),
        Column("undecided", "inconclusive N",
               value=lambda row: short_ranges(row.kind.undecided_beyond_shown) or UNKNOWN),
        Column("shown_throughput", sizing.unit, rate, kind="figure", unit=sizing.unit,
               value=lambda row: row.kind.shown_throughput),
        Column("per_vcpu", "per vCPU", number, kind="figure"),
        Column("per_core", "per core", number, kind="figure"),
        Column("per_licence", "per licence", number, kind="figure"),
        Column("per_money", "per money", kind="figure", value=_per_money),
    )  # fmt: skip
    note = (
        f"fair N: the largest N up to the vCPUs with max/min <= {sizing.ratio:g} there and at every N below, none of "
        f"them inconclusive. {sizing.unit} is their throughput as delivered, which is not tested. Inconclusive N: "
        "those beyond, whose shares may be equal. The other columns are fair N per vCPU, core, licence and price."
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


def cost_words(need: Need) -> str | None:
    """Money once and per year, licences and support with it; the price of the host alone where no rule has the rest."""
    found = cost(need)
    if found is None or found.without:
        return money(need)
    return f"{found.once:,.0f} {found.currency} once, {found.per_year:,.0f} {found.currency} per year"


def money(need: Need) -> str | None:
    """The price with its currency and period; None without a rule."""
    rule = need.kind.price
    if need.price is None or rule is None:
        return None
    return f"{need.price:,.2f} {rule.currency}{f' per {rule.period}' if rule.period else ''}"


def _per_money(ranked: RankedKind) -> str | None:
    if ranked.per_money is None or ranked.kind.price is None:
        return None
    price = ranked.kind.price
    return f"{ranked.per_money:.3g} per {price.currency}{f' and {price.period}' if price.period else ''}"
