"""Everything as it is: what the other variants are held against."""

from dbcpu.variants.base import Change, Place, no_argument

SCOPE = "plan"
ARGUMENT = ""


def check(argument: str) -> None:
    no_argument("baseline", argument)


def why_not(argument: str, place: Place) -> str | None:
    return None


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    return ()
