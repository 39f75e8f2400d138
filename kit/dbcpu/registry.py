"""A room's members, listed without importing them and loaded one at a time.

A room is a sub-package; a member is one module in it; ``base`` is the room's Protocol. The module
itself is the member: it has the attributes that ``base`` asks for. A driver that is not installed
therefore never stops another member from loading.
"""

import importlib
import pkgutil
from types import ModuleType

from dbcpu.errors import UnknownName


def names(room: str) -> tuple[str, ...]:
    """Names of all members of ``room``, sorted; nothing of theirs is imported."""
    package = importlib.import_module(f"dbcpu.{room}")
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name.rstrip("_") for name in found if name != "base"))


def load(room: str, name: str) -> ModuleType:
    """Import one member.

    Raises:
        UnknownName: there is no such member; the message lists those there are.
    """
    known = names(room)
    if name not in known:
        raise UnknownName(room.rstrip("s"), name, known)
    package = importlib.import_module(f"dbcpu.{room}")
    modules = {module.name.rstrip("_"): module.name for module in pkgutil.iter_modules(package.__path__)}
    return importlib.import_module(f"dbcpu.{room}.{modules[name]}")
