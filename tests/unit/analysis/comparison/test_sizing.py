"""So many busy cores there are so many vCPUs here, with licences and price by dated rules."""

from collections.abc import Sequence
from datetime import date
from functools import cache

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.cost import break_even, cost
from dbcpu.analysis.comparison.host_kind import cores_behind, fair_level
from dbcpu.analysis.comparison.needed_host import Need
from dbcpu.analysis.comparison.sizing import Sizing, size
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.comparison import LESS, NOT_MEASURED, NOT_SHOWN, THROUGHPUT, TOO_FEW, Decision
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.rulebook import choose, shipped
from dbcpu.config.rules import Licence, Price, SizingRules
from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.sizing import cost_words, sizing_sections
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.comparison import noisy_run

DAY = date(2026, 1, 15)
SMT = Licence("cloud with SMT", "vcpu", DAY, "policy page", when="smt", factor=0.5)
NO_SMT = Licence("cloud without SMT", "vcpu", DAY, "policy page", when="no-smt", factor=1.0)
PRICE = Price("shape", "vcpu", DAY, "price list", amount=0.05, currency="EUR", period="hour")
RULES = SizingRules((SMT, NO_SMT), (PRICE,))


@cache
def old_box() -> RunRecord:
    return noisy_run(1, levels=(1, 2, 4, 8, 12), cores=12, threads=1, noise=0.001)


@cache
def with_smt() -> RunRecord:
    return noisy_run(2, levels=(1, 2, 4, 5, 6, 8), cores=4, threads=2, uneven=1.5, noise=0.001)


@cache
def without_smt(speed: float = 1.0) -> RunRecord:
    return noisy_run(3, levels=(1, 2, 4), cores=4, threads=1, speed=speed, noise=0.001)


KNOWN: dict[int, tuple[RunRecord, Analysis]] = {}
"""By the identity of a run, with the run: another one would get its identity."""


def explained(run: RunRecord) -> Analysis:
    """Once, for most runs stand beside the same old box."""
    if id(run) not in KNOWN:
        KNOWN[id(run)] = run, explain(run)
    return KNOWN[id(run)][1]


def sized(*runs: tuple[str, RunRecord], rules: SizingRules = RULES, busy: int | None = 12) -> Sizing:
    return size([(name, run, explained(run)) for name, run in runs], rules, busy)


def test_twelve_busy_cores_are_twenty_four_vcpus_with_smt_or_thirteen_without() -> None:
    found = sized(("old", old_box()), ("smt", with_smt()), ("no smt", without_smt(speed=0.96)))
    smt, bare = found.needs
    assert (smt.vcpus, smt.cores, smt.licences) == (24, 12, 12)
    assert (bare.vcpus, bare.cores, bare.licences) == (13, 13, 13)
    assert smt.price == pytest.approx(24 * 0.05)
    assert found.sentence == (
        "12 busy cores of old are 24 vCPUs of smt (2 threads per core, 12 licences, 1.20 EUR per hour) or "
        "13 vCPUs of no smt (one thread per core, 13 licences, 0.65 EUR per hour), at max/min <= 1.1. "
        f"If only the total throughput counts, not the speed of each session, this work takes "
        f"{smt.total_vcpus} vCPUs of smt."
    )
    assert 16 <= smt.total_vcpus <= 23


HIDDEN = SimulatedHost(cores=4, hidden_smt=True, smt_yield=0.3)


@cache
def simulated_box() -> RunRecord:
    return simulate(SimulatedHost(cores=12, threads=1), (1, 4, 8, 12), repeats=6, seed=11)


@cache
def simulated(host: SimulatedHost, levels: tuple[int, ...], seed: int) -> RunRecord:
    return simulate(host, levels, repeats=6, seed=seed)


def range_of(host: SimulatedHost, levels: Sequence[int], seed: int) -> Need:
    (need,) = sized(("old", simulated_box()), ("new", simulated(host, tuple(levels), seed))).needs
    return need


@pytest.mark.parametrize("seed", [3, 21, 22])
@pytest.mark.parametrize("levels", [range(1, 9), range(1, 17), (1, 8), (1, 4, 8), (1, 2, 3, 8)])
def test_cores_that_are_shared_unseen_give_one_range_whatever_was_measured(levels: Sequence[int], seed: int) -> None:
    """From total throughput to one session on each core: 24 vCPUs, as on the same host with its siblings shown.

    Both in whole cores: nine do 11.7 times what one session does.
    """
    need = range_of(HIDDEN, levels, seed)
    assert need.least in (18, 20)
    assert (need.most, need.is_decided) == (24, False)
    shown = range_of(SimulatedHost(cores=4, threads=2, smt_yield=0.3), range(1, 9), seed)
    assert (shown.vcpus, shown.least) == (24, None)
    assert shown.total_vcpus in (18, 20)


def test_a_range_says_whether_shared_cores_are_seen_or_possible() -> None:
    def sentence(levels: Sequence[int]) -> str:
        hidden = simulated(HIDDEN, tuple(levels), 3)
        return sized(("old", simulated_box()), ("new", hidden), rules=SizingRules((), ())).sentence

    seen, possible = sentence(range(1, 9)), sentence((1, 8))
    assert seen.startswith("Inconclusive: 12 busy cores of old are 20 to 24 vCPUs of new (it shows one thread per")
    assert (
        "new scales like 4 of the 8 cores that it shows, and chance decides which sessions share one: with one" in seen
    )
    assert "All sessions of new are slow at N=8, and its vCPUs may share 4 cores unseen" in possible
    assert possible.endswith("Measure new with `--sessions auto`, which shows it.")


def test_turbo_that_every_level_shows_is_no_shared_core() -> None:
    need = range_of(SimulatedHost(cores=8, threads=1, turbo_slope=0.2), range(1, 9), 5)
    assert need.is_decided and need.vcpus == 15


def test_each_host_has_the_answer_that_is_its_own() -> None:
    """Steal: two sessions are equal as measured, which is undecided. The names have a word of the sentence in them."""
    stolen = simulate(SimulatedHost(cores=8, threads=1, steal=0.2), tuple(range(1, 9)), repeats=6, seed=1)
    plain = simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4), repeats=6, seed=1)
    runs = ("old", simulated_box()), ("r and d", plain), ("bed and bath", stolen)
    said = sized(*runs, rules=SizingRules((), ())).sentence
    assert said.startswith(
        "12 busy cores of old are 12 vCPUs of r and d (one thread per core), at max/min <= 1.1. Inconclusive: they are "
        "at least 15 vCPUs of bed and bath (one thread per core). Shares of bed and bath are shown to be equal only up "
        "to 1 session (inconclusive at N=2) on its 8 vCPUs"
    )


def test_where_few_sessions_are_served_fairly_the_answer_is_at_least_the_total() -> None:
    stolen = simulated(SimulatedHost(cores=8, threads=1, steal=0.3), tuple(range(1, 9)), 3)
    found = sized(("old", simulated_box()), ("new", stolen), rules=SizingRules((), ()))
    (need,) = found.needs
    assert need.kind.few_are_fair and need.most is None and not need.is_decided
    assert need.vcpus == need.total_vcpus
    assert found.sentence.startswith(f"Inconclusive: 12 busy cores of old are at least {need.least} vCPUs of new")
    assert (
        "the number is right if only the total throughput counts, not the speed of each session. How many"
        in found.sentence
    )


HYBRID = SimulatedHost("hybrid", cores=8, threads=1, efficiency_cores=4, efficiency_speed=0.6, noise=0.002)


@pytest.mark.parametrize("busy", [3, 4])
def test_measured_sessions_that_are_enough_at_equal_shares_are_an_answer(busy: int) -> None:
    """Half of the cores are slower: four sessions are equal, five are not."""
    runs = ("old", simulated_box()), ("new", simulated(HYBRID, tuple(range(1, 9)), 3))
    found = sized(*runs, busy=busy, rules=SizingRules((), ()))
    (need,) = found.needs
    assert need.kind.few_are_fair and need.is_decided and need.vcpus == need.least == need.most == 8
    assert found.sentence.startswith(
        f"{busy} busy cores of old are 8 vCPUs of new (one thread per core), at max/min <= 1.1. new is enough as it "
        "was measured: 4 sessions on its 8 vCPUs do this work at equal shares."
    )
    assert (
        f"if only the total throughput counts, not the speed of each session, {need.total_vcpus} vCPUs do it"
        in found.sentence
    )
    assert need.total_vcpus < 8


def test_more_work_than_the_fair_sessions_do_is_not_answered_by_them() -> None:
    runs = ("old", simulated_box()), ("new", simulated(HYBRID, tuple(range(1, 9)), 3))
    found = sized(*runs, busy=5, rules=SizingRules((), ()))
    assert not found.needs[0].is_decided
    assert found.sentence.startswith("Inconclusive: 5 busy cores of old are at least 7 vCPUs of new")


def test_sessions_that_another_day_may_disturb_are_no_answer() -> None:
    stolen = simulated(SimulatedHost(cores=8, threads=1, steal=0.3), tuple(range(1, 9)), 3)
    (need,) = sized(("old", simulated_box()), ("new", stolen), busy=1, rules=SizingRules((), ())).needs
    assert need.kind.few_are_fair and not need.as_measured


def test_threads_that_are_as_fast_as_cores_count_also_without_a_level_between() -> None:
    host = SimulatedHost(cores=4, threads=2, smt_yield=1.0)
    assert range_of(host, (1, 4, 8), 44).vcpus == range_of(host, range(1, 9), 44).vcpus == 12


def test_a_quota_that_is_not_whole_is_counted_as_it_is() -> None:
    need = range_of(SimulatedHost(cores=8, threads=1, quota_cpus=3.5), (1, 2, 3, 4, 8), 31)
    assert need.vcpus_words == "12 CPUs of quota"


def test_many_cores_are_not_rounded_down_by_a_part_in_a_hundred() -> None:
    host = SimulatedHost(cores=4, threads=2)
    runs = [(name, simulate(host, (1, 2, 4, 5, 8), repeats=6, seed=seed)) for name, seed in (("a", 51), ("b", 52))]
    (need,) = sized(*runs, busy=1000).needs
    assert abs(need.vcpus / 2000 - 1) < 0.006


def test_even_again_with_two_on_every_core_is_not_fair_whatever_was_left_out() -> None:
    host = SimulatedHost(cores=4, threads=2, smt_yield=0.3)
    sizes = []
    for levels in ((1, 2, 4, 5, 6, 7, 8), (1, 4, 8)):
        found = sized(("old", old_box()), ("new", simulate(host, levels, repeats=6, seed=1)), rules=SizingRules((), ()))
        sizes.append((found.needs[0].kind.fair, found.needs[0].is_decided))
    assert sizes == [(4, True)] * 2
    with pytest.raises(UsageError, match="new was not measured between N=1 and its cores"):
        sized(("old", old_box()), ("new", simulate(host, (1, 8), repeats=6, seed=1)))


def test_money_is_that_of_the_host_the_licences_and_their_support() -> None:
    priced = [replace(rule, price=1000.0, currency="EUR", support=0.2) for rule in (SMT, NO_SMT)]
    (need,) = sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules(tuple(priced), (PRICE,))).needs
    found = cost(need)
    assert found is not None
    assert (found.once, found.without) == (12_000.0, ())
    assert found.per_year == pytest.approx(1.2 * 8760 + 12_000 * 0.2)
    assert found.per_month == pytest.approx(found.per_year / 12)
    assert cost_words(need) == "12,000 EUR once, 12,912 EUR per year", "what the first screen says"
    (host_only,) = sized(("old", old_box()), ("smt", with_smt())).needs
    without = cost(host_only)
    assert without is not None
    assert (without.once, without.without) == (0.0, ("licences",))
    assert without.per_year == pytest.approx(1.2 * 8760)
    assert cost_words(host_only) == "1.20 EUR per hour"


@pytest.mark.parametrize("price", [replace(PRICE, period="lease"), replace(PRICE, currency="USD")])
def test_money_that_cannot_be_added_up_is_not_shown(price: Price) -> None:
    priced = replace(SMT, price=1000.0, currency="EUR")
    (need,) = sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules((priced,), (price,))).needs
    assert cost(need) is None


def test_smt_on_and_off_break_even_at_a_price_of_a_licence() -> None:
    """On: 12 licences, 1.20 EUR an hour. Off: 13 licences, 0.65 EUR an hour."""
    on, off = sized(("old", old_box()), ("smt", with_smt()), ("no smt", without_smt(speed=0.96))).needs
    found = break_even(on, off)
    assert found is not None
    assert found.per_licence == pytest.approx(0.55 * 8760)
    assert found.currency == "EUR"
    assert break_even(on, replace(off, licences=12)) is None
    runs = ("old", old_box()), ("smt", with_smt()), ("no smt", without_smt(speed=0.96))
    (needs, *_) = sizing_sections(sized(*runs))
    even = "smt (SMT on) and no smt (SMT off) cost the same where a licence is 4,818 EUR a year; "
    assert f"{even}above that smt is cheaper." in needs.tables[0].notes
    cheaper = sized(*runs, rules=replace(RULES, prices=(replace(PRICE, amount=0.01, when="smt"), PRICE)))
    (needs, *_) = sizing_sections(cheaper)
    assert "smt needs fewer licences than no smt, and no more money for the host." in needs.tables[0].notes


def test_a_faster_host_needs_less() -> None:
    assert sized(("old", old_box()), ("new", without_smt(speed=1.5))).needs[0].vcpus == 8


def test_rules_and_disclaimer_stand_beside_the_answer_and_without_rules_nothing_is_claimed() -> None:
    found = sized(("old", old_box()), ("smt", with_smt()))
    assert "cloud with SMT: 0.5 licences per vcpu, with SMT (policy page, 2026-01-15)" in found.rules
    assert "legal advice" in found.disclaimer
    bare = sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules())
    assert (bare.needs[0].licences, bare.needs[0].price, bare.rules, bare.disclaimer) == (None, None, (), "")
    assert "licence" not in bare.sentence


def test_a_rule_for_other_targets_is_not_used() -> None:
    elsewhere = Licence("elsewhere", "core", DAY, "contract", targets=("other",), factor=9.0)
    found = sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules((elsewhere, SMT)))
    assert found.needs[0].kind.licence == SMT


def test_least_and_sockets_are_honoured() -> None:
    few = Licence("sockets", "socket", DAY, "contract", factor=1.0, least=4)
    assert sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules((few,))).needs[0].licences == 4


def test_beyond_what_was_measured_the_old_cores_count_in_proportion() -> None:
    twice = sized(("old", old_box()), ("new", without_smt()), busy=24).needs[0]
    assert twice.vcpus == 24


def test_the_fair_level_ends_at_the_first_uneven_one_even_if_a_later_one_is_even() -> None:
    levels = explain(with_smt()).levels
    best, _ = fair_level(levels, 1.1, 8)
    assert best is not None and best.level == 4
    loose, _ = fair_level(levels, 1.6, 8)
    assert loose is not None and loose.level == 8


def test_ranking_is_by_licence_then_by_vcpu() -> None:
    found = sized(("old", old_box()), ("smt", with_smt()), ("no smt", without_smt()), busy=None)
    assert found.needs == () and found.sentence == ""
    per = {each.kind.name: (each.per_vcpu, each.per_core, each.per_licence) for each in found.ranking}
    assert per["smt"] == (0.5, 1.0, 1.0)
    assert per["no smt"] == (1.0, 1.0, 1.0)
    assert [each.kind.name for each in found.ranking][-1] == "smt"


def test_without_levels_up_to_the_cores_nothing_is_sized() -> None:
    with pytest.raises(UsageError, match="no level has a throughput"):
        sized(("old", RunRecord(old_box().header, ())), ("new", without_smt()))


def test_ranking_by_any_count_puts_hosts_without_a_figure_last() -> None:
    runs = [("old", old_box()), ("smt", with_smt()), ("no smt", without_smt())]
    explained = [(name, run, explain(run)) for name, run in runs]
    dear = replace(PRICE, amount=0.5, targets=("no smt",))
    prices = SizingRules((), (dear, replace(PRICE, targets=("smt",))))
    found = size(explained, prices, rank_by="money")
    assert [each.kind.name for each in found.ranking] == ["smt", "no smt", "old"]
    assert [each.kind.name for each in size(explained, prices, rank_by="vcpu").ranking][-1] == "smt"
    with pytest.raises(UsageError, match="no host has a rule to count licence by"):
        size(explained, prices, rank_by="licence")
    mixed = SizingRules((), (replace(dear, currency="USD"), PRICE))
    with pytest.raises(UsageError, match="prices are in EUR per hour and USD per hour"):
        size(explained, mixed, rank_by="money")


def test_a_shipped_rule_counts_once_somebody_asks_for_it() -> None:
    runs = [("old", old_box()), ("smt", with_smt()), ("no smt", without_smt())]
    explained = [(name, run, explain(run)) for name, run in runs]
    assert [each.licences for each in size(explained, SizingRules(shipped()), 12).needs] == [None, None]
    chosen = SizingRules(choose(shipped(), ["oracle-cloud-ee", "no smt=oracle-on-premises-ee"]))
    smt, bare = size(explained, chosen, 12).needs
    assert (smt.licences, bare.licences) == (12, 6)
    small = size(explained, SizingRules(choose(shipped(), ["oracle-cloud-se2"])), 12)
    assert [each.licences for each in small.needs] == [None, None], "24 and 12 vCPUs are more than SE2 may have"
    assert "processor licences" in size(explained, chosen, 12).sentence


def test_a_rule_that_fits_no_host_is_told() -> None:
    found = sized(("old", old_box()), ("smt", with_smt()), rules=SizingRules((replace(SMT, most=1),)))
    assert [each.partition(":")[0] for each in found.idle] == ["cloud with SMT"]


def managed(run: RunRecord, vcpus: int = 8, cores: int | None = None) -> RunRecord:
    """As if its host could not be looked at."""
    header = run.header
    plan = replace(header.plan, vcpus=vcpus, cores=cores)
    bare = tuple(
        replace(each, cpu_timeline=(), timeline_s=(), sessions=tuple(replace(s, residency=()) for s in each.sessions))
        for each in run.rounds
    )
    return replace(run, header=replace(header, host=None, plan=plan), rounds=bare)


def test_a_managed_database_is_sized_with_the_cores_that_were_given() -> None:
    found = sized(("old", old_box()), ("cloud", managed(with_smt(), cores=4)))
    (need,) = found.needs
    assert (need.vcpus, need.cores, need.licences) == (24, 12, 12)
    assert need.price == pytest.approx(24 * 0.05)
    assert "24 vCPUs of cloud (2 threads per core as given, 12 licences" in found.sentence
    assert found.unknown == ()


def test_two_groups_of_sessions_give_the_cores_of_a_managed_host() -> None:
    hidden = simulate(SimulatedHost(cores=4, hidden_smt=True, smt_yield=0.3), tuple(range(1, 9)), repeats=6, seed=2)
    found = sized(("old", old_box()), ("cloud", managed(hidden)))
    (need,) = found.needs
    assert need.cores is not None
    assert (need.kind.cores, need.vcpus, need.licences) == (4, 2 * need.cores, need.cores)
    assert "2 threads per core by two groups of session times" in found.sentence


def test_without_cores_only_what_is_counted_per_core_is_left_out() -> None:
    few = noisy_run(2, levels=(1, 4, 8), cores=4, threads=2, uneven=1.5, noise=0.001)
    found = sized(("old", old_box()), ("cloud", managed(few)))
    (need,) = found.needs
    assert (need.vcpus, need.cores, need.licences) == (24, None, None)
    assert need.price == pytest.approx(24 * 0.05)
    assert "threads per core unknown" in found.sentence
    assert "give `--cores NAME=N`" in found.unknown[0]


@pytest.mark.parametrize("levels", [tuple(range(1, 25)), (1, 2, 4, 6, 7, 8, 9, 10, 12, 14, 16, 20)])
def test_the_curve_gives_the_cores_of_a_managed_host(levels: tuple[int, ...]) -> None:
    """With few levels its knee is at 8.7 sessions."""
    run = managed(simulate(preset("c4.4xlarge"), levels, repeats=2, seed=3), vcpus=16)
    cores, words = cores_behind(run, explain(run))
    assert (cores, words) == (8, "by two groups of session times")


def test_a_host_that_was_never_loaded_sizes_nothing_and_is_ranked_with_a_note() -> None:
    part = noisy_run(4, levels=(1, 2), cores=8, threads=1, noise=0.001)
    with pytest.raises(
        UsageError,
        match=r"part has no level between N=2, where all were equal, and its 8 vCPUs: what these can do is not known",
    ):
        sized(("old", old_box()), ("part", part))
    ranked = sized(("old", old_box()), ("part", part), busy=None)
    assert [
        each for each in ranked.unknown if each.startswith("part has no level between N=2, where all were equal,")
    ] != []


def test_the_ranking_names_the_levels_whose_shares_the_run_leaves_undecided() -> None:
    """One round a level with 8 % of noise: whatever was measured, no level up to the vCPUs is decided."""
    run = noisy_run(5, levels=(1, 2, 4), cores=4, threads=1, noise=0.08, repeats=1)
    undecided = [each.level for each in explain(run).levels if each.level > 1 and each.even is Answer.UNDECIDED]
    assert undecided
    ranked = sized(("noisy", run), busy=None)
    assert ranked.old.undecided == tuple(undecided)
    where = ranges(undecided)
    assert f"noisy: inconclusive whether shares are equal at N={where}; sizing counts them as they were measured, " in (
        " ".join(ranked.unknown)
    )
    assert sized(("steady", without_smt()), busy=None).old.undecided == ()


def test_no_host_is_ranked_first_by_levels_that_nobody_knows_to_be_fair() -> None:
    """By chance max/min of the noisy host is below 1.1 at N=4, and above it of the steady one: both are undecided."""
    steady, noisy = explain(without_smt()), explain(without_smt(speed=0.5))
    sides = []
    for name, found, seen in (("steady", steady, 1.12), ("noisy", noisy, 1.05)):
        levels = tuple(
            replace(each, even=Answer.UNDECIDED, max_over_min=seen) if each.level > 2 else each for each in found.levels
        )
        sides.append((name, without_smt(), replace(found, levels=levels)))
    ranking = size(sides, SizingRules((), ())).ranking
    assert [(each.kind.name, each.kind.fair) for each in ranking] == [("steady", 2), ("noisy", 4)]
    assert [each.kind.shown for each in ranking] == [2, 2]
    assert ranking[0].per_vcpu == ranking[1].per_vcpu == 0.5
    assert [each.kind.undecided_beyond_shown for each in ranking] == [(4,), (4,)]
    sentence = size(sides, SizingRules((), ()), 2).sentence
    assert sentence.endswith("at max/min <= 1.1, if shares of noisy at N=4 are as measured, which is inconclusive.")
    accepted = size(sides, SizingRules((), ()), ratio=1.2).ranking
    assert [each.kind.shown for each in accepted] == [4, 4], "as much is accepted, whatever chance did"


def decision(ratio: float | None, low: float | None, high: float | None, outcome: str) -> Decision:
    return Decision(THROUGHPUT, outcome, "N=4", (4, 7), ratio=ratio, low=low, high=high)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (decision(0.74, 0.62, 1.33, TOO_FEW), "Inconclusive: 12 busy cores of old are 7 to 15 vCPUs of new ("),
        (decision(0.99, 0.62, 1.33, NOT_SHOWN), "Inconclusive: 12 busy cores of old are 9 to 20 vCPUs of new ("),
        (decision(0.74, None, None, TOO_FEW), "Inconclusive: how many vCPUs replace 12 busy cores of old is not known"),
        (
            decision(None, None, None, NOT_MEASURED),
            "Inconclusive: how many vCPUs replace 12 busy cores of old is not known",
        ),
        (decision(1.001, 0.999, 1.003, NOT_SHOWN), "12 busy cores of old are 12 vCPUs of new (one thread per core, "),
        (decision(0.74, 0.72, 0.76, LESS), "12 busy cores of old are 12 vCPUs of new (one thread per core, "),
    ],
)
def test_a_size_from_an_undecided_ratio_is_an_interval(made: Decision, said: str) -> None:
    runs = [(name, run, explain(run)) for name, run in (("old", old_box()), ("new", without_smt()))]
    found = size(runs, RULES, 12, decisions={"new": made})
    assert found.sentence.startswith(said)
    (need,) = found.needs
    assert need.is_decided is not said.startswith("Inconclusive")
    has_interval = made.low is not None and not made.shown
    assert ("95 % interval of throughput at N=4" in found.sentence) is has_interval
    if not need.is_decided:
        # Licences and money are of one number of vCPUs, and there is none.
        assert "licence" not in found.sentence and "EUR" not in found.sentence


def test_max_over_min_is_held_against_the_ratio_as_it_is_printed() -> None:
    """1.104 is printed as 1.10, and `dbcpu show` does not call that unequal."""
    levels = explain(without_smt()).levels
    found, _ = fair_level([replace(each, max_over_min=1.104) for each in levels], 1.1, 4)
    assert found is not None and found.level == 4
    more = [replace(each, max_over_min=1.106, even=Answer.UNDECIDED) for each in levels]
    assert fair_level(more, 1.1, 4) == (None, more[0])


def test_what_the_run_answers_counts_before_what_was_measured() -> None:
    one, *others = [each for each in explain(without_smt()).levels if each.level <= 4]
    equal_by_chance_wide = [replace(each, max_over_min=1.12, even=Answer.YES) for each in others]
    assert fair_level([one, *equal_by_chance_wide], 1.1, 4)[0] == equal_by_chance_wide[-1]
    counted_unequal = [replace(each, max_over_min=1.08, even=Answer.NO) for each in others]
    assert fair_level([one, *counted_unequal], 1.1, 4)[0] == one
    assert fair_level([one, *counted_unequal], 1.2, 4)[0] == counted_unequal[-1], "as much is accepted"


def totals(record: RunRecord) -> RunRecord:
    """The same where of several sessions only their rate together is known."""
    rounds = tuple(replace(each, shares_known=each.level == 1) for each in record.rounds)
    return replace(record, rounds=rounds)


def test_a_host_of_which_only_totals_are_known_is_sized_by_them_and_no_evenness_is_claimed() -> None:
    run = totals(with_smt())
    found = sized(("old", run), ("same", run), rules=SizingRules((), ()), busy=4)
    (need,) = found.needs
    assert (need.vcpus, need.kind.fair, need.kind.undecided) == (6, 8, (2, 4, 5, 6, 8))
    assert found.sentence == (
        "4 busy cores of old are 6 vCPUs of same (2 threads per core), if sessions of same get equal shares, "
        "which total rates do not show."
    )
    assert any(each.startswith("same: only total rates are known; fair N assumes equal shares at N=2,4") for each in
               found.unknown)  # fmt: skip


def test_cpus_of_a_quota_are_no_cores_and_no_licences() -> None:
    held = simulate(SimulatedHost(cores=8, threads=2, quota_cpus=4.0), (1, 2, 4, 6, 8, 16), repeats=6, seed=3)
    found = sized(("old", simulated_box()), ("held", held))
    (need,) = found.needs
    assert (need.vcpus, need.cores, need.licences) == (12, None, None)
    assert "12 CPUs of quota on held (measured with a quota of 4 CPUs, 0.60 EUR per hour)" in found.sentence
    assert [each for each in found.unknown if each.startswith("held has a CPU quota")]
    assert next(each for each in found.ranking if each.kind.name == "held").per_core is None


@pytest.mark.parametrize(
    ("seed", "said"),
    [(1, "on its 16 vCPUs (other processes): "), (6, "are unequal from 8 sessions on (other processes)")],
)
def test_a_size_that_counts_a_neighbour_says_so(seed: int, said: str) -> None:
    levels = (1, 2, 4, 6, 8, 9, 12, 16)
    beside = simulate(SimulatedHost(cores=8, threads=2, noisy_neighbour=1.0), levels, repeats=6, seed=seed)
    assert said in sized(("old", simulated_box()), ("beside", beside)).sentence


def test_one_host_that_cannot_be_sized_loses_no_other() -> None:
    part = noisy_run(4, levels=(1, 2), cores=8, threads=1, noise=0.001)
    found = sized(("old", old_box()), ("part", part), ("no smt", without_smt()))
    assert [each.kind.name for each in found.needs] == ["no smt"]
    assert found.sentence.startswith("12 busy cores of old are 12 vCPUs of no smt (")
    assert "Not sized: part has no level between N=2, where all were equal" in found.sentence


@pytest.mark.parametrize("quota", [0.5, 1.5, 3.7])
def test_cpus_of_a_quota_are_as_many_cores_there_and_back(quota: float) -> None:
    held = simulate(SimulatedHost(cores=4, threads=1, quota_cpus=quota), tuple(range(1, 9)), repeats=6, seed=2)
    (there,) = sized(("old", simulated_box()), ("held", held)).needs
    (back,) = sized(("held", held), ("old", simulated_box())).needs
    assert abs(there.vcpus - 12) <= 1 and abs(back.vcpus - 12) <= 1
