"""Why a session took longer: every cause with all that is said and drawn of it.

A new cause is one entry here and the rule that claims it (``analysis.causes``).
"""

from enum import StrEnum

from dbcpu.record.run_findings import ALL_LEVELS, AS_JSON, DEDICATED

PLAN_WITH_TURBO = (
    "plan with the times measured with as many sessions as you run: a turbo frequency that falls with the number of "
    "busy cores is normal"
)
BELOW_BASE = ". If the clock is below its base frequency, `cpupower frequency-set -g performance`"
SEVERAL_TIMES = (
    "several times (`dbcpu show last --history`): cores shared with CPUs of this host or of another tenant, or a lower "
    "frequency, may be why"
)


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
    remedy: str
    """What helps against it in general, where no finding fits; '' if nothing was lost."""
    others: tuple[str, ...]
    """Codes of findings about others on the host that come before ``helped_by``, while there is room for all sessions
    and no disturbance is larger: where there is a CPU or core for each, others had it.
    """

    def __new__(
        cls,
        name: str,
        words: str = "",
        colour: str = "",
        mark: str = "",
        sentence: str = "",
        helped_by: tuple[str, ...] = (),
        remedy: str = "",
        others: tuple[str, ...] = (),
    ) -> "Cause":
        cause = str.__new__(cls, name)
        cause._value_ = name
        cause.words, cause.sentence, cause.colour, cause.mark = words, sentence, colour, mark
        cause.helped_by, cause.remedy, cause.others = helped_by, remedy, others
        return cause

    # An Enum's own hash is a function of Python, and every count by cause asks for it.
    __hash__ = str.__hash__

    @classmethod
    def of(cls, name: str) -> "Cause | None":
        """The one that a kept figure names; None for '', and for one that only a newer version has."""
        return next((cause for cause in cls if cause == name), None)

    @property
    def is_known(self) -> bool:
        """Whether something was lost, and to what is known."""
        return self not in (Cause.NONE, Cause.UNEXPLAINED)

    NONE = "none", "within tolerance", "#8a949e", "o", "the evidence does not account for it"
    SHARED_CORE = (
        "shared_core", "shared core", "#d55e00", "s", "sessions ran on both hardware threads of one core",
        ("misplaced", "shared-cores", "cores-fewer-than-shown"),
        "run no more sessions than cores, or switch SMT off (EC2, RDS: `ThreadsPerCore=1`)",
        ("foreign-load",),
    )  # fmt: skip
    RUN_QUEUE = (
        "run_queue", "run-queue wait", "#0072b2", "^", "another session or process had the CPU",
        ("misplaced", "oversubscribed"),
        "look for pinned sessions (`taskset -cp PID`) and for other work on these CPUs (`top -H`)",
        ("foreign-load",),
    )  # fmt: skip
    STEAL = (
        "steal", "CPU steal", "#7e257e", "D", "", ("steal",),
        f"{DEDICATED}, or a CPU reservation in the hypervisor",
    )  # fmt: skip
    THROTTLED = (
        "throttled", "CPU quota", "#a28e4e", "v", "", ("throttled", "cpu-quota", "hidden-quota"),
        "raise `cpu.max` (systemd: `CPUQuota=`, containers: `--cpus`)",
    )  # fmt: skip
    FREQUENCY = (
        "frequency", "lower frequency", "#e73c80", "P", "", (),
        f"{PLAN_WITH_TURBO}{BELOW_BASE}",
    )  # fmt: skip
    REMOTE_MEMORY = (
        "remote_memory", "remote memory", "#24464c", "X", "", (),
        "bind the database to one node if the CPUs of that node are enough for it: `numactl --cpunodebind=N "
        "--membind=N`, or spread its memory over all nodes: `numactl --interleave=all`",
    )  # fmt: skip
    COMPETITOR = (
        "competitor", "other processes", "#356e46", "p", "", ("foreign-load", "host-busy"),
        "stop the other processes, or keep them off these CPUs (`systemctl set-property UNIT AllowedCPUs=...`)",
    )  # fmt: skip
    IRQ = (
        "irq", "interrupts", "#435719", "h", "", (),
        "move interrupts to other CPUs: `/proc/irq/N/smp_affinity_list`, `irqbalance`",
    )  # fmt: skip
    RESOURCE_MANAGER = (
        "resource_manager", "resource manager", "#651ad5", "<", "", ("resource-manager-waits",),
        "raise the limit of the resource plan, or `cpu_count` for instance caging",
    )  # fmt: skip
    WAIT = (
        "wait", "non-CPU wait", "#4197c8", ">", "", ("physical-io",),
        f"look at the wait events of the sessions: {AS_JSON}",
    )  # fmt: skip
    STOPPED = (
        "stopped", "stopped", "#000000", "d", "", (),
        "find who stops the server processes (a debugger, a frozen control group: `cgroup.freeze`)",
    )  # fmt: skip
    SLOWER_CPU = (
        "slower_cpu", "slower CPU", "#4c3f24", "H",
        "the same work needed more CPU time, for a reason that was not seen",
        ("cores-fewer-than-shown", "strangers-on-siblings", "unsteady-cpu"),
        f"{ALL_LEVELS}, and at {SEVERAL_TIMES}",
    )  # fmt: skip
    UNEXPLAINED = (
        "unexplained", "unexplained", "#6b6b6b", "x", "the evidence does not account for it", ("not-sampled",),
        "measure again with longer executions; as root, `dbcpu run --sampler trace` records what ran instead",
    )  # fmt: skip


CAUSES = tuple(Cause)
"""In the order in which columns, legends and charts have them."""
WAITS_FOR_CPU = frozenset({Cause.RUN_QUEUE, Cause.COMPETITOR})
"""One wait in a run queue, by who ran meanwhile."""
HELPED_FIRST = frozenset(code for cause in Cause for code in cause.others)
"""Codes of findings whose remedy comes before all others where no disturbance is larger."""
HELPED_LAST = {"strangers-on-siblings": "CPUs that change speed"}
"""Codes of findings whose remedy comes after those of all causes, and against what it is."""
