"""A room's members, listed without importing them and loaded one at a time.

A room is a sub-package; a member is one module in it; ``base`` is the room's Protocol, and a file whose name begins
with an underscore serves the members and is none. The module itself is the member: it has the attributes that
``base`` asks for. A driver that is not installed therefore never stops another member from loading.
"""

import importlib
import pkgutil
from types import ModuleType

from dbcpu.errors import UnknownName


def names(room: str) -> tuple[str, ...]:
    """Names of all members of ``room``, sorted; nothing of theirs is imported."""
    return tuple(sorted(_modules(room)))


def load(room: str, name: str) -> ModuleType:
    """Import one member.

    Raises:
        UnknownName: there is no such member; the message lists those there are.
    """
    modules = _modules(room)
    if name not in modules:
        raise UnknownName(room.rpartition(".")[2].rstrip("s"), name, tuple(sorted(modules)))
    return importlib.import_module(modules[name])


def _modules(room: str) -> dict[str, str]:
    """Full module names by the members' names: ``import_`` is called ``import``."""
    package = importlib.import_module(f"dbcpu.{room}")
    found = (module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    leaves = {full.rpartition(".")[2]: full for full in found}
    return {leaf.rstrip("_"): full for leaf, full in leaves.items() if leaf != "base" and not leaf.startswith("_")}
