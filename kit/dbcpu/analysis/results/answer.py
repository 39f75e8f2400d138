"""Yes, no or undecided: the answer to one question about a level or a size."""

from enum import StrEnum


class Answer(StrEnum):
    """What is known of one question. Not having found a difference is ``UNDECIDED``."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
