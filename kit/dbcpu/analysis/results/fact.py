"""One figure of an answer, as it stands in large letters."""

from msgspec import Struct

from dbcpu.analysis.results.cause import Cause


class Fact(Struct, frozen=True):
    """One figure: ``value`` large, ``name`` above and ``beside`` below it. ``cause``: the main one, if that is it."""

    name: str
    value: str
    beside: str = ""
    cause: Cause | None = None
