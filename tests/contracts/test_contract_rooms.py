"""Every member of every room keeps what its room's base.py promises; a new member is tested the day it appears."""

import ast
import importlib
import inspect
import subprocess
import sys
import typing
from pathlib import Path
from types import ModuleType

import pytest

import dbcpu
from dbcpu import registry
from dbcpu.config.request import Request
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape
from dbcpu.measure.samplers.base import Sampler
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import Pictures
from dbcpu.targets.base import Target
from dbcpu.variants.base import Change, VariantContext

ROOMS = ("reports.formats", "measure.experiments", "measure.samplers", "targets", "variants")
MEMBERS = [(room, name) for room in ROOMS for name in registry.names(room)]
FUNCTIONS: dict[str, dict[str, dict[str, typing.Any]]] = {
    # room -> function -> parameter name -> type; "return" is the result
    "reports.formats": {"render": {"document": Document, "pictures": Pictures, "return": str | bytes}},
    "measure.experiments": {"open_experiment": {"options": ExperimentOptions, "return": ExperimentShape}},
    "measure.samplers": {
        "host_route": {"configured": str | None, "return": str | None},
        "unavailable": {"host": Host | None, "return": str | None},
        "open_sampler": {"host": Host | None, "hz": float, "return": Sampler},
    },
    "variants": {
        "check": {"argument": str, "return": None},
        "why_not": {"argument": str, "context": VariantContext, "return": str | None},
        "changes": {"argument": str, "context": VariantContext, "sessions": int, "return": tuple[Change, ...]},
    },
    "targets": {"open_target": {"request": Request, "guard": Guard, "return": Target}},
}

every_member = pytest.mark.parametrize(("room", "name"), MEMBERS, ids=[f"{room}-{name}" for room, name in MEMBERS])


def source(module: ModuleType) -> Path:
    return Path(inspect.getfile(module))


@every_member
def test_a_member_has_what_its_room_asks_for(room: str, name: str) -> None:
    module = registry.load(room, name)
    for function_name, expected in FUNCTIONS[room].items():
        function = getattr(module, function_name, None)
        assert callable(function), f"{module.__name__} has no {function_name}; {room}/base.py says what it is"
        hints = typing.get_type_hints(function)
        assert list(inspect.signature(function).parameters) == [key for key in expected if key != "return"]
        for parameter, kind in expected.items():
            if parameter != "return":
                assert hints[parameter] == kind, f"{module.__name__}.{function_name}({parameter})"
        assert "return" in hints


@pytest.mark.parametrize("name", registry.names("reports.formats"))
def test_a_renderer_says_its_suffix_and_whether_it_is_binary(name: str) -> None:
    module = registry.load("reports.formats", name)
    assert isinstance(module.BINARY, bool)
    assert isinstance(module.IN_FOLDER, bool)
    assert module.SUFFIX.startswith(".")
    returned = typing.get_type_hints(module.render)["return"]
    assert returned == (bytes if module.BINARY else str)


@every_member
def test_a_member_is_described_in_one_sentence_first(room: str, name: str) -> None:
    docstring = registry.load(room, name).__doc__ or ""
    first = docstring.strip().split("\n\n")[0]
    assert first.endswith((".", ":", "?")), f"{room}/{name}.py begins with {first!r}"
    assert ". " not in first.replace("i.e. ", ""), f"{room}/{name}.py begins with more than one sentence"


@every_member
def test_members_do_not_import_each_other(room: str, name: str) -> None:
    others = {f"dbcpu.{room}.{other}" for other in registry.names(room) if other != name}
    file = source(registry.load(room, name))
    for each in file.parent.rglob("*.py") if file.name == "__init__.py" else [file]:
        assert not imports(each) & others, each


def imports(file: Path) -> set[str]:
    """Every module, and everything that may be one, that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: imports are absolute"
            found.update({str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


def test_names_are_listed_and_a_member_is_loaded_without_importing_the_others() -> None:
    script = (
        "import sys; from dbcpu import registry\n"
        f"for room in {ROOMS!r}: assert registry.names(room), room\n"
        f"members = [m for m in sys.modules if m.removeprefix('dbcpu.').rpartition('.')[0] in {ROOMS!r}]\n"
        "assert not members, members\n"
        "registry.load('targets', 'sqlite')\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'sqlalchemy', 'psycopg', 'oracledb', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_modules_are_described_and_not_overlong() -> None:
    root = source(dbcpu).parent
    for file in root.rglob("*.py"):
        text = file.read_text("utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{file.relative_to(root)} has no docstring"
        assert text.count("\n") <= 400, f"{file.relative_to(root)} has over 400 lines: split it by job"


def test_no_module_is_a_box_for_everything() -> None:
    root = source(importlib.import_module("dbcpu")).parent
    for file in root.rglob("*.py"):
        assert file.stem not in {"utils", "helpers", "types", "common", "misc"}, file


def test_a_public_class_has_a_name_of_its_own() -> None:
    """But ``Store``: what the Python API offers of one is called as what it opens, whoever reads it."""
    root = source(dbcpu).parent
    where: dict[str, list[str]] = {}
    for file in root.rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(str(file.relative_to(root)))
    assert {name for name, files in where.items() if len(files) > 1} == {"Store"}, "two classes of one name"
