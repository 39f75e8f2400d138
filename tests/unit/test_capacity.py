"""How many sessions are served evenly, per vCPU and core, and what licences that takes by rules that can be edited."""

import pytest

from build_record import SOLO_S, host, record, round_of, session, solos
from dbcpu.analysis.base import Capacity
from dbcpu.analysis.explain import explain
from dbcpu.analysis.licences import LicenceFacts, default_rules, facts_of, licences, parse_rules
from dbcpu.errors import UsageError
from dbcpu.record import Round


def level(sessions: int, *slow: float) -> Round:
    """One round: sessions at full speed but for those with the slowdowns given."""
    factors = [*slow, *[1.0] * (sessions - len(slow))]
    return round_of([session(i, SOLO_S * factor, cpu=i) for i, factor in enumerate(factors)])


def room(rounds: list[Round], vcpus: int = 8) -> Capacity:
    found = explain(record([*solos(), *rounds], host(cores=vcpus // 2, threads=2), vcpus=vcpus)).capacity
    assert found is not None
    return found


def test_sessions_are_even_up_to_the_last_level_before_the_first_uneven_one() -> None:
    found = room([level(2), level(4, 1.09), level(5, 1.5, 1.5), level(8, *[1.5] * 8)])
    assert (found.even_up_to, found.even_again, found.full_speed_up_to, found.at_least) == (4, 8, 4, False)


def test_even_and_slow_is_not_full_speed() -> None:
    found = room([level(2), level(4, *[1.3] * 4)])
    assert (found.even_up_to, found.full_speed_up_to, found.at_least) == (4, 2, True)


def test_throughput_is_told_per_vcpu_and_per_core() -> None:
    found = room([level(4), level(5, 1.5, 1.5), level(8, *[1.5] * 8)])
    alone = 40.96 / SOLO_S
    assert found.even_throughput == pytest.approx(4 * alone)
    assert found.most_throughput == pytest.approx(8 * alone / 1.5)
    assert found.per_vcpu == pytest.approx(alone / 1.5)
    assert found.per_core == pytest.approx(2 * alone / 1.5)


def test_one_session_alone_says_nothing_of_capacity() -> None:
    assert explain(record(solos())).capacity is None


# --- licences ------------------------------------------------------------------------------------

DEFAULT = parse_rules(default_rules())
RULE = """
disclaimer = "ask your vendor"
[[rule]]
name = "per core"
applies = "anywhere"
count = "cores"
factor = 0.75
unit = "licences"
date = "2020-01"
source = "a document"
"""


def counts(facts: LicenceFacts) -> dict[str, float]:
    return {each.rule: each.count for each in licences(DEFAULT, facts)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (LicenceFacts(16, 8, 1, 2), {"cloud EE": 8, "on premises EE": 4, "on premises SE2": 1}),
        (LicenceFacts(8, 8, 1, 1), {"cloud EE": 8, "cloud SE2": 2, "on premises EE": 4, "on premises SE2": 1}),
        (LicenceFacts(3, 2, 1, 2), {"cloud EE": 2, "cloud SE2": 1, "on premises EE": 1, "on premises SE2": 1}),
        (LicenceFacts(160, 20, 4, 8, "POWER9 (raw)"), {"cloud EE": 80, "on premises EE": 20}),
        (LicenceFacts(16, None, None, None), {}),
    ],
    ids=["SMT on", "SMT off", "rounded up", "POWER, too many sockets for SE2", "managed"],
)
def test_default_rules(facts: LicenceFacts, expected: dict[str, float]) -> None:
    assert counts(facts) == expected


def test_each_rule_has_a_date_a_source_and_the_file_a_disclaimer() -> None:
    assert "not legal advice" in DEFAULT.disclaimer
    for each in licences(DEFAULT, LicenceFacts(8, 4, 1, 2)):
        assert each.date[:4].isdecimal()
        assert each.source
        assert " x " in each.how


def test_rules_are_text_that_can_be_replaced() -> None:
    run = record([*solos(), level(4)], host(cores=4, threads=2), vcpus=8)
    capacity = explain(run, RULE).capacity
    assert capacity is not None
    assert [(each.rule, each.count, each.date) for each in capacity.licences] == [("per core", 3.0, "2020-01")]


def test_facts_come_from_the_cpus_that_may_be_used() -> None:
    run = record(solos(), host(cores=4, threads=2), vcpus=8)
    assert facts_of(run, 8, 4) == LicenceFacts(8, 4, 1, 2, "Example CPU 2.6 GHz")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("disclaimer", "remark"), "no disclaimer"),
        (('count = "cores"', 'count = "chips"'), "count 'chips' is not one of vcpus, cores, sockets"),
        (("factor = 0.75", "factor = -1"), "factor -1 is not a number above 0"),
        (('date = "2020-01"', ""), "date is missing"),
        (("factor = 0.75", "factor = 0.75\nat_most = 0"), "at_most 0"),
        (("[[rule]]", "[rule]"), "not a list of tables"),
        (("disclaimer", "= ="), "not valid TOML"),
        (('source = "a document"', 'source = "a"\n[[rule.model]]\nfactor = 1.0'), "a model has no contains"),
    ],
)
def test_wrong_rules_are_refused_in_words(change: tuple[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", "\\(")):
        parse_rules(RULE.replace(*change, 1))
