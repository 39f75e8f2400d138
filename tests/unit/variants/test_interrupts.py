"""``irq:away``: what is moved where, what refuses it, and that all of it comes back at any end."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.errors import HostError, UsageError
from dbcpu.hosts.interrupts import Interrupts, affinity_file, interrupt_of, read_interrupts
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_host
from dbcpu.record.header import Database, HostInfo
from dbcpu.record.plan import RoundSpec
from dbcpu.variants._apply import VariantConditions
from dbcpu.variants._journal import STEPS
from dbcpu.variants._restore import leftovers, restore
from dbcpu.variants._selection import check_possible, describe_changes, select_variants
from dbcpu.variants.base import VariantContext
from support.archives import unpack
from support.doubles.remote_host import FakeRemote
from support.driving import until
from support.nursery import run_forked
from support.paths import HOSTS

BEFORE = {24: "0-15", 25: "3", 26: "0", 30: "8-15"}
"""Of a host with 8 cores of 2 threads, whose first core is CPUs 0 and 8."""
AWAY = {24: "0,8", 25: "0,8", 26: "0", 30: "0,8"}


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journals"
    monkeypatch.setenv("DBCPU_JOURNAL", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    unpack(HOSTS / "c4-4xlarge.tar.gz", root)
    (root / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/random/boot_id").write_text("the-first-boot\n")
    for number, cpus in BEFORE.items():
        file = root / affinity_file(number).lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text(f"{cpus}\n")
    return root


def now(root: Path) -> Mapping[int, str]:
    return {number: (root / affinity_file(number).lstrip("/")).read_text().strip() for number in BEFORE}


def context(info: HostInfo, found: Interrupts | None = None) -> VariantContext:
    found = found or Interrupts({24: (0, 1, 2, 3), 25: (3,)})
    return VariantContext(info, Database("postgresql", "18"), interrupts=found)


def recorded(name: str) -> HostInfo:
    return read_host(open_host(str(HOSTS / f"{name}.tar.gz")))


def conditions(root: Path, host: LocalHost | None = None, **named: Any) -> VariantConditions:
    host = host or LocalHost(root)
    where = context(read_host(host), read_interrupts(host))
    return VariantConditions(select_variants("irq:away"), where, host, "embedded", None, **named)


def begin(variant: str) -> RoundSpec:
    return RoundSpec(1, 0, variant, 0)


def why_not(text: str, where: VariantContext) -> str:
    with pytest.raises(UsageError) as caught:
        check_possible(select_variants(text), where)
    return str(caught.value)


# --- what is read


def test_interrupts_are_read_with_who_else_moves_them(root: Path) -> None:
    host = LocalHost(root)
    assert read_interrupts(host) == Interrupts({24: tuple(range(16)), 25: (3,), 26: (0,), 30: tuple(range(8, 16))})
    (root / "proc/irq/31").mkdir()
    (root / "proc/irq/31/smp_affinity_list").write_text("no list\n")
    (root / "proc/4711").mkdir()
    (root / "proc/4711/comm").write_text("irqbalance\n")
    found = read_interrupts(host)
    assert (31 in found.cpus_of, found.balanced) == (False, True)
    assert read_interrupts(FakeRemote(root)) == found
    assert interrupt_of("/proc/irq/31/smp_affinity") is None


# --- the plan


def test_they_move_to_the_first_core_and_sessions_to_the_others(root: Path) -> None:
    where = context(read_host(LocalHost(root)), read_interrupts(LocalHost(root)))
    (variant,) = select_variants("irq:away")[1:]
    assert describe_changes([variant], where, {"irq:away": (2,)}) == (
        "irq:away: interrupts 24-25,30 to CPUs 0,8, server processes on CPUs 1-7,9-15",
    )
    assert len(variant.usable_cpus(where)) == 14
    changes = variant.changes(where, 1)
    assert [change.before for change in changes] == ["0-15", "3", "8-15", "0-15"]


def test_cpus_that_the_database_may_not_use_serve_them_first() -> None:
    info = recorded("two-sockets")
    bound = replace(info, limits=replace(info.limits, allowed_cpus=(0, 1, 2)))
    (variant,) = select_variants("irq:away")[1:]
    changes = variant.changes(context(bound), 1)
    assert [change.after for change in changes] == ["3-79", "0-2"], "interrupt 25 is served by CPU 3 already"


def test_cpus_can_be_named() -> None:
    where = context(recorded("two-sockets"))
    (variant,) = select_variants("irq:4-5")[1:]
    assert [change.after for change in variant.changes(where, 1)] == ["4-5", "4-5", "0-3,6-79"]


@pytest.mark.parametrize("text", ["irq:home", "irq:5-1"])
def test_what_is_not_understood_is_said(text: str) -> None:
    with pytest.raises(UsageError, match=r"give irq:away, or the CPUs"):
        select_variants(text)


@pytest.mark.parametrize(
    ("name", "text", "found", "said"),
    [
        ("two-sockets", "irq:away", Interrupts({24: (5,)}, balanced=True), "systemctl stop irqbalance"),
        ("two-sockets", "irq:away", Interrupts({}), "shows no interrupts in /proc/irq"),
        ("two-sockets", "irq:90", Interrupts({24: (5,)}), "CPU 90 is not among 0-79, which are online"),
        ("two-sockets", "irq:0-79", Interrupts({24: (5,)}), "no CPU would be left for the sessions"),
        ("two-sockets", "irq:0-3", Interrupts({24: (3,)}), "served by CPUs 0-3 alone already"),
        ("cpuset-limited", "irq:away", Interrupts({24: (5,)}), "the interrupts of the host cannot be moved"),
    ],
)
def test_where_it_is_not_possible_the_reason_is_one_sentence(
    name: str, text: str, found: Interrupts, said: str
) -> None:
    assert said in why_not(text, context(recorded(name), found))


def test_without_access_to_the_host_it_is_refused() -> None:
    assert "cannot be reached from here" in why_not("irq:away", VariantContext(None, Database("postgresql", "18")))


# --- applied and put back


def test_interrupts_are_away_for_its_rounds_and_back_for_the_others(root: Path, journals: Path) -> None:
    with conditions(root) as varied:
        varied.begin(begin("irq:away"))
        assert now(root) == AWAY
        varied.begin(begin("baseline"))
        assert now(root) == BEFORE
        varied.begin(begin("irq:away"))
    assert now(root) == BEFORE
    assert list(journals.iterdir()) == []


class Refusing(LocalHost):
    """A kernel that lets some interrupts not be moved."""

    def __init__(self, root: Path, numbers: set[int]) -> None:
        super().__init__(root)
        self.numbers = numbers

    def write(self, path: str, text: str) -> None:
        if interrupt_of(path) in self.numbers:
            raise HostError(f"{path} could not be written: Input/output error")
        super().write(path, text)


def test_an_interrupt_that_the_kernel_keeps_is_said_once_and_the_others_move(root: Path) -> None:
    said: list[str] = []
    with conditions(root, Refusing(root, {25}), notify=said.append) as varied:
        for variant in ("irq:away", "baseline", "irq:away"):
            varied.begin(begin(variant))
        assert now(root) == {**AWAY, 25: "3"}
    assert now(root) == BEFORE
    assert said == [
        "1 of 3 settings stay as they are: /proc/irq/25/smp_affinity_list could not be written: Input/output error"
    ]


def test_where_none_can_be_moved_there_is_nothing_to_measure(root: Path) -> None:
    with (
        pytest.raises(HostError, match="lets none of these be changed: /proc/irq/24/smp_affinity_list could not be"),
        conditions(root, Refusing(root, set(BEFORE))) as varied,
    ):
        varied.begin(begin("irq:away"))
    assert now(root) == BEFORE


def test_an_interrupt_that_has_gone_meanwhile_is_left_out(root: Path) -> None:
    with conditions(root) as varied:
        (root / affinity_file(25).lstrip("/")).unlink()
        varied.begin(begin("irq:away"))
        assert (root / affinity_file(24).lstrip("/")).read_text() == "0,8"


def test_what_irqbalance_moved_meanwhile_is_left_to_it(root: Path) -> None:
    said: list[str] = []
    with conditions(root, notify=said.append) as varied:
        varied.begin(begin("irq:away"))
        (root / affinity_file(24).lstrip("/")).write_text("5\n")
    assert now(root) == {**BEFORE, 24: "5"}
    assert said == ["/proc/irq/24/smp_affinity_list is left at '5', not '0-15': somebody else has set it since"]


@pytest.mark.parametrize("at", STEPS)
def test_an_interrupt_from_the_keyboard_at_any_step_undoes_all(root: Path, journals: Path, at: str) -> None:
    hit = False

    def step(name: str) -> None:
        nonlocal hit
        if name == at and not hit:
            hit = True
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), conditions(root, step=step) as varied:
        varied.begin(begin("irq:away"))
        varied.begin(begin("baseline"))
    assert hit
    assert now(root) == BEFORE
    assert list(journals.iterdir()) == []


def killed(root: Path, at: str, times: int, *more: str) -> None:
    done = run_forked("support.varying_host", str(root), at, str(times), *more, "irq:away", environment=os.environ)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, f"{at}\n"), done.stderr


@pytest.mark.parametrize("at", [step for step in STEPS if step != "begun"])
def test_a_driver_killed_at_any_step_is_cleaned_up_after_by_the_next_command(
    root: Path, journals: Path, at: str
) -> None:
    killed(root, at, 2)
    assert (now(root) != BEFORE) <= bool(leftovers()), "what is changed is written down"
    assert restore().failures == []
    assert now(root) == BEFORE
    assert list(journals.iterdir()) == []


@pytest.mark.parametrize("at", ["written", "changed", "undone"])
def test_a_driver_killed_at_any_step_is_cleaned_up_after_by_its_guard(root: Path, journals: Path, at: str) -> None:
    killed(root, at, 2, "guard")
    until(lambda: now(root) == BEFORE and not list(journals.iterdir()), "the guard put all back")
