"""Yes, no or undecided: the answer to one question about a level or a size; and what the answers of a run come to."""

from enum import StrEnum


class Answer(StrEnum):
    """What is known of one question. Not having found a difference is ``UNDECIDED``."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class Outcome(StrEnum):
    """What the answers of a run, an experiment or a comparison come to."""

    GOOD = "good"
    PARTLY = "partly"
    """Of a run: something is lost only above the vCPUs."""
    BAD = "bad"
    UNKNOWN = "unknown"
    NEITHER = ""
    """Something is found that is neither good nor bad."""
