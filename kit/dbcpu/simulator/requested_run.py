"""``dbcpu simulate``: a run of any kind as if it had been measured just now."""

import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import as_whole_number, parse_cpu_list
from dbcpu.hosts.topology import allowed_cores, usable_vcpus
from dbcpu.record.header import BASELINE
from dbcpu.record.plan import parse_levels
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator.experiments import RunOptions, simulate_pool, simulate_soak, simulate_together
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.presets import host_with
from dbcpu.simulator.runs import simulate

WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "cartesian": {},
    "mixed": {"waits": 0.1, "wait_s": 0.001},
    "increment": {"smt_yield": 0.0},
}
"""By name, what the work of the real workload makes of a host: ``mixed`` sleeps 1 ms after 9 ms of CPU; two shells that
only count, on one core, take twice as long as one."""
TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_OF_A_SWEEP = ("executions", "seconds", "for_s", "run_effect")


class Experiment(Struct, frozen=True, kw_only=True):
    """At most one of these: a soak of so long, a pool of so many jobs, or several databases at once."""

    soak_s: float | None = None
    pool: int | None = None
    blocking: int = 0
    block_s: float = 1.0
    connections: int = 0
    one_at_a_time: bool = False
    together: str | None = None
    cpus: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Those that were given."""
        given = (("--soak", self.soak_s), ("--pool", self.pool), ("--together", self.together))
        return tuple(name for name, value in given if value is not None)


def simulate_now(
    name: str | None,
    sessions: str = "auto",
    variants: str | None = None,
    changes: Mapping[str, Any] | None = None,
    words: str = "",
    experiment: Experiment | None = None,
    workload: str | None = None,
    target: str | None = None,
    **choices: Any,
) -> RunRecord:
    """A run as if it had been measured just now, of the host that ``host_with`` makes of name, changes and words.

    ``sessions`` and ``variants`` as on the command line; ``choices`` are those of ``simulate``. It has a run_id of
    its own; its default label is the host's. ``target``: what the record calls the target, whatever the changes, so
    that runs before and after a change have one history; None: as the host.

    Raises:
        UsageError: an unknown name, a wrong number, or what does not go with each other.
    """
    if workload is not None and workload not in WORKLOADS:
        raise UnknownName("workload of a simulated host", workload, WORKLOADS)
    if target is not None and TARGET.fullmatch(target) is None:
        raise UsageError("--target is not 1 to 60 letters, digits, '.', '_' or '-'; give a name such as old-box")
    amounts = [amount for amount in ("executions", "seconds", "for_s") if choices.get(amount) is not None]
    if len(amounts) > 1:
        raise UsageError("--executions, --seconds and --for contradict each other; give one of them")
    made = {**(WORKLOADS[workload] if workload else {}), **(changes or {})}
    named = ", ".join(filter(None, (f"workload {workload}" if workload and WORKLOADS[workload] else "", words)))
    host = host_with(name, made, named, renamed=target is None)
    now = datetime.now(UTC)
    own: dict[str, Any] = {
        "run_id": f"{now:%Y%m%d-%H%M%S}-sim-{uuid.uuid4().hex[:6]}",
        "started_at": now,
        "workload": workload or "",
    }
    if experiment is not None and experiment != Experiment(block_s=experiment.block_s):
        _check(experiment, variants, choices)
        kept = {key: value for key, value in choices.items() if key not in _OF_A_SWEEP}
        return _called(target, _experiment(host, sessions, experiment, RunOptions(**kept, **own)))
    if variants is not None:
        choices["variants"] = tuple(dict.fromkeys((BASELINE, *(each.strip() for each in variants.split(",")))))
    return _called(target, simulate(host, _levels(host, sessions), **choices, **own))


def _called(target: str | None, made: RunRecord) -> RunRecord:
    if target is None:
        return made
    return replace(made, header=replace(made.header, plan=replace(made.header.plan, target=target)))


def _levels(host: SimulatedHost, sessions: str) -> tuple[int, ...]:
    return parse_levels(sessions, usable_vcpus(host.info())[0], allowed_cores(host.info()))


def _check(wanted: Experiment, variants: str | None, choices: Mapping[str, Any]) -> None:
    if len(wanted.options) > 1:
        raise UsageError(f"{' and '.join(wanted.options)} cannot be combined; give one of them")
    option = wanted.options[0] if wanted.options else ""
    instead = f", not with {option}" if option else "; give that, too"
    of_calls = (("--connections", wanted.connections), ("--one-at-a-time", wanted.one_at_a_time))
    for name, value in (("--blocking", wanted.blocking), *of_calls):
        if value and wanted.pool is None:
            raise UsageError(f"{name} goes with --pool{instead}")
    if wanted.cpus and wanted.together is None:
        why = f"--cpus goes with --together{f', not with {option}' if option else ''}"
        raise UsageError(f"{why}; hold all sessions by --variants cpus:{wanted.cpus[0]}")
    if variants is not None or any(choices.get(name) for name in _OF_A_SWEEP):
        raise UsageError(
            f"{option} does not go with --variants, --executions, --seconds, --for or --run-effect; leave these out"
        )


def _experiment(host: SimulatedHost, sessions: str, wanted: Experiment, given: RunOptions) -> RunRecord:
    if wanted.soak_s is not None:
        levels = _levels(host, str(usable_vcpus(host.info())[0]) if sessions == "auto" else sessions)
        if len(levels) != 1:
            raise UsageError(f"--soak has one number of sessions; give one, such as --sessions {levels[-1]}")
        return simulate_soak(host, levels[0], wanted.soak_s, given)
    if wanted.pool is not None:
        vcpus = usable_vcpus(host.info())[0]
        at_once = wanted.connections if wanted.one_at_a_time and wanted.connections else wanted.pool
        near = sorted({max(1, vcpus // 2), vcpus, 2 * vcpus, 10, at_once})
        auto = tuple(each for each in near if each <= at_once)
        active = auto if sessions == "auto" else _levels(host, sessions)
        return simulate_pool(
            host, wanted.pool, active, given, wanted.blocking, wanted.block_s, wanted.connections,
            one_at_a_time=wanted.one_at_a_time,
        )  # fmt: skip
    if sessions != "auto":
        raise UsageError(
            "--together has the sessions of each database itself, as in --together 4:8; leave --sessions out"
        )
    parts = (wanted.together or "").split(":")
    sides = [found for part in parts if (found := as_whole_number(part, 1, 99_999)) is not None]
    if len(sides) < len(parts):
        raise UsageError(f"--together {(wanted.together or '')[:40]!r} is not the sessions of each database, as in 4:8")
    return simulate_together(host, sides, [parse_cpu_list(each) for each in wanted.cpus], given)
