"""Each old host to its new shape, and the sums: what ``comparison.sizing`` says of one, over an inventory. Pure.

The busy cores of a host are those of its tag ``busy``, else all of its cores: more than it needs where it idles.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.cost import cost
from dbcpu.analysis.comparison.host_kind import FAIR, facts_of_run, kind_of
from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing import size, unmeasured_words
from dbcpu.analysis.comparison.sizing_sentence import IF_TOTAL
from dbcpu.analysis.fleet.hosts import BUSY, FleetMember, whole
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Capacity, Scaling, TopologyCheck
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.config.rules import SizingRules
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number, plural
from dbcpu.record.figures import RunFigures
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord

Measured = tuple[str, Header, RunFigures]
"""Name, header and figures of a run."""


class Sized(Struct, frozen=True):
    """What the work of ``busy`` cores of a host takes of each shape; ``assumed``: all of its cores, for no tag says."""

    host: str
    busy: int
    assumed: bool
    needs: tuple[Need, ...]


class Total(Struct, frozen=True):
    """Over all hosts that were sized, on one shape. None where some of them have no rule. ``min_vcpus``: by total
    throughput where vCPUs of a shape share cores unseen, else as many. ``at_least``: it serves few sessions at equal
    shares, and all is by total throughput.

    ``per_year`` and ``once`` in ``currency``: None where a price lacks.
    """

    shape: str
    hosts: int
    vcpus: int
    min_vcpus: int
    at_least: bool
    licences: int | None
    unit: str
    per_year: float | None
    once: float | None
    currency: str


class FleetSizing(Struct, frozen=True):
    """``left_out``: (host, why)."""

    rows: tuple[Sized, ...]
    totals: tuple[Total, ...]
    left_out: tuple[tuple[str, str], ...]
    rules: tuple[str, ...] = ()
    disclaimer: str = ""
    unknown: tuple[str, ...] = ()


def fleet_sizing(members: Sequence[FleetMember], shapes: Sequence[Measured], rules: SizingRules) -> FleetSizing:
    """Size every member with a whole run on each of the ``shapes``; needs at least one.

    Raises UsageError where the levels of no shape say what it can do; where some do not, ``unknown`` names these.
    """
    wide = [_as_run(*each) for each in shapes]
    not_sized = unmeasured_words([kind_of(each, facts_of_run(each), rules, FAIR) for each in wide])
    wide = [each for each in wide if each[0] not in not_sized]
    rows: list[Sized] = []
    left_out: list[tuple[str, str]] = []
    words: dict[str, None] = {}
    unknown: dict[str, None] = dict.fromkeys(not_sized.values())
    disclaimer = ""
    for each in members:
        if not each.runs:
            continue
        header, figures = each.runs[-1]
        try:
            busy, assumed = _busy(each, figures)
            found = size([_as_run(each.name, header, figures), *wide], rules, busy, FAIR, "vcpu")
        except UsageError as error:
            left_out.append((each.name, str(error)))
            continue
        rows.append(Sized(each.name, busy, assumed, found.needs))
        words |= dict.fromkeys(found.rules)
        unknown |= dict.fromkeys(said for said in found.unknown if any(said.startswith(name) for name, *_ in wide))
        unknown |= dict.fromkeys(filter(None, map(_basis, found.needs)))
        disclaimer = found.disclaimer or disclaimer
    totals = tuple(_total([row.needs[at] for row in rows], name) for at, (name, *_) in enumerate(wide)) if rows else ()
    return FleetSizing(tuple(rows), totals, tuple(left_out), tuple(words), disclaimer, tuple(unknown))


def _basis(need: Need) -> str:
    """What sizes on it rest on where few sessions are served fairly, or vCPUs share cores unseen; '' otherwise."""
    kind = need.kind
    if need.by_totals:
        return (
            f"{kind.name}: shares {kind.equal_words} on its {kind.cpus_words}; sizes are right "
            f"{IF_TOTAL}. Equal shares take more."
        )
    if kind.leaves_quota:
        return (
            f"{kind.name}: shares {kind.equal_words} on its {kind.cpus_words}: sizes are from what is enough "
            f"{IF_TOTAL}, to equal shares, if a larger quota comes with as many more cores."
        )
    if kind.core_throughput is not None:
        cores = f"scales like {kind.like_cores} cores" if kind.like_cores else f"may have {kind.vcpus // 2} cores"
        return (
            f"{kind.name} {cores} behind its {plural(kind.vcpus, 'vCPU')}: sizes are from what is enough "
            f"{IF_TOTAL}, to one session on each of these cores."
        )
    return ""


def _busy(member: FleetMember, figures: RunFigures) -> tuple[int, bool]:
    given = member.tags.get(BUSY)
    if given is None:
        cores = figures.value("cores") or figures.value("vcpus")
        if not cores:
            raise UsageError(f"neither its cores nor a tag {BUSY!r} are known")
        return int(cores), True
    if (busy := as_whole_number(given, 1)) is None:
        raise UsageError(f"its tag {BUSY}={given[:40]!r} is no whole number of cores")
    return busy, False


def _total(needs: Sequence[Need], shape: str) -> Total:
    costs = [cost(each) for each in needs]
    licences = [each.licences for each in needs]
    known = [each for each in costs if each is not None]
    priced = len(known) == len(costs) and all("the host" not in each.without for each in known)
    bought = len(known) == len(costs) and all("licences" not in each.without for each in known)
    unit = next((each.kind.licence.unit for each in needs if each.kind.licence), "")
    return Total(
        shape=shape,
        hosts=len(needs),
        vcpus=sum(each.vcpus for each in needs),
        min_vcpus=sum(each.least or each.vcpus for each in needs),
        at_least=any(each.by_totals for each in needs),
        licences=None if None in licences else sum(each or 0 for each in licences),
        unit=unit,
        per_year=sum(each.per_year for each in known) if priced else None,
        once=sum(each.once for each in known) if bought else None,
        currency=known[0].currency if known else "",
    )


def _as_run(name: str, header: Header, figures: RunFigures) -> tuple[str, RunRecord, Analysis]:
    """What sizing reads of a run, from its figures: levels of its first variant, vCPUs and cores."""
    variant = figures.text("variant")
    levels = tuple(_view(figures, level, variant) for level in figures.levels(variant))
    if not levels:
        raise UsageError(f"{name}: no level was measured; sizing needs a complete run")
    vcpus, cores = (whole(figures.value(each)) for each in ("vcpus", "cores"))
    like = figures.value("scales_like_cores")
    agrees = figures.text("scales_like_cores")
    check = TopologyCheck(agrees, cores, vcpus, like, "") if vcpus and agrees else None
    analysis = Analysis(
        header.run_id, "", None, levels, (), Scaling((), None, None), (), vcpus=vcpus, cores=cores, topology=check
    )
    peak = figures.value("peak_mrows_per_s")
    if peak:
        analysis = replace(analysis, capacity=Capacity(None, False, None, None, None, peak, None, None, None))
    return name, RunRecord(header, ()), analysis


def _view(figures: RunFigures, level: int, variant: str) -> LevelView:
    """What sizing reads of a level; the rest is None."""
    uneven = figures.value("max_over_min_x", level, variant)
    even = figures.text("even", level, variant)
    return LevelView(
        level=level, variant=variant, rounds=1, sessions=level, regime="",
        median_s=figures.value("elapsed_s", level, variant),
        max_over_min=uneven,
        throughput=figures.value("throughput_mrows_per_s", level, variant),
        even=Answer(even) if even in set(Answer) else Answer.UNDECIDED,
        shares_known=uneven is not None or level == 1,
        main_cause=Cause.of(figures.text("main_cause", level, variant)) or Cause.NONE,
        slowdown_median=None, slowdown_max=None, cv=None, slow=None, gap_ratio=None, makespan_throughput=None,
        ideal_throughput=None, mrows_per_s=None, connect_median_s=None, connect_max_s=None, skew_s=None,
        server_start_spread_s=None,
    )  # fmt: skip
