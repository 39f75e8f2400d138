"""Why a session took longer: every cause with all that is said and drawn of it.

A new cause is one entry here and the rule that claims it (``analysis.causes``).
"""

from enum import StrEnum


class Cause(StrEnum):
    """A cause by its public name, which is its value."""

    words: str
    """As people read it."""
    sentence: str
    """What it means, after the words in a verdict; '' where they say it all."""
    colour: str
    mark: str
    """Colour and mark in charts: colour-blind people see the difference, and the marks do without colour (tested)."""
    helped_by: tuple[str, ...]
    """Codes of the findings whose remedy applies, the best first."""
    counted: bool
    """The kernel or the database counts the time lost to it; else it is inferred from where sessions were seen."""

    def __new__(
        cls,
        name: str,
        words: str = "",
        colour: str = "",
        mark: str = "",
        sentence: str = "",
        helped_by: tuple[str, ...] = (),
        counted: bool = False,
    ) -> "Cause":
        cause = str.__new__(cls, name)
        cause._value_ = name
        cause.words, cause.sentence, cause.colour, cause.mark = words, sentence, colour, mark
        cause.helped_by, cause.counted = helped_by, counted
        return cause

    @property
    def is_known(self) -> bool:
        """Whether something was lost, and to what is known."""
        return self not in (Cause.NONE, Cause.UNEXPLAINED)

    NONE = "none", "no loss", "#8a949e", "o", "the evidence does not account for it"
    SHARED_CORE = (
        "shared_core", "shared core", "#d55e00", "s", "two sessions on the hardware threads of one core",
        ("misplaced", "shared-cores", "cores-fewer-than-shown"),
    )  # fmt: skip
    RUN_QUEUE = (
        "run_queue", "run-queue wait", "#0072b2", "^", "sessions queued for the same CPU though there were enough",
        ("misplaced", "oversubscribed"), True,
    )  # fmt: skip
    STEAL = "steal", "CPU steal", "#7e257e", "D", "", ("steal",), True
    THROTTLED = "throttled", "CPU quota", "#a28e4e", "v", "", ("throttled",), True
    FREQUENCY = "frequency", "lower frequency", "#e73c80", "P"
    REMOTE_MEMORY = "remote_memory", "remote memory", "#24464c", "X"
    COMPETITOR = "competitor", "other processes", "#356e46", "p", "", ("foreign-load",)
    IRQ = "irq", "interrupts", "#435719", "h", "", (), True
    RESOURCE_MANAGER = "resource_manager", "resource manager", "#651ad5", "<", "", (), True
    WAIT = "wait", "non-CPU wait", "#4197c8", ">", "", (), True
    STOPPED = "stopped", "stopped", "#000000", "d"
    SLOWER_CPU = (
        "slower_cpu", "slower CPU", "#4c3f24", "H", "the same work needed more CPU time, and nothing seen says why",
        ("cores-fewer-than-shown", "slow-together"),
    )  # fmt: skip
    UNEXPLAINED = "unexplained", "unexplained", "#6b6b6b", "x", "the evidence does not account for it"


CAUSE_WORDS = {cause.value: cause.words for cause in Cause}
"""A cause as people read it."""
