"""mypy compares every member with its protocol, and no member is missing from what it compares."""

import ast
import inspect
import typing
from collections.abc import Mapping
from pathlib import Path

import pytest

from contracts import protocol_members as members
from dbcpu import registry
from dbcpu.hosts.base import Host
from dbcpu.measure.experiments.base import ExperimentOptions, load_experiment
from dbcpu.measure.samplers.base import Sampler, load_sampler
from dbcpu.record.header import Plan, WorkloadInfo
from dbcpu.targets.base import DatabaseSession, Target, load_target
from support.doubles.target import FakeTarget
from support.paths import ROOT

KIT = ROOT / "kit/dbcpu"
MODULES: dict[str, Mapping[str, object]] = {
    "targets": members.TARGET_MODULES,
    "measure.samplers": members.SAMPLER_MODULES,
    "measure.experiments": members.EXPERIMENT_MODULES,
    "cli": members.COMMAND_MODULES,
    "reports.formats": members.FORMAT_MODULES,
}
CLASSES: list[tuple[str, str, tuple[type, ...], set[str]]] = [
    # folder, protocol, the classes that mypy compares with it, methods by which such a class is recognised
    ("targets", "DatabaseSession", members.SESSIONS, {"identify", "start", "outcome"}),
    ("targets", "Target", members.TARGETS, {"connect", "vcpus"}),
    ("measure", "Target", members.TARGETS, {"connect", "vcpus"}),
    ("measure/samplers", "Sampler", members.SAMPLERS, {"start", "stop"}),
    ("measure/experiments", "ExperimentShape", members.SHAPES, {"specs", "rounds"}),
]


@pytest.mark.parametrize("room", MODULES)
def test_every_member_of_a_room_is_compared_with_its_protocol(room: str) -> None:
    assert set(MODULES[room]) == set(registry.names(room)), "tests/contracts/protocol_members.py lists them for mypy"


@pytest.mark.parametrize(("folder", "protocol", "compared", "methods"), CLASSES)
def test_every_class_that_acts_as_one_is_compared(
    folder: str, protocol: str, compared: tuple[type, ...], methods: set[str]
) -> None:
    found = {
        node.name
        for file in (KIT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        and methods <= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    }
    assert found - {protocol} <= {one.__name__ for one in compared}, "add it to tests/contracts/protocol_members.py"


def test_targets_hand_out_sessions_that_are_compared() -> None:
    for target in members.TARGETS:
        session = typing.get_type_hints(target.connect)["return"]
        assert session is DatabaseSession or session in members.SESSIONS, target


def test_openers_are_annotated_with_the_protocol() -> None:
    """A concrete class there would keep mypy from comparing it with the protocol."""
    for kind in registry.names("targets"):
        assert typing.get_type_hints(load_target(kind).open_target)["return"] is Target, kind
    for name in registry.names("measure.samplers"):
        assert typing.get_type_hints(load_sampler(name).open_sampler)["return"] is Sampler, name


def test_samplers_are_ordered_by_their_preference() -> None:
    preferences = {name: load_sampler(name).PREFERENCE for name in registry.names("measure.samplers")}
    assert len(set(preferences.values())) == len(preferences), f"two samplers are preferred alike: {preferences}"
    least = min(preferences, key=lambda name: preferences[name])
    assert least == "none", f"{least} is preferred less than none, which is what is left: a PREFERENCE above 0"
    # A way that costs less and sees more comes first. A new one is not named here.
    usual = ["procfs", "ssh", "container", "sql", "trace"]
    assert sorted(usual, key=lambda name: -preferences[name]) == usual


NEED_NO_HOST = {"none"}
"""Samplers that read nothing of a host."""


@pytest.mark.parametrize("name", registry.names("measure.samplers"))
def test_a_sampler_says_why_it_cannot_be_used_without_a_host(name: str) -> None:
    reason = load_sampler(name).unavailable(typing.cast("Host | None", None))
    what_to_do = f"without a host {name}.unavailable(None) has to say why, or {name} is in NEED_NO_HOST: {reason!r}"
    assert (reason is None) == (name in NEED_NO_HOST), what_to_do


@pytest.mark.parametrize("name", sorted({*registry.names("measure.experiments")} - {"together"}))
def test_an_experiment_orders_its_rounds_and_names_itself_in_the_plan(name: str) -> None:
    """The plan of ``together`` needs open targets: tests/server/test_experiments.py."""
    options = ExperimentOptions(for_s=60.0, sizes=("tiny",), pieces=10)
    shape = load_experiment(name).open_experiment(options)
    specs = shape.specs((1, 4), 3, 1, ("baseline",))
    assert [spec.order for spec in specs] == list(range(len(specs)))
    assert {spec.level for spec in specs} == {1, 4}
    workload = WorkloadInfo("cartesian", "tiny", 20, 160_000, "select 1", "0", "1")
    plan = Plan("fake", workload, (1, 4), 3, 1, None, None, "none", 20.0, 2, "--vcpus")
    assert shape.planned(plan, FakeTarget()).experiment == name


def test_class_names_of_targets_samplers_and_experiments_are_unique() -> None:
    names = [
        node.name
        for folder in ("targets", "measure")
        for file in (KIT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name in names if names.count(name) > 1} <= {"Stretch"}


def test_the_list_for_mypy_is_where_mypy_looks() -> None:
    assert Path(inspect.getfile(members)).is_relative_to(ROOT / "tests")
