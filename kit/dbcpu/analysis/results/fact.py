"""One figure of an answer, as it stands in large letters."""

from msgspec import Struct


class Fact(Struct, frozen=True):
    """One figure: ``value`` large, ``name`` above and ``beside`` below it. ``code``: the main cause, as in JSON."""

    name: str
    value: str
    beside: str = ""
    code: str = ""
