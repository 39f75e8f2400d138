"""A variant that is added as one file is listed, previewed, applied and undone; nothing else is edited."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click.testing
import pytest

from dbcpu import registry, variants
from dbcpu.cli.vary import command
from dbcpu.errors import UnknownName, UsageError
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host
from dbcpu.measure.variants import VariantPlan
from dbcpu.record.header import Database
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Server
from dbcpu.variants._apply import VariantConditions
from dbcpu.variants._selection import describe_changes, findings, select_variants
from dbcpu.variants.base import VariantContext, load_variant
from support.archives import unpack
from support.paths import HOSTS

SOURCE = '''"""One CPU is taken offline (``without:3``), and half of the others are used."""

from dbcpu.record.findings import Finding, noted
from dbcpu.variants.base import Change, VariantContext, affinities, count, usable

SCOPE = "host"
ARGUMENT = "3"
HELP = "all CPUs but this one"
TOOLS = ("sh",)
ROOT_HINT = "cpus: needs no root"


def check(argument: str) -> None:
    count("without", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    cpus = [cpu.cpu for cpu in usable(context.host)] if context.host else []
    return None if int(argument) in cpus else f"CPU {argument} is not online"


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    offline = Change(f"file:/sys/devices/system/cpu/cpu{argument}/online", "1", "0")
    return (offline, *affinities(context.host, ("0-7",) * sessions))


def offline_cpus(argument: str, context: VariantContext) -> tuple[int, ...]:
    return (int(argument),)


def findings(argument: str, context: VariantContext) -> tuple[Finding, ...]:
    return (noted("autogroup", f"without:{argument} was asked for"),)
'''


@pytest.fixture(autouse=True)
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``without`` in the room of the variants."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "without.py").write_text(SOURCE)
    (folder / "half_done.py").write_text('"""A variant that lacks something."""\n\nSCOPE = "host"\nARGUMENT = ""\n')
    monkeypatch.setattr(variants, "__path__", [*variants.__path__, str(folder)])
    registry._modules.cache_clear()
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "journals"))
    yield
    registry._modules.cache_clear()
    for name in ("without", "half_done"):
        sys.modules.pop(f"dbcpu.variants.{name}", None)
        vars(variants).pop(name, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    unpack(HOSTS / "c4-4xlarge.tar.gz", root)
    return root


def context(root: Path) -> VariantContext:
    return VariantContext(read_host(LocalHost(root)), Database("postgresql", "18"))


def test_it_is_listed_in_the_help(tmp_path: Path) -> None:
    (tmp_path / "more" / "half_done.py").unlink()
    shown = click.testing.CliRunner().invoke(command, ["--help"]).output
    assert re.search(r"without:3 +all CPUs but this one", shown)


def test_its_plan_and_preview_are_its_own(root: Path) -> None:
    selected = select_variants("without:3")
    plan = VariantPlan.make(selected, context(root), (1, 2), per_cpu=())
    assert plan.cpus == {"baseline": 16, "without:3": 7}, "CPUs 0-7 but CPU 3"
    assert plan.touches_host
    assert selected[1].tools == ("sh",)
    assert [finding.seen for finding in findings(selected, context(root))] == ["without:3 was asked for"]
    assert describe_changes(selected, context(root), plan.levels) == (
        "without:3: /sys/devices/system/cpu/cpu3/online from '1' to '0', server processes on CPUs 0-7",
    )
    with pytest.raises(UsageError, match="variant without:99 is not possible here: CPU 99 is not online"):
        VariantPlan.make(select_variants("without:99"), context(root), (1,), per_cpu=())


def test_who_may_not_write_its_file_reads_its_hint(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode, **_: False)
    plan = VariantPlan.make(select_variants("without:3"), context(root), (1,), per_cpu=())
    with pytest.raises(UsageError, match="cpu3/online, which needs root: start dbcpu as root; cpus: needs no root"):
        plan.check(LocalHost(), Server(None), fixed=True)


def test_it_is_applied_and_undone_with_what_it_disturbs(root: Path) -> None:
    online, interrupt = root / "sys/devices/system/cpu/cpu3/online", root / "proc/irq/30/smp_affinity_list"
    interrupt.parent.mkdir(parents=True, exist_ok=True)
    interrupt.write_text("3\n")
    with VariantConditions(
        select_variants("without:3"), context(root), LocalHost(root), "embedded", None
    ) as conditions:
        conditions.begin(RoundSpec(1, 0, "without:3", 0))
        assert online.read_text() == "0"
        interrupt.write_text("0-15\n")  # as the kernel does when CPU 3 goes
        conditions.begin(RoundSpec(1, 0, "baseline", 1))
        assert (online.read_text(), interrupt.read_text()) == ("1", "3")


def test_a_module_that_lacks_a_part_is_named_with_it() -> None:
    with pytest.raises(
        TypeError, match=r"dbcpu\.variants\.half_done is no variant: it has no HELP, check, why_not, changes"
    ):
        load_variant("half_done")
    with pytest.raises(UnknownName, match="no variant is called"):
        load_variant("warp")
