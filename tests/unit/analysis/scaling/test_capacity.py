"""How many sessions are served evenly, per vCPU and core, and what licences that takes by rules that can be edited."""

from datetime import date

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.host import Capacity
from dbcpu.analysis.scaling.licences import LicenceFacts, facts_of, licences_needed, not_counted, place_of
from dbcpu.config.rulebook import choose, shipped
from dbcpu.config.rules import Licence
from dbcpu.formatting import plural
from dbcpu.record.rounds import Round
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos


def level(sessions: int, *slow: float) -> Round:
    """One round: sessions at full speed but for those with the slowdowns given."""
    factors = [*slow, *[1.0] * (sessions - len(slow))]
    return round_of([session(i, SOLO_S * factor, cpu=i) for i, factor in enumerate(factors)])


def room(rounds: list[Round], vcpus: int = 8) -> Capacity:
    repeated = [replace(each, repeat=at, order=100 * at + each.level) for at in range(5) for each in rounds]
    found = explain(record([*solos(), *repeated], host(cores=vcpus // 2, threads=2), vcpus=vcpus)).capacity
    assert found is not None
    return found


def test_sessions_are_even_up_to_the_last_level_before_the_first_uneven_one() -> None:
    found = room([level(2), level(4, 1.05), level(5, 1.5, 1.5), level(8, *[1.5] * 8)])
    assert (found.even_up_to, found.even_again, found.full_speed_up_to, found.at_least) == (4, 8, 4, False)


def test_as_many_sessions_as_vcpus_are_alike_again_and_show_nothing_of_those_between() -> None:
    """On four cores with two threads each: of five to seven sessions some would share a core, and others not."""
    found = room([level(2), level(4), level(8, *[1.5] * 8)])
    assert found.even_up_to == 4
    assert room([level(2), level(4), level(8)]).even_up_to == 8, "at full speed sharing costs nothing"


def test_even_and_slow_is_not_full_speed() -> None:
    found = room([level(2), level(4, *[1.3] * 4)])
    assert (found.even_up_to, found.full_speed_up_to, found.at_least) == (4, 2, True)


def test_throughput_is_told_per_vcpu_and_per_core() -> None:
    found = room([level(4), level(5, 1.5, 1.5), level(8, *[1.5] * 8)])
    alone = 40.96 / SOLO_S
    assert found.even_throughput == pytest.approx(4 * alone)
    assert found.peak_throughput == pytest.approx(8 * alone / 1.5)
    assert found.per_vcpu == pytest.approx(alone / 1.5)
    assert found.per_core == pytest.approx(2 * alone / 1.5)


def test_one_session_alone_says_nothing_of_capacity() -> None:
    assert explain(record(solos())).capacity is None


# --- licences ------------------------------------------------------------------------------------


def counts(facts: LicenceFacts) -> dict[str, float]:
    return {each.rule.removeprefix("oracle-"): each.count for each in licences_needed(shipped(), facts)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (LicenceFacts(16, 8, 1, 2), {"cloud-ee": 8, "on-premises-ee": 4, "on-premises-se2": 1}),
        (LicenceFacts(8, 8, 1, 1), {"cloud-ee": 8, "cloud-se2": 2, "on-premises-ee": 4, "on-premises-se2": 1}),
        (LicenceFacts(3, 2, 1, 2), {"cloud-ee": 2, "cloud-se2": 1, "on-premises-ee": 1, "on-premises-se2": 1}),
        (LicenceFacts(160, 20, 4, 8, "POWER9 (raw)"), {"cloud-ee": 80, "on-premises-ee": 20}),
        (LicenceFacts(16, None, None, None), {}),
    ],
    ids=["SMT on", "SMT off", "rounded up", "POWER, too many sockets for SE2", "managed"],
)
def test_shipped_rules_count_an_oracle_host(facts: LicenceFacts, expected: dict[str, float]) -> None:
    assert counts(replace(facts, database="oracle")) == expected
    assert counts(replace(facts, database="postgresql")) == {}


@pytest.mark.parametrize(
    ("edition", "place", "expected"),
    [
        ("Oracle Database 19c Enterprise Edition", "cloud", {"cloud-ee"}),
        ("Oracle Database 19c Standard Edition 2", "own", {"on-premises-se2"}),
        ("Oracle Database 12c Standard Edition", "cloud", {"cloud-se2"}),
        ("Oracle Database 19c Enterprise Edition", "", {"cloud-ee", "on-premises-ee"}),
        ("", "own", {"on-premises-ee", "on-premises-se2"}),
        ("Oracle Database 19c Enterprise Edition", "oracle-cloud", set()),
        ("Oracle Database 23ai Free", "", set()),
    ],
)
def test_rules_of_another_edition_or_place_are_left_out(edition: str, place: str, expected: set[str]) -> None:
    facts = LicenceFacts(8, 8, 1, 1, database="oracle", edition=edition, place=place)
    assert set(counts(facts)) == expected
    chosen = choose(shipped(), ["oracle-on-premises-ee"])
    assert len(licences_needed(chosen, facts)) == 1, "what was asked for holds anywhere"


@pytest.mark.parametrize(
    ("hypervisor", "product", "parameters", "place"),
    [
        ("kvm (Amazon EC2)", "m6a.2xlarge", {}, "cloud"),
        (None, "m6a.metal", {}, "cloud"),
        (None, "ProLiant DL380 Gen10", {}, "own"),
        ("vmware", "VMware Virtual Platform", {}, ""),
        (None, "", {}, ""),
        ("kvm (Oracle Cloud)", "", {}, "oracle-cloud"),
        ("kvm", "", {"cloud_service": "DWCS"}, "oracle-cloud"),
        ("kvm", "", {"managed_service": "Amazon RDS"}, "cloud"),
    ],
)
def test_the_place_is_what_host_and_database_say(
    hypervisor: str | None, product: str, parameters: dict[str, str], place: str
) -> None:
    facts = {"product": product} if product else {}
    run = record(solos(), replace(host(), hypervisor=hypervisor, facts=facts))
    database = replace(run.header.database, kind="oracle", parameters=parameters)
    assert place_of(replace(run.header, database=database)) == place


def test_each_shipped_rule_has_a_date_a_source_and_words() -> None:
    found = licences_needed(shipped(), LicenceFacts(8, 4, 1, 2, database="oracle"))
    assert found
    for each in found:
        assert date.fromisoformat(each.date) >= date(2026, 1, 1)
        assert each.source and each.applies
        assert " x " in each.how


def test_a_run_is_counted_by_the_rules_it_is_given() -> None:
    run = record([*solos(), level(4)], host(cores=4, threads=2), vcpus=8)
    own = Licence("per core", "core", date(2020, 1, 31), "a document", factor=0.75)
    capacity = explain(run, [own, *shipped()]).capacity
    assert capacity is not None
    assert [(each.rule, each.count, each.date) for each in capacity.licences] == [("per core", 3.0, "2020-01-31")]


def test_a_quota_makes_no_licence_fewer() -> None:
    held = simulate(SimulatedHost(cores=8, threads=2, quota_cpus=4.0), (1, 2, 4), repeats=3, seed=1)
    per_core = Licence("per core", "core", date(2020, 1, 31), "a document", factor=0.5)
    capacity = explain(held, [per_core]).capacity
    assert capacity is not None
    (need,) = capacity.licences
    assert (need.count, need.how) == (4.0, "8 cores x 0.50 of the whole host, whatever the quota")


def test_a_chosen_rule_counts_alone() -> None:
    facts = LicenceFacts(16, 8, 1, 2, database="oracle")
    chosen = choose(shipped(), ["oracle-cloud-ee"])
    assert [each.rule for each in licences_needed([*shipped()[1:], *chosen], facts)] == ["oracle-cloud-ee"]
    assert [each.count for each in licences_needed(chosen, replace(facts, database="sqlite"))] == [8]


def test_facts_come_from_the_cpus_that_may_be_used() -> None:
    run = record(solos(), host(cores=4, threads=2), vcpus=8)
    found = facts_of(run, 8, 4, "box")
    assert replace(found, names=frozenset()) == LicenceFacts(8, 4, 1, 2, "Example CPU 2.6 GHz", "postgresql")
    assert {"box", "embedded"} <= found.names


@pytest.mark.parametrize(
    ("model", "threads", "vcpus", "ocpus"),
    [
        ("Intel(R) Xeon(R) Platinum 8358", 2, 8, 4),
        ("AMD EPYC 7J13 64-Core Processor", 2, 3, 2),
        ("Neoverse-N1", 1, 4, 4),
        ("AmpereOne A192", 1, 4, 2),
        ("Intel(R) Xeon(R) Platinum 8358", 1, 8, None),
        ("POWER9", 8, 8, None),
        ("", None, 8, None),
    ],
)
def test_ocpus_are_counted_by_the_kind_of_cpu_and_only_in_oracles_cloud(
    model: str, threads: int | None, vcpus: int, ocpus: int | None
) -> None:
    rule = Licence("ours", "ocpu", date(2026, 1, 1), "our contract", factor=0.5)
    there = LicenceFacts(vcpus, None, 1, threads, model, "oracle", place="oracle-cloud")
    assert there.ocpus == ocpus
    assert [each.how for each in licences_needed([rule], there)] == (
        [f"{plural(ocpus, 'ocpu')} x 0.50"] if ocpus else []
    )
    assert licences_needed([rule], replace(there, place="cloud")) == ()


def test_what_has_no_rule_is_not_counted_and_says_so() -> None:
    there = LicenceFacts(8, 4, 1, 2, "AMD EPYC 7J13", "oracle", edition="Enterprise Edition", place="oracle-cloud")
    assert licences_needed(shipped(), there) == ()
    assert not_counted(there).startswith("not counted: 8 vCPUs are 4 OCPUs (x86: 1 core with two threads, 2 vCPUs)")
    assert "contract: 1 to 4 processor licences, since public accounts differ (1, 2 or 4 OCPUs each" in not_counted(
        there
    )
    standard = replace(there, edition="Standard Edition 2", vcpus=12)
    assert ": 2 socket licences by the one public account that was found (4 OCPUs each" in not_counted(standard)
    for unknown in (replace(there, cpu_model=""), replace(there, edition="")):
        assert "public account" not in not_counted(unknown)
    assert "OCPUs or ECPUs are not visible" in not_counted(replace(there, cpu_model=""))
    assert not_counted(replace(there, place="cloud")) == not_counted(replace(there, database="postgresql")) == ""


@pytest.mark.parametrize("quota_cpus", [0.5, 2.5])
def test_no_more_cores_are_usable_than_the_quota_has(quota_cpus: float) -> None:
    """Below 1 a single session is throttled, too: in its times a core and the quota look alike."""
    limited = SimulatedHost(name="limited", cores=4, threads=1, quota_cpus=quota_cpus)
    found = explain(simulate(limited, (1, 2, 3, 4, 8), 3, 1, size="short")).capacity
    assert found is not None and found.usable_cores is not None and found.usable_cores_interval is not None
    assert found.usable_cores_interval.low <= found.usable_cores <= found.usable_cores_interval.high <= quota_cpus


def test_under_a_quota_nothing_is_counted_per_core_and_usable_is_what_the_quota_gives() -> None:
    held = explain(simulate(SimulatedHost(cores=4, threads=1, quota_cpus=1.5), (1, 2, 3, 4), repeats=4, seed=1))
    free = explain(simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4), repeats=4, seed=1))
    assert held.capacity is not None and free.capacity is not None
    assert (held.capacity.per_core, free.capacity.per_core is not None) == (None, True)
    assert (held.capacity.usable_cores or 0.0) <= 1.5 < (free.capacity.usable_cores or 0.0)
    assert "above the CPU quota of 1.5" in held.verdict.lower().replace("cpu", "CPU")


def test_usable_cores_are_never_less_than_the_one_of_a_single_session() -> None:
    """A second thread costs throughput, and noise leaves it open how much a single session reaches."""
    found = explain(simulate(SimulatedHost(cores=1, threads=2, smt_yield=-0.2, noise=0.05), (1, 2, 3, 4), 2, seed=0))
    assert found.capacity is not None and found.capacity.usable_cores_interval is not None
    assert found.scaling.effective_cores_interval is not None and found.scaling.effective_cores_interval.low < 1.0
    assert found.capacity.usable_cores_interval.low == found.capacity.usable_cores == 1.0
