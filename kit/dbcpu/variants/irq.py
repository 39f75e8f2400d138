"""Device interrupts are served by other CPUs than the sessions (``irq:away``, or ``irq:0-1``: by these CPUs).

``away`` is the CPUs that the database may not use; where it may use all, the first core, and the sessions have the
others. What moving them changes is seen beside the same CPUs without it: ``cpus:1-7,irq:away``. Interrupts of the CPUs
themselves, such as the timer's, cannot be moved. Source: core-api/irq/irq-affinity.rst
"""

from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.hosts.interrupts import affinity_file
from dbcpu.record.header import HostInfo
from dbcpu.variants.base import (
    Change,
    VariantContext,
    affinities,
    by_core,
    not_among,
    unreachable,
    usable,
    word_or_list,
)

SCOPE = "host"
ARGUMENT = "away"
HELP = "interrupts off the CPUs of the sessions (needs root)"
ROOT_HINT = "cpus: needs no root, and leaves interrupts where they are"
INTERRUPTS = True


def check(argument: str) -> None:
    word_or_list("irq", argument, ARGUMENT, "give irq:away, or the CPUs that shall serve interrupts: irq:0-1")


def why_not(argument: str, context: VariantContext) -> str | None:
    host = context.host
    if host is None or unreachable(context):
        return unreachable(context)
    if host.container:
        return f"in a {host.container} container the interrupts of the host cannot be moved"
    if context.interrupts is None or not context.interrupts.cpus_of:
        return "the host shows no interrupts in /proc/irq"
    if context.interrupts.balanced:
        return (
            "irqbalance runs there and would move interrupts back; stop it for the measurement "
            "(systemctl stop irqbalance) and start it afterwards"
        )
    online = {cpu.cpu for cpu in host.topology.cpus if cpu.online}
    if missing := set(_serving(argument, host)) - online:
        return f"{not_among(missing, online)}, which are online"
    if not _left(argument, host):
        return "no CPU would be left for the sessions; two cores are needed at least"
    if not _moved(argument, context):
        return f"every interrupt is served by CPUs {ranges(_serving(argument, host))} alone already"
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    assert context.interrupts is not None
    after = ranges(_serving(argument, context.host))
    moved = tuple(
        Change(f"file:{affinity_file(number)}", ranges(context.interrupts.cpus_of[number]), after)
        for number in _moved(argument, context)
    )
    return (*moved, *affinities(context.host, (ranges(_left(argument, context.host)),) * sessions))


def _serving(argument: str, host: HostInfo) -> tuple[int, ...]:
    """The CPUs that serve interrupts then."""
    if argument != ARGUMENT:
        return tuple(parse_cpu_list(argument))
    used = {cpu.cpu for cpu in usable(host)}
    return tuple(cpu.cpu for cpu in host.topology.cpus if cpu.online and cpu.cpu not in used) or by_core(host)[0]


def _left(argument: str, host: HostInfo) -> tuple[int, ...]:
    """The CPUs that the sessions have."""
    return tuple(cpu.cpu for cpu in usable(host) if cpu.cpu not in _serving(argument, host))


def _moved(argument: str, context: VariantContext) -> tuple[int, ...]:
    """Interrupts that CPUs of the sessions may serve now."""
    assert context.host is not None
    assert context.interrupts is not None
    left = set(_left(argument, context.host))
    return tuple(number for number, cpus in context.interrupts.cpus_of.items() if left & set(cpus))
