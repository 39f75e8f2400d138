"""Licence and price rules and limits from dbcpu.toml: dated, checked, and refused with their place."""

from datetime import date
from pathlib import Path

import pytest

from dbcpu.config import targets
from dbcpu.config.check_limits import CheckLimits
from dbcpu.config.rulebook import choose, shipped
from dbcpu.config.settings import settings
from dbcpu.errors import UnknownName, UsageError

RULE = 'per = "vcpu"\ndated = 2026-01-15\nsource = "a page"\n'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "dbcpu.toml"
    monkeypatch.setenv("DBCPU_CONFIG", str(file))
    return file


def test_without_a_file_there_are_no_rules_and_the_usual_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBCPU_CONFIG", raising=False)
    assert settings().limits == CheckLimits()
    assert settings().sizing.licences == shipped()
    assert not any(each.chosen for each in shipped())


def test_rules_and_limits_are_read_beside_targets(write: Path) -> None:
    write.write_text(
        '[targets.box]\nurl = "sqlite://"\n'
        f'[licences.smt]\n{RULE}factor = 0.5\nwhen = "smt"\nleast = 2\ntargets = ["box"]\n'
        f'[prices.p]\n{RULE}amount = 1\ncurrency = "EUR"\nperiod = "hour"\n'
        '[check]\nmax_over_min = 1.5\nsteal = "off"\nruns = 30\n'
    )
    found = settings()
    (licence, *came), (price,) = found.sizing.licences, found.sizing.prices
    assert tuple(came) == shipped()
    assert (licence.factor, licence.when, licence.least, licence.targets) == (0.5, "smt", 2, ("box",))
    assert licence.dated == date(2026, 1, 15)
    assert (price.amount, price.currency, price.period) == (1.0, "EUR", "hour")
    assert (found.limits.max_over_min, found.limits.steal, found.limits.runs) == (1.5, None, 30)
    assert set(targets.targets()) == {"box"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[licences.x]\nper = "vcpu"\nfactor = 1\n', r"\[licences.x\] lacks dated, source"),
        (f"[licences.x]\n{RULE}factor = 1\nfactr = 2\n", "unknown key 'factr'"),
        (f"[licences.x]\n{RULE.replace('vcpu', 'thread')}factor = 1\n", "per is 'thread'; it is one of vcpu, core"),
        (f'[licences.x]\n{RULE}factor = 1\nwhen = "often"\n', "when is 'often'"),
        (f'[prices.x]\n{RULE}amount = 1\ncurrency = "EUR"\nperiod = "huor"\n', "period 'huor' is none of hour, day"),
        (f"[licences.x]\n{RULE}factor = -1\n", "factor is not a number above 0"),
        (f"[licences.x]\n{RULE}factor = true\n", "factor is not a number above 0"),
        (f"[licences.x]\n{RULE.replace('2026-01-15', 'x').replace('= x', '= 3')}factor = 1\n", "dated is no date"),
        (f'[licences.x]\n{RULE}factor = 1\ntargets = "box"\n', "targets is not a list of names"),
        (f'[prices.x]\n{RULE}amount = 1\ncurrency = ""\n', "currency is not text"),
        ("licences = 3\n", "licences is not a table"),
        ("[licences]\nx = 3\n", r"\[licences.x\] is not a table"),
        ("[check]\nmax_over_mim = 2\n", r"\[check\]: unknown key 'max_over_mim'"),
        ("[check]\nruns = 3\n", "runs is not a whole number from 5"),
        ("[check]\nsteal = 'much'\n", "steal is not a number above 0"),
        ("[check]\nthroughput_drop = 10\n", r"throughput_drop is 10, and a share is below 1: for 10 % give 0\.10"),
        ("[check]\nsteal = 1\n", "steal is 1, and a share is below 1"),
        ("[check]\nslowdown = 0.5\n", r"slowdown is 0\.5, which every run is beyond; give a ratio from 1 on"),
        (f'[licences.x]\n{RULE}factor = 1\nmodels = "POWER"\n', "models is not a table"),
        (f"[licences.x]\n{RULE}factor = 1\nmodels = {{ POWER = 0 }}\n", "models, POWER is not a number above 0"),
        (f"[licences.x]\n{RULE}factor = 1\nmost = 0\n", "most is not a whole number from 1"),
        ("[licences.oracle-cloud-ee]\nfactor = 0.5\n", "changes the figures of a rule that came with dbcpu"),
        (f"[licences.x]\n{RULE}factor = 1\nsupport = 0.2\n", "has support and no price"),
        (f"[licences.x]\n{RULE}factor = 1\nprice = 5\n", "has a price and no currency"),
        (f'[licences.x]\n{RULE}factor = 1\nprice = 5\ncurrency = "EUR"\nsupport = 22\n', "0.22 is 22 % of it"),
        ("[licences.oracle-cloud-ee]\nprice = 5\n", "give dated and source of yours"),
        ("[chek]\n", "unknown key 'chek'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write: Path, text: str, message: str) -> None:
    write.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        settings()
    assert str(write) in str(caught.value)


def test_a_licence_may_have_a_price_and_support(write: Path) -> None:
    write.write_text(f'[licences.x]\n{RULE}factor = 1\nprice = 20000\ncurrency = "EUR"\nsupport = 0.22\n')
    rule, *_ = settings().sizing.licences
    assert (rule.price, rule.currency, rule.support) == (20_000.0, "EUR", 0.22)


def test_naming_a_shipped_rule_asks_for_it_and_changes_only_what_is_given(write: Path) -> None:
    write.write_text(
        '[licences.oracle-cloud-ee]\ntargets = ["cloud"]\n'
        '[licences.oracle-cloud-se2]\nmost = 4\ndated = 2027-01-01\nsource = "the newer policy"\n'
    )
    ee, se2, *came = settings().sizing.licences
    assert (ee.chosen, ee.databases, ee.targets, ee.factor_smt) == (True, (), ("cloud",), 0.5)
    assert (se2.most, se2.factor, se2.source) == (4, 0.25, "the newer policy")
    assert [each.name for each in came] == ["oracle-on-premises-ee", "oracle-on-premises-se2"]


def test_a_rule_is_chosen_by_name_for_all_hosts_or_for_one() -> None:
    here, everywhere = choose(shipped(), ["oracle-cloud-ee", "old = box=oracle-on-premises-ee"])
    assert (everywhere.targets, here.targets, here.databases, here.chosen) == ((), ("old = box",), (), True)
    with pytest.raises(UnknownName, match="no licence rule is called 'oracle'; there are: oracle-cloud-ee"):
        choose(shipped(), ["oracle"])


@pytest.mark.parametrize(
    ("figures", "needed"),
    [("factor = 1\nleast = 9\nmost = 8\n", 8), ("factor = 0.25\nfactor_smt = 0.5\nleast = 5\nmost = 8\n", 4)],
)
def test_a_rule_whose_least_is_never_reached_is_refused(write: Path, figures: str, needed: int) -> None:
    write.write_text(f"[licences.x]\n{RULE}{figures}")
    said = rf"\[licences\.x\]: least = \d is more than the {needed} that the largest host, with most = 8, would need"
    with pytest.raises(UsageError, match=said):
        settings()


@pytest.mark.parametrize("figures", ["factor = 1\nleast = 8\nmost = 8\n", "factor = 2\nleast = 10\nmost = 8\n"])
def test_a_least_number_that_a_host_can_need_is_taken(write: Path, figures: str) -> None:
    """``least`` counts licences, ``most`` what is counted of a host."""
    write.write_text(f"[licences.x]\n{RULE}{figures}")
    assert settings().sizing.licences[0].most == 8
