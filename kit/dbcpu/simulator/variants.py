"""A simulated host under a variant of ``dbcpu vary``: SMT off, or sessions that are held on some of its CPUs."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from msgspec.structs import replace

from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import as_whole_number, parse_cpu_list
from dbcpu.record.header import AA, BASELINE
from dbcpu.record.plan import CPUS, MEMORY, NCPUS, NODE, ONE_PER_CORE, SMT_OFF
from dbcpu.simulator.host import SimulatedHost


def host_under_variant(host: SimulatedHost, variant: str) -> SimulatedHost:
    """The host under a variant, such as ``node:0``; the host itself under ``baseline``.

    Raises:
        UnknownName: it is none of those that can be simulated.
        UsageError: the host has no such CPUs, or nothing to switch off.
    """
    name, colon, argument = variant.partition(":")
    if variant in (BASELINE, *AA):
        return host
    example, applied = _KINDS.get(name, ("", None))
    if applied is None or bool(colon) is not bool(example):
        raise UnknownName("variant of a simulated host", variant, NAMES)
    return applied(host, argument)


def _smt_off(host: SimulatedHost, _: str) -> SimulatedHost:
    if host.threads == 1 or host.smt_off:
        raise UsageError(f"{host.name} has no second threads that could be switched off; take a host with SMT")
    return replace(host, smt_off=True)


def _one_per_core(host: SimulatedHost, _: str) -> SimulatedHost:
    """Of each core that its kernel shows the first CPU."""
    return _held(host, sorted({int(core): cpu for cpu, core in reversed([*enumerate(host.known_core_of)])}.values()))


def _cpus(host: SimulatedHost, argument: str) -> SimulatedHost:
    return _held(host, parse_cpu_list(argument))


def _ncpus(host: SimulatedHost, argument: str) -> SimulatedHost:
    """One of each core first, as CPUs of a simulated host are numbered; where siblings are hidden, one by one."""
    if (amount := as_whole_number(argument, 1, len(host.online))) is None:
        raise UsageError(f"ncpus:{argument[:40]} is no number from 1 to {len(host.online)}, the CPUs of {host.name}")
    return _held(host, range(amount))


def _node(host: SimulatedHost, argument: str) -> SimulatedHost:
    """The CPUs of these nodes, and of one its memory, too."""
    nodes = parse_cpu_list(argument)
    if not nodes or max(nodes) >= host.nodes:
        raise UsageError(f"node:{argument[:40]} is none of the memory nodes of {host.name}: 0 to {host.nodes - 1}")
    held = _held(host, map(int, np.flatnonzero(np.isin(host.node_of, nodes))))
    return replace(held, memory_node=nodes[0]) if len(nodes) == 1 else held


def _memory(host: SimulatedHost, argument: str) -> SimulatedHost:
    """All memory on one node, or from all nodes in turn; the CPUs stay as they are."""
    if argument == "interleave":
        return replace(host, interleaved=True, memory_node=None)
    if (node := as_whole_number(argument, most=host.nodes - 1)) is None:
        raise UsageError(
            f"memory:{argument[:40]} is neither interleave nor a memory node of {host.name}: 0 to {host.nodes - 1}"
        )
    return replace(host, memory_node=node)


def _held(host: SimulatedHost, cpus: Iterable[int]) -> SimulatedHost:
    found = tuple(cpus)
    if not found or max(found) >= len(host.online):
        raise UsageError(f"{host.name} has the CPUs 0 to {len(host.online) - 1}; hold sessions on some of these")
    return replace(host, held=found)


_KINDS: Mapping[str, tuple[str, Callable[[SimulatedHost, str], SimulatedHost]]] = {
    SMT_OFF: ("", _smt_off),
    ONE_PER_CORE: ("", _one_per_core),
    CPUS: ("0-3", _cpus),
    NCPUS: ("4", _ncpus),
    NODE: ("0", _node),
    MEMORY: ("interleave", _memory),
}
"""By name: an example of what stands behind the colon, '' where nothing may; and what becomes of a host."""
NAMES = (BASELINE, *(f"{name}:{argument}" if argument else name for name, (argument, _) in _KINDS.items()))
