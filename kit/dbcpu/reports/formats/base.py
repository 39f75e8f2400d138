"""A format in which a document is shown: one module per format, which renders any document and computes nothing.

A member offers ``SUFFIX`` (``.md``), ``BINARY``, ``IN_FOLDER`` (a folder of files has it by default) and
``render(document, pictures)``; one for a terminal offers ``show(document, console)`` as well.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dbcpu import registry

if TYPE_CHECKING:
    from dbcpu.reports.document import Document

ROOM = "reports.formats"
Pictures = Mapping[str, bytes]
"""SVG files by name, without suffix."""
NO_PICTURES: Pictures = MappingProxyType({})


@runtime_checkable
class FormatModule(Protocol):
    """What a member module looks like.

    ``pictures`` stand beside the file: a text may link to them, a page shows them (and draws what it lacks).
    """

    SUFFIX: str
    BINARY: bool
    IN_FOLDER: bool

    def render(self, document: "Document", pictures: Pictures = NO_PICTURES) -> str | bytes:
        """Raises UsageError where the format is not for documents of this kind."""
        ...


def load_format(name: str) -> FormatModule:
    """The member called ``name``. Raises UnknownName, PlugInError."""
    member = registry.load(ROOM, name)
    if not isinstance(member, FormatModule):
        raise registry.misfit(ROOM, name, "SUFFIX, BINARY, IN_FOLDER and render(document, pictures)")
    if not isinstance(member.SUFFIX, str):
        raise registry.misfit(ROOM, name, "a SUFFIX that is text")
    return member


def rendered(name: str, member: FormatModule, document: "Document", pictures: Pictures = NO_PICTURES) -> str | bytes:
    """The document in the format ``member``, which is called ``name``. Raises PlugInError, and as ``render``."""
    with registry.called(ROOM, name):
        content = member.render(document, pictures)
    if not isinstance(content, bytes if member.BINARY else str | bytes):
        raise registry.misfit(ROOM, name, f"a render that returns {'bytes' if member.BINARY else 'text or bytes'}")
    return content


def format_names() -> tuple[str, ...]:
    """All of them, by name; nothing is imported."""
    return registry.all_names(ROOM)
