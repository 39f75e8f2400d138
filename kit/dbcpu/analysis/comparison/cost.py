"""What a needed host costs in a month and a year, by dated rules: its price, licences, and their support. Pure.

An hour is 1/8760 of a year, a month 1/12 of one.
"""

from msgspec import Struct

from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.config.rules import PERIODS


class Cost(Struct, frozen=True):
    """Money of one currency. ``once`` buys licences; ``per_year`` is the host and the support of licences.

    ``without`` names what no rule has a price for.
    """

    currency: str
    once: float
    per_year: float
    without: tuple[str, ...] = ()

    @property
    def per_month(self) -> float:
        return self.per_year / 12


def cost(need: Need) -> Cost | None:
    """None where no rule has a price, where prices are in several currencies, or a price has no period."""
    price, licence = need.kind.price, need.kind.licence
    currencies, once, per_year, without = set(), 0.0, 0.0, []
    if need.price is not None and price is not None:
        if (host := _host_per_year(need)) is None:
            return None
        currencies.add(price.currency)
        per_year += host
    else:
        without.append("the host")
    if need.licences is not None and licence is not None and licence.price is not None:
        currencies.add(licence.currency)
        once = need.licences * licence.price
        per_year += once * licence.support
    else:
        without.append("licences")
    return Cost(currencies.pop(), once, per_year, tuple(without)) if len(currencies) == 1 else None


class BreakEven(Struct, frozen=True):
    """``per_licence``: money of one licence in a year at which two needs cost the same; 0 or less: there is none."""

    per_licence: float
    currency: str


def break_even(one: Need, other: Need) -> BreakEven | None:
    """None without the price of both hosts in one currency, or with as many licences (of one kind) on both."""
    prices = [each.kind.price for each in (one, other)]
    hosts = [_host_per_year(each) for each in (one, other)]
    counts = [each.licences for each in (one, other)]
    units = {each.kind.licence.unit for each in (one, other) if each.kind.licence}
    if None in hosts or None in counts or counts[0] == counts[1] or len(units) > 1:
        return None
    currencies = {price.currency for price in prices if price}
    if len(currencies) > 1:
        return None
    (host, its), (licences, of_its) = hosts, counts
    return BreakEven(((its or 0.0) - (host or 0.0)) / ((licences or 0) - (of_its or 0)), currencies.pop())


def _host_per_year(need: Need) -> float | None:
    price = need.kind.price
    if need.price is None or price is None or price.period not in PERIODS:
        return None
    return need.price * PERIODS[price.period]
