"""A room's members, listed without importing them and loaded one at a time.

A room is a sub-package; a member is one module in it; ``base`` is the room's Protocol, and a file whose name begins
with an underscore serves the members and is none. The module itself is the member: it has the attributes that
``base`` asks for. A driver that is not installed therefore never stops another member from loading.

An installed package may add members to the rooms of ``GROUPS`` by entry points. They are looked up only for a name
that the room does not have, and where all names are listed; a member of the room itself always wins.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from dbcpu.errors import DbcpuError, PlugInError, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable

GROUPS = {"targets": "dbcpu.targets", "measure.samplers": "dbcpu.samplers", "reports.formats": "dbcpu.formats"}
"""Entry-point group by room, for the rooms that installed packages may add to."""


def names(room: str) -> tuple[str, ...]:
    """Names of the room's own members, sorted; nothing of theirs is imported."""
    return tuple(sorted(_modules(room)))


def all_names(room: str) -> tuple[str, ...]:
    """``names`` and those that installed packages add, sorted; nothing of theirs is imported."""
    return tuple(sorted({*_modules(room), *_plug_ins(room)}))


def is_known(room: str, name: str) -> bool:
    """Whether ``name`` is a member of the room, or one that an installed package adds."""
    return name in _modules(room) or name in _plug_ins(room)


def load(room: str, name: str) -> ModuleType:
    """Import one member.

    Raises:
        UnknownName: there is no such member; the message lists those there are.
        PlugInError: an installed package adds it and it cannot be used.
    """
    modules = _modules(room)
    if name in modules:
        return importlib.import_module(modules[name])
    offers = _plug_ins(room).get(name)
    if offers is None:
        raise UnknownName(_noun(room), name, all_names(room))
    return _loaded(room, name, offers)


def beside(room: str, name: str, folder: str) -> "Traversable | None":
    """A folder beside the module of an installed package; None for the room's own members. Raises as ``load``."""
    if name in _modules(room) or name not in _plug_ins(room):
        return None
    from importlib.resources import files

    member = load(room, name)
    return files(member if hasattr(member, "__path__") else member.__package__ or "") / folder


def misfit(room: str, name: str, needed: str) -> PlugInError:
    """The error for a member that lacks what its room's Protocol asks for; ``needed`` names it."""
    return PlugInError(f"{_member(room, name)} cannot be used: its module has to offer {needed}")


@contextmanager
def called(room: str, name: str) -> Iterator[None]:
    """Within it a member is called: an error of a package's own code is a PlugInError that names the package."""
    try:
        yield
    except (DbcpuError, BrokenPipeError):
        raise
    except Exception as error:
        if name in _modules(room):
            raise
        raise PlugInError(
            f"{_member(room, name)} failed ({type(error).__name__}: {error}); repair or uninstall it"
        ) from error


def clashes() -> tuple[str, ...]:
    """A sentence for each name that an installed package offers and that is taken already."""
    found = []
    for room in GROUPS:
        own = _modules(room)
        for name, offers in sorted(_plug_ins(room).items()):
            packages = " and ".join(map(_package, offers))
            if name in own:
                found.append(f"{_noun(room)} {name!r} of {packages} is not used: dbcpu has one of that name")
            elif len(offers) > 1:
                found.append(f"{_noun(room)} {name!r} is not used: {packages} both offer it")
    return tuple(found)


def _loaded(room: str, name: str, offers: "tuple[EntryPoint, ...]") -> ModuleType:
    what = f"{_noun(room)} {name!r}"
    if len(offers) > 1:
        raise PlugInError(f"{what} is offered by {' and '.join(map(_package, offers))}; uninstall one of them")
    package = _package(offers[0])
    try:
        member = offers[0].load()
    except (Exception, SystemExit) as error:  # whatever a foreign module does while it is imported
        raise PlugInError(
            f"{what} of {package} could not be imported ({type(error).__name__}: {error}); repair or uninstall it"
        ) from error
    if not isinstance(member, ModuleType):
        raise PlugInError(f"{what} of {package} cannot be used: its entry point has to name a module")
    return member


@cache
def _plug_ins(room: str) -> "dict[str, tuple[EntryPoint, ...]]":
    """What installed packages offer to ``room``, by name. The import takes 10 ms and more: it is done on use."""
    if room not in GROUPS:
        return {}
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for offer in sorted(entry_points(group=GROUPS[room]), key=_package):
        found[offer.name] = (*found.get(offer.name, ()), offer)
    return found


def _member(room: str, name: str) -> str:
    packages = " and ".join(map(_package, _plug_ins(room).get(name, ()))) or "dbcpu"
    return f"{_noun(room)} {name!r} of {packages}"


def _package(offer: "EntryPoint") -> str:
    return f"package {offer.dist.name} {offer.dist.version}" if offer.dist else "an unnamed package"


def _noun(room: str) -> str:
    return room.rpartition(".")[2].removesuffix("s")


@cache
def _modules(room: str) -> dict[str, str]:
    """Full module names by the members' names: ``import_`` is called ``import``. A folder is listed once: help asks
    for each command."""
    package = importlib.import_module(f"dbcpu.{room}")
    found = (module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    leaves = {full.rpartition(".")[2]: full for full in found}
    return {leaf.rstrip("_"): full for leaf, full in leaves.items() if leaf != "base" and not leaf.startswith("_")}
