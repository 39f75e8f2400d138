"""Nothing is changed: what the other variants are compared with."""

from dbcpu.record.header import BASELINE
from dbcpu.variants.base import Change, VariantContext, no_argument

SCOPE = "plan"
ARGUMENT = ""
HELP = "nothing is changed"


def check(argument: str) -> None:
    no_argument(BASELINE, argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    return ()
