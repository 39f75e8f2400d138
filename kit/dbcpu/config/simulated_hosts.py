"""What a simulated host may be given, as texts: the options of ``dbcpu simulate``, and the keys of ``simulated://``."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

Fields = dict[str, Any]


class HostOption(Struct, frozen=True):
    """``fields`` makes the fields of ``SimulatedHost`` from the text that was given; it raises ValueError, and
    ``form`` then says what the text is not. A flag has no ``metavar``, and its text is ''."""

    name: str
    metavar: str
    fields: Callable[[str], Fields]
    form: str
    help: str


def _of(field: str, kind: Callable[[str], Any]) -> Callable[[str], Fields]:
    return lambda text: {field: kind(text)}


def _turbo(text: str) -> Fields:
    if "," not in text and ":" not in text:
        return {"turbo_slope": float(text), "turbo_steps": ()}
    steps: list[tuple[int, float]] = []
    for part in text.split(","):
        ghz, colon, cores = part.partition(":")
        steps.append((int(cores) if colon else (steps[-1][0] if steps else 0) + 1, float(ghz)))
    return {"turbo_slope": 0.0, "turbo_steps": tuple(steps)}


def _efficiency_cores(text: str) -> Fields:
    cores, _, speed = text.partition(":")
    return {"efficiency_cores": int(cores), "efficiency_speed": float(speed)}


def _toggle(text: str) -> Fields:
    ratio, colon, state_s = text.partition(":")
    return {"toggle": float(ratio), **({"toggle_s": float(state_s)} if colon else {})}


def _waits(text: str) -> Fields:
    share, colon, wait_s = text.partition(":")
    return {"waits": float(share), **({"wait_s": float(wait_s)} if colon else {})}


def _nodes(text: str) -> Fields:
    nodes, colon, slowdown = text.partition(":")
    return {"nodes": int(nodes), **({"remote_slowdown": float(slowdown)} if colon else {})}


HOST_OPTIONS = (
    HostOption("--cores", "N", _of("cores", int), "no whole number",
               "Cores per socket; without PRESET a plain host of so many cores."),
    HostOption("--threads", "N", _of("threads", int), "no whole number from 1 to 8", "Hardware threads per core."),
    HostOption("--sockets", "N", _of("sockets", int), "no whole number", "Sockets."),
    HostOption("--nodes", "N[:SHARE]", _nodes, "not N or N:SHARE such as 2:0.2",
               "NUMA nodes of equal size; on another than its memory's a session loses SHARE of its speed (0.1)."),
    HostOption("--memory-node", "NODE", _of("memory_node", int), "no whole number",
               "All memory is on this node.  [default: where each session began]"),
    HostOption("--efficiency-cores", "N:SPEED", _efficiency_cores, "not N:SPEED such as 8:0.6, SPEED from 0.1 to 1",
               "N of the cores have one thread and SPEED of the others' speed (P/E, big.LITTLE), such as 8:0.6."),
    HostOption("--yield", "SHARE", _of("smt_yield", float), "no number from -0.3 to 1",
               "What a second busy thread adds to its core, -0.3 to 1; each further one adds 60 % of that before it."),
    HostOption("--hide-siblings", "", lambda _: {"hidden_smt": True}, "", "The kernel shows threads as cores."),
    HostOption("--turbo", "SHARE|GHZ,...", _turbo,
               "neither a share such as 0.25 nor GHz such as 3.5,3.3 or 3.5:2,3.3:4,2.9",
               "Speed lost when all cores are busy, 0 to 0.9; or GHz with 1, 2, 3 ... busy cores: 3.5,3.3,3.1; "
               "or up to so many: 3.5:2,3.3:4,2.9."),
    HostOption("--bare-metal", "", lambda _: {"hypervisor": None}, "",
               "No hypervisor: the frequency can be measured, as in no guest."),
    HostOption("--slow", "FACTOR", _of("slow", float), "no number from 0.01 to 100 such as 1.15",
               "The host is FACTOR times slower than its like: a slow one among twins."),
    HostOption("--noise", "SD", _of("noise", float), "no number from 0 to 0.2",
               "Relative standard deviation of a session's work, 0 to 0.2."),
    HostOption("--steal", "SHARE", _of("steal", float), "no number from 0 to 0.9",
               "Share of a busy CPU that the hypervisor takes, 0 to 0.9."),
    HostOption("--irq", "SHARE", _of("irq", float), "no number from 0 to 0.9",
               "Share of CPU 0 that interrupts take, 0 to 0.9."),
    HostOption("--waits", "SHARE[:SECONDS]", _waits, "not SHARE or SHARE:SECONDS such as 0.3:0.02, SHARE 0 to 0.95",
               "Sessions sleep for SHARE of their time alone, SECONDS (0.01) at a time: a workload with waits."),
    HostOption("--quota", "CPUS", _of("quota_cpus", float), "no number from 0.01",
               "CPU quota of all sessions together, such as 1.5."),
    HostOption("--neighbour", "SHARE", _of("noisy_neighbour", float), "no number from 0 to 1",
               "Another process, bound to CPU 0, wants it for this share of the time, 0 to 1."),
    HostOption("--toggle", "RATIO[:SECONDS]", _toggle, "not RATIO or RATIO:SECONDS such as 1.8:0.2, RATIO from 1 to 4",
               "Each CPU is by turns RATIO times slower, as by a stranger on its core; a state lasts SECONDS (0.2)."),
    HostOption("--rebalance", "SECONDS", _of("rebalance_s", float), "no number from 0.01 to 60",
               "How often its scheduler balances.  [default: 0.2]"),
    HostOption("--scheduler", "NAME", _of("scheduler", str), "", "frozen, sticky, rotating or smt_balancing."),
)  # fmt: skip
