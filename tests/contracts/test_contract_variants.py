"""Every variant offers what ``variants.base`` asks for and no more in public, and the documentation lists it."""

import ast
import inspect
import re
import typing

import pytest

from dbcpu import registry
from dbcpu.analysis.comparison.alike_variants import alike_up_to
from dbcpu.analysis.comparison.measured_remedy import DONE_BY
from dbcpu.hosts.interrupts import Interrupts
from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_host
from dbcpu.record.header import BASELINE, Database
from dbcpu.record.plan import ACTIVE, PACK, SPREAD
from dbcpu.simulator.variants import NAMES
from dbcpu.variants import (
    active,
    baseline,
    cage,
    cpus,
    irq,
    memory,
    ncpus,
    node,
    one_per_core,
    pack,
    policy,
    smt_off,
    spread,
)
from dbcpu.variants._selection import list_variants
from dbcpu.variants.base import (
    CountsPerCpu,
    HasFindings,
    MayBeSo,
    NeedsRoot,
    ReachesOthers,
    ReadsInterrupts,
    TakesCpusOffline,
    UsesTools,
    VariantContext,
    VariantModule,
    load_variant,
)
from support.paths import HOSTS
from support.paths import ROOT as PROJECT

ORACLE = {"cpu_count": "16", "instance_name": "ORCL1", "resource_manager_plan": "DAY_PLAN", "cpu_managed": "ON"}

# mypy compares each module with its protocols here.
MODULES: tuple[VariantModule, ...] = (
    active, baseline, cage, cpus, irq, memory, ncpus, node, one_per_core, pack, policy, smt_off, spread,
)  # fmt: skip
OFFLINE: TakesCpusOffline = smt_off
FINDINGS: tuple[HasFindings, ...] = (cage, node, policy)
TOOLS: tuple[UsesTools, ...] = (memory, node)
ROOT: tuple[NeedsRoot, ...] = (irq, smt_off)
OTHERS: ReachesOthers = cage
INTERRUPTS: ReadsInterrupts = irq
COUNTS: CountsPerCpu = cpus

OPTIONAL = (MayBeSo, TakesCpusOffline, HasFindings, ReachesOthers, UsesTools, ReadsInterrupts, NeedsRoot, CountsPerCpu)
every_variant = pytest.mark.parametrize("name", registry.names("variants"))


def parts(protocol: type) -> dict[str, typing.Any]:
    """What a protocol asks for by name: a function, or the type of a constant."""
    functions = {name: value for name, value in vars(protocol).items() if inspect.isfunction(value)}
    asked = {**typing.get_type_hints(protocol), **functions}
    return {name: value for name, value in asked.items() if not name.startswith("_")}


def test_mypy_sees_every_variant() -> None:
    assert {getattr(module, "__name__", "") for module in MODULES} == {
        f"dbcpu.variants.{name}" for name in registry.names("variants")
    }, "MODULES in this file lists them for mypy"


@every_variant
def test_a_variant_has_nothing_in_public_that_nobody_asks_for(name: str) -> None:
    asked = {part for protocol in (VariantModule, *OPTIONAL) for part in parts(protocol)}
    own: set[str] = set()
    for statement in ast.parse(inspect.getsource(registry.load("variants", name))).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            own.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
            own.update(target.id for target in targets if isinstance(target, ast.Name))
    public = {part for part in own if not part.startswith("_")}
    assert public <= asked, "a misspelt part, or a helper without underscore"


@every_variant
def test_a_variant_only_plans(name: str) -> None:
    """Of its room it imports ``base`` alone: not another variant, and nothing that changes a setting."""
    imported: set[str] = set()
    for statement in ast.walk(ast.parse(inspect.getsource(registry.load("variants", name)))):
        if isinstance(statement, ast.ImportFrom):
            imported.update({str(statement.module), *(f"{statement.module}.{alias.name}" for alias in statement.names)})
        elif isinstance(statement, ast.Import):
            imported.update(alias.name for alias in statement.names)
    room = {module for module in imported if module.startswith("dbcpu.variants")}
    assert {module for module in room if not module.startswith("dbcpu.variants.base")} == set()


@every_variant
def test_what_a_variant_may_offer_has_the_signature_of_its_protocol(name: str) -> None:
    module = load_variant(name)
    for protocol in OPTIONAL:
        for part, asked in parts(protocol).items():
            offered = getattr(module, part, None)
            if offered is None:
                continue
            if inspect.isfunction(asked):
                assert typing.get_type_hints(offered) == typing.get_type_hints(asked), f"{name}.{part}"
            else:
                assert isinstance(offered, typing.get_origin(asked) or asked), f"{name}.{part}"


@every_variant
def test_a_variant_describes_itself_in_a_few_words(name: str) -> None:
    module = load_variant(name)
    assert module.SCOPE in {"plan", "server", "host", "process"}, "variants/base.py says what it is"
    assert 10 <= len(module.HELP) <= 70
    assert not module.HELP.endswith(".")


def test_variants_that_others_name_exist() -> None:
    assert {BASELINE, SPREAD, PACK, ACTIVE} <= {*registry.names("variants")}
    for name, _, argument in (each.partition(":") for each in NAMES):
        assert bool(argument) is bool(load_variant(name).ARGUMENT), f"{name} is simulated with another form"
        load_variant(name).check(argument)
    assert {*DONE_BY} <= {*registry.names("variants")}
    for name in registry.names("variants"):
        module = load_variant(name)
        if isinstance(module, CountsPerCpu):
            assert load_variant(module.COUNTED_AS).ARGUMENT.isdecimal()
        if isinstance(module, NeedsRoot):
            assert any(word.rstrip(":") in registry.names("variants") for word in module.ROOT_HINT.split())


@every_variant
def test_explaining_knows_up_to_how_many_sessions_a_variant_plans_nothing(name: str) -> None:
    """The analysis may not ask the member: what it says of a name has to be what the member plans."""
    module = load_variant(name)
    database = Database("oracle", "19.20", ORACLE) if name == "cage" else Database("postgresql", "18.4")
    tools, queues = frozenset({"numactl"}), Interrupts({24: (0, 79)})
    host = read_host(open_host(str(HOSTS / "two-sockets.tar.gz")))
    there = VariantContext(host, database, own_server=True, tools=tools, interrupts=queues)
    written = f"{name}:{module.ARGUMENT}" if module.ARGUMENT else name
    for level in range(1, 13):
        plans = module.changes(module.ARGUMENT, there, level)
        offline = module.offline_cpus(module.ARGUMENT, there) if isinstance(module, TakesCpusOffline) else ()
        assert (level <= alike_up_to(BASELINE, written)) is not bool(plans or offline), f"{written}, N={level}"


def test_the_documentation_lists_every_variant() -> None:
    section = (PROJECT / "docs" / "varying.md").read_text("utf-8").partition("## The variants")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    listed = sorted(name for name, _ in list_variants())
    assert sorted(documented) == listed, "docs/varying.md, 'The variants', has them with their arguments"
