"""Licence and price rules and limits from dbcpu.toml: dated, checked, and refused with their place."""

from datetime import date
from pathlib import Path

import pytest

from dbcpu import config
from dbcpu.errors import UsageError
from dbcpu.rules import Limits
from dbcpu.settings import settings

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
    assert settings().limits == Limits()
    assert settings().sizing.licences == ()


def test_rules_and_limits_are_read_beside_targets(write: Path) -> None:
    write.write_text(
        '[targets.box]\nurl = "sqlite://"\n'
        f'[licences.smt]\n{RULE}factor = 0.5\nwhen = "smt"\nleast = 2\ntargets = ["box"]\n'
        f'[prices.p]\n{RULE}amount = 1\ncurrency = "EUR"\nperiod = "hour"\n'
        '[check]\nmax_over_min = 1.5\nsteal = "off"\nruns = 30\n'
    )
    found = settings()
    (licence,), (price,) = found.sizing.licences, found.sizing.prices
    assert (licence.factor, licence.when, licence.least, licence.targets) == (0.5, "smt", 2, ("box",))
    assert licence.dated == date(2026, 1, 15)
    assert (price.amount, price.currency, price.period) == (1.0, "EUR", "hour")
    assert (found.limits.max_over_min, found.limits.steal, found.limits.runs) == (1.5, None, 30)
    assert set(config.targets()) == {"box"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[licences.x]\nper = "vcpu"\nfactor = 1\n', r"\[licences.x\] lacks dated, source"),
        (f"[licences.x]\n{RULE}factor = 1\nfactr = 2\n", "unknown key 'factr'"),
        (f"[licences.x]\n{RULE.replace('vcpu', 'thread')}factor = 1\n", "per is 'thread'; it is one of vcpu, core"),
        (f'[licences.x]\n{RULE}factor = 1\nwhen = "often"\n', "when is 'often'"),
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
        ("[chek]\n", "unknown key 'chek'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write: Path, text: str, message: str) -> None:
    write.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        settings()
    assert str(write) in str(caught.value)
