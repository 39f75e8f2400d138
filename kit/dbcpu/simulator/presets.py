"""Simulated hosts by name, and variations of them."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dbcpu.errors import UnknownName, UsageError
from dbcpu.simulator.host import MAX_NAME, SimulatedHost

USUAL = "c4.4xlarge"
SLOW = "slow"
"""Among changes: how many times slower the host is than the preset."""
_PLAIN = SimulatedHost("plain", cores=4, threads=1, scheduler="smt_balancing", about="nothing but cores")
"""What a host is where only its shape is given."""
_SHAPE = frozenset({"cores", "threads", "efficiency_cores"})

_PRESETS = (
    SimulatedHost("c4.4xlarge", cores=8, rebalance_s=1.0, hypervisor="xen",
                  about="16 vCPUs on 8 cores, Linux 4.4: the instance of the 2017 articles"),
    SimulatedHost("c4.4xlarge-smt-off", cores=8, smt_off=True, rebalance_s=1.0, hypervisor="xen",
                  hostname="c4.4xlarge",
                  about="the same with CPUs 8-15 offline: the articles' remedy"),
    SimulatedHost("c4.4xlarge-6.6", cores=8, scheduler="smt_balancing",
                  about="the same with a kernel that moves sessions off shared cores"),
    SimulatedHost("2x20x2", sockets=2, cores=20, nodes=2, scheduler="smt_balancing", turbo_slope=0.2, hypervisor=None,
                  about="bare metal, 2 sockets x 20 cores x 2 threads, 2 memory nodes, turbo"),
    SimulatedHost("smt8", sockets=2, cores=4, threads=8, nodes=2, smt_yield=0.5, hypervisor="powervm",
                  about="2 sockets x 4 cores x 8 threads"),
    SimulatedHost("t5240", sockets=2, cores=6, threads=8, nodes=2, smt_yield=0.41, hypervisor=None,
                  about="12 cores x 8 threads; the two pipelines of a core do twice the work of one thread"),
    SimulatedHost("graviton", cores=64, threads=1, scheduler="smt_balancing", mrows_per_s=44.0,
                  about="64 vCPUs, each a core of its own"),
    SimulatedHost("hidden-smt", cores=4, hidden_smt=True,
                  about="8 vCPUs on 4 cores, hidden from the guest"),
    SimulatedHost("quota-4", cores=8, quota_cpus=4.0, scheduler="smt_balancing",
                  about="a container that may use 4 of 16 CPUs"),
    SimulatedHost("noisy", cores=4, noisy_neighbour=0.7, scheduler="smt_balancing",
                  about="8 vCPUs; another process wants CPU 0 for 70 % of the time"),
    SimulatedHost("steal", cores=4, threads=1, steal=0.15,
                  about="4 vCPUs of an overcommitted hypervisor: 15 % steal"),
    SimulatedHost("this-vm", cores=2, threads=1, scheduler="smt_balancing", mrows_per_s=45.0,
                  about="2 vCPUs without SMT"),
)  # fmt: skip


def presets() -> dict[str, SimulatedHost]:
    """All presets by name, in the order they are listed."""
    return {host.name: host for host in _PRESETS}


def preset(name: str) -> SimulatedHost:
    """One preset. Raises UnknownName, which lists those there are."""
    known = presets()
    if name not in known:
        raise UnknownName("simulated host", name, known)
    return known[name]


def host_with(name: str | None, changes: Mapping[str, Any], words: str = "", *, renamed: bool = True) -> SimulatedHost:
    """The preset ``name`` with fields of ``SimulatedHost`` changed; ``words`` are the changes as the user gave them.

    Without a name it is a plain host where the changes give its shape, else the usual preset. A changed host has a
    name of its own, the same for the same changes, so that its runs have a history of their own; with ``renamed``
    False it keeps its name: the same host, changed since.

    Raises:
        UsageError: an unknown name, or the host cannot be.
    """
    base = preset(name or USUAL) if name or not _SHAPE & set(changes) else _PLAIN
    if not changes:
        return base
    words = words or " ".join(f"{field}={value}" for field, value in sorted(changes.items()))
    changes = dict(changes)
    slow = changes.pop(SLOW, 1.0)
    if not 0.01 <= slow <= 100:
        raise UsageError(f"a host {slow:g} times slower is not between 0.01 and 100 times; 1.15 is 15 % slower")
    changes.setdefault("mrows_per_s", base.mrows_per_s / slow)
    about = words if base is _PLAIN else f"{base.name} with {words}"
    _refuse_without_effect(replace(base, **changes), changes)
    if renamed:
        changes = {"name": _named(base.name, words), "hostname": "", **changes}
    return replace(base, **{"about": about, **changes})


def _refuse_without_effect(host: SimulatedHost, changes: Mapping[str, Any]) -> None:
    """Raises UsageError for what says something of siblings that the host has not; the yield of a workload is 0."""
    for field, what in (("smt_yield", "a yield (--yield)"), ("hidden_smt", "--hide-siblings")):
        if changes.get(field) and host.threads == 1:
            raise UsageError(f"{what} needs cores of several threads, and this host has one each; give --threads 2")


def _named(base: str, words: str) -> str:
    """``plain-cores-4-steal-0.2``; where that is too long, a digest ends it."""
    name = f"{base}-{re.sub(r'[^A-Za-z0-9.-]+', '-', words).strip('-')}"
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(words.encode()).hexdigest()[:6]
    return f"{name[: MAX_NAME - 7].rstrip('-')}-{digest}"


def listing() -> str:
    """The presets as lines of text."""
    return "\n".join(f"{host.name:20}{host.about}" for host in _PRESETS)
