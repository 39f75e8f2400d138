"""Device interrupts: which CPUs may serve each of them, and whether irqbalance decides that.

Sources: core-api/irq/irq-affinity.rst, irqbalance(1)
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from dbcpu.formatting import as_cpu_list
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.topology.reading import text_of

_FILE = re.compile(r"/proc/irq/(\d+)/smp_affinity_list")


class Interrupts(Struct, frozen=True):
    """``cpus_of``: by number, the CPUs that may serve it. ``balanced``: irqbalance runs, and moves them at will."""

    cpus_of: Mapping[int, tuple[int, ...]]
    balanced: bool = False


def affinity_file(number: int) -> str:
    """The file with the CPUs that may serve an interrupt."""
    return f"/proc/irq/{number}/smp_affinity_list"


def interrupt_of(path: str) -> int | None:
    """The interrupt whose ``affinity_file`` that is; None for another file."""
    found = _FILE.fullmatch(path)
    return int(found[1]) if found else None


def read_interrupts(host: Host) -> Interrupts:
    """All that the host shows; one whose CPUs cannot be read is left out."""
    cpus_of: dict[int, tuple[int, ...]] = {}
    for path, text in _affinities(host):
        number, cpus = interrupt_of(path), as_cpu_list(text)
        if number is not None and cpus:
            cpus_of[number] = cpus
    return Interrupts(dict(sorted(cpus_of.items())), any(name.strip() == "irqbalance" for name in _commands(host)))


def _affinities(host: Host) -> Iterator[tuple[str, str]]:
    if isinstance(host, RemoteHost):
        yield from host.read_matching(("/proc/irq/[0-9]*/smp_affinity_list",)).items()
        return
    for number in (name for name in host.list("/proc/irq") if name.isdecimal()):
        if cpus := text_of(host, path := affinity_file(int(number))):
            yield path, cpus


def _commands(host: Host) -> Iterator[str]:
    """The name of every process."""
    if isinstance(host, RemoteHost):
        yield from host.read_matching(("/proc/[0-9]*/comm",)).values()
        return
    for pid in (name for name in host.list("/proc") if name.isdecimal()):
        yield text_of(host, f"/proc/{pid}/comm") or ""
