"""A run that can be given away: names are replaced, each by the same one everywhere; every number stays.

What is done to a text is decided by where it stands (``RULES``), never by guessing what it is, so that a name which
looks like a word is replaced too. Text that others wrote (errors, notes, labels) is left out but for its codes.
"""

import re
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from dbcpu import registry
from dbcpu.record.header import ANONYMOUS, Database, Driver, Header, HostInfo, Limits, Party, Plan, WorkloadInfo
from dbcpu.record.rounds import (
    CgroupUse,
    Clock,
    CpuPressure,
    Foreign,
    HostCounters,
    RanInstead,
    Round,
    RunRecord,
    Server,
    Session,
    Trace,
    Wait,
)

LEFT_OUT = "(text left out)"
MAX_RUN_ID = 64
_CODE = re.compile(r"\b(?:ORA|DPY|DPI|TNS|SP2)-\d{4,5}\b")
_NOTE_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?=: )")
_KERNEL = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_PLAIN_VALUE = re.compile(r"-?[0-9]+(?:\.[0-9]+)*\s?(?:[kKMGTPB]+|B|kB|MB|GB|TB|ms|s|min|h|d|us|%)?")
_WORDS = frozenset({
    "on", "off", "auto", "true", "false", "yes", "no", "none", "default", "minimal", "replica", "logical", "typical",
    "basic", "all", "manual", "enable", "enabled", "disable", "disabled", "force", "try", "sync", "worker",
    "io_uring", "utf8", "sql_ascii", "latin1", "al32utf8", "adaptive", "limited", "unlimited", "local", "remote",
    "partial", "full", "always", "never", "exact", "similar", "choose", "spread", "memory", "dedicated", "shared",
    "pooled", "aix",
})  # fmt: skip
_GENERIC = re.compile(
    r"(?:kworker|ksoftirqd|migration|rcu\w*|kswapd|kcompactd|khugepaged|kthreadd|irq|jbd2|kauditd|watchdog)\b.*"
    r"|systemd(?:-\w+)?|postgres|oracle|sqlite3|mysqld|java|python[0-9.]*|perl|(?:ba|da|k|z)?sh|busybox|gzip|dd|sshd|cron|crond"
    r"|dockerd|containerd|kubelet|qemu-system-x86_64|top|ps|awk|mawk|gawk|sleep|cat|make|cc1|cc1plus|node|ruby"
)
_CLOCKS = frozenset({"server", "same host", "the session's clock", "simulated"})
_FACTS_KEPT = frozenset({
    "sched_autogroup", "sched_ext", "sched_ext_scheduler", "sched_schedstats", "numa_balancing", "isolated_cpus",
    "nohz_full_cpus", "cpufreq_driver", "performance_cpus", "efficiency_cpus", "cpufreq_boost", "intel_no_turbo",
    "clocksource", "boot_options", "transparent_hugepage", "lxcfs", "cpuset", "affinity", "kernel_nodes", "model",
    "node_distances", "node_free_memory", "hidden_processes",
})  # fmt: skip
"""What they say is the kernel's, not the owner's."""


class Names:
    """Replacements, given out in the order in which names are met."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}

    def name(self, kind: str, text: str) -> str:
        """``kind-1`` and so on; the empty text stays."""
        if not text:
            return text
        number = 1 + sum(known == kind for known, _ in self._given)
        return self._given.setdefault((kind, text), f"{kind}-{number}")

    def path(self, text: str) -> str:
        """Each part of a path, so that what lies below what can still be seen."""
        return "/".join(self.name("group", part) for part in text.split("/"))

    def source(self, text: str) -> str:
        """``cpu.max of /PATH``, or a text of dbcpu without one."""
        what, of, path = text.partition(" of /")
        return f"{what} of {self.path('/' + path)}" if of else text

    def command(self, text: str) -> str:
        return text if _GENERIC.fullmatch(text) else self.name("process", text)

    def target(self, text: str) -> str:
        return text if registry.is_known("targets", text) else self.name("target", text)

    def variant(self, text: str) -> str:
        """A word of dbcpu, but where several targets ran together: there a target's name."""
        return self._given.get(("target", text), text)

    def value(self, text: str) -> str:
        """A setting: a number, or a word that many have; else it may name something."""
        return text if _PLAIN_VALUE.fullmatch(text) or text.lower() in _WORDS else self.name("value", text)


Rule = Callable[[Names, str], str]


def _keep(_: Names, text: str) -> str:
    return text


def _left_out(_: Names, text: str) -> str:
    """Only error codes stay."""
    return " ".join([*_CODE.findall(text), LEFT_OUT]) if text else text


def _note(_: Names, text: str) -> str:
    code = _NOTE_CODE.match(text)
    return f"{code[0]}: {LEFT_OUT}" if code else LEFT_OUT


def _version(_: Names, text: str) -> str:
    """Without what a packager added in parentheses."""
    return text.partition(" (")[0]


def _kernel(_: Names, text: str) -> str:
    found = _KERNEL.match(text)
    return found[0] if found else ""


def _clock(names: Names, text: str) -> str:
    return text if text in _CLOCKS else names.name("clock", text)


def _gone(_: Names, __: str) -> str:
    return ""


_HOST: Rule = lambda names, text: names.name("host", text)  # noqa: E731 - a rule among rules

RULES: Mapping[type, Mapping[str, Rule]] = {
    Header: {
        "run_id": lambda _, text: text[: MAX_RUN_ID - len(ANONYMOUS)].removesuffix(ANONYMOUS) + ANONYMOUS,
        "label": _gone, "started_at": _keep, "status": _keep, "tool_version": _keep, "notes": _note,
        "facts": Names.value,
    },
    Plan: {
        "target": Names.target, "sampler": _keep, "vcpus_source": Names.source, "variants": Names.variant,
        "experiment": _keep,
    },
    Party: {"target": Names.target},
    WorkloadInfo: {
        "name": _keep, "size": _keep, "sql": _keep, "sql_hash": _keep, "answer": _keep, "plan_shape": _keep,
        "unit": _keep,
    },
    HostInfo: {
        "hostname": _HOST, "kernel": _kernel, "cpu_model": _keep, "hypervisor": _keep, "container": _keep,
        "governor": _keep, "facts": Names.value,
    },
    Limits: {"quota_source": Names.source},
    Database: {"kind": _keep, "version": _version, "parameters": Names.value, "driver": _keep, "not_checked": _gone},
    Driver: {"hostname": _HOST, "python": _keep, "boot_id": _gone, "pid_namespace": _gone, "machine": _gone},
    Server: {"how": _left_out},
    Session: {"error": _left_out, "policy": _keep, "memory_policy": _keep, "cgroup": Names.path, "cpu_source": _keep},
    Wait: {"event": _keep},
    Clock: {"source": _clock},
    Foreign: {"command": Names.command},
    RanInstead: {"command": Names.command, "cgroup": Names.path},
    CgroupUse: {"path": Names.path},
    CpuPressure: {"path": Names.path},
    HostCounters: {"source": _keep},
    Trace: {"why": _left_out},
    Round: {"variant": Names.variant, "released_at": _keep, "not_sampled": _left_out, "error": _left_out},
}  # fmt: skip
"""For every text of the record, by class and field. A new one has to be added here before anything is exported."""
WITHOUT_NAMES = frozenset({"Cache.kind", "Residency.state", "Topology.smt_control"})
"""Texts that only ever hold a word of the kernel."""


def anonymised(record: RunRecord, names: Names | None = None) -> RunRecord:
    """The same run without names; with the same ``names`` for several runs, one name is replaced alike in all.

    Raises KeyError for a text that ``RULES`` does not know.
    """
    names = names or Names()
    for party in record.header.plan.parties:
        names.target(party.target)  # so that the variants named after them are known
    header: Header = _walk(record.header, names)
    return RunRecord(header, tuple(_walk(round_, names) for round_ in record.rounds))


@cache
def texts_of(cls: type[Struct]) -> tuple[str, ...]:
    """The fields of a class of the record that hold text with more in it than the kernel's words."""
    return tuple(
        member.name
        for member in fields(cls)
        if _holds_text(member.type) and f"{cls.__name__}.{member.name}" not in WITHOUT_NAMES
    )


def _holds_text(hint: Any) -> bool:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (Mapping, dict) or getattr(hint, "__origin__", None) is Mapping:
        return arguments[-1] is str
    return hint is str or any(argument is str for argument in arguments)


@cache
def _may_name(cls: type[Struct]) -> bool:
    """Whether there is text in it, or in what it holds: most of a record is numbers, and passed over."""
    inner = (part for each in fields(cls) for part in (each.type, *typing.get_args(each.type)))
    return bool(texts_of(cls)) or any(
        isinstance(part, type) and issubclass(part, Struct) and _may_name(part) for part in inner
    )


def _walk(value: Any, names: Names) -> Any:
    if isinstance(value, tuple):
        return tuple(_walk(part, names) for part in value)
    if not isinstance(value, Struct) or not _may_name(cls := type(value)):
        return value
    changed: dict[str, Any] = {}
    for name in value.__struct_fields__:
        content = getattr(value, name)
        if name in texts_of(cls):
            changed[name] = _apply(RULES[cls][name], content, names, name)
        else:
            changed[name] = _walk(content, names)
    return replace(value, **changed)


def _apply(rule: Rule, content: Any, names: Names, field_name: str) -> Any:
    if content is None:
        return None
    if isinstance(content, str):
        return rule(names, content)
    if isinstance(content, Mapping):
        kept = _FACTS_KEPT if field_name == "facts" else frozenset[str]()
        return {key: text if key in kept else rule(names, text) for key, text in content.items()}
    return tuple(rule(names, text) for text in content)
