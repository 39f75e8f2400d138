"""dbcpu's own formats as tests ask for them, and a document in each of them as when somebody last looked at it."""

from collections.abc import Callable

from dbcpu import registry
from dbcpu.errors import UsageError
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import ROOM, load_format

FORMS = registry.names(ROOM)
TEXT_FORMS = tuple(form for form in FORMS if form != "html" and not load_format(form).BINARY)
"""A page has drawings, which tests of their own compare."""


def as_last_seen(document: Document, form: str, folder: str, golden: Callable[[str, str], None]) -> None:
    """Compare with tests/golden/FOLDER/FORM.SUFFIX; a format that is not for such documents has to say so."""
    member = load_format(form)
    try:
        text = member.render(document)
    except UsageError as refusal:
        assert f"a {document.name} is not shown as {form}" in str(refusal)
        return
    assert isinstance(text, str)
    golden(f"{folder}/{form}{member.SUFFIX}", text)
