"""From the options of a measuring command to a finished run: stored, explained, shown, with its exit code."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbcpu.config.targets import Request, resolve
from dbcpu.errors import UsageError
from dbcpu.hosts.topology import parse_cpu_list
from dbcpu.measure.experiments import pool, soak, together
from dbcpu.measure.experiments.base import Sweep
from dbcpu.plan import MAX_SESSIONS, Planner
from dbcpu.store.database import open_store
from dbcpu.workflows.measure_run import Choices, run
from dbcpu.workflows.present import present
from dbcpu.workflows.progress import ProgressWatcher

Given = Mapping[str, Any]
"""The options by the names of ``cli.options``; those that a command does not have are absent."""
Confirm = Callable[[str, bool], None]


def launch(
    request: Request, given: Given, confirm: Confirm, experiment: Sweep | None = None, planner: Planner | None = None
) -> int:
    """Measure, keep, explain and show; returns the exit code. Raises as ``runner.run``."""
    known = {name: value for name, value in given.items() if name in Choices.__dataclass_fields__}
    watcher = ProgressWatcher(lambda question: confirm(question, given["yes"]), quiet=given["quiet"])
    with open_store(given["store"]) as store:
        try:
            run_id = run(
                request, Choices(**known), store, watcher,
                forced=given["yes"], planner=planner, experiment=experiment,
            )  # fmt: skip
        finally:
            watcher.close()
    return present(run_id, given["store"], given["out"], given["json_file"], given["fail_on"], quiet=given["quiet"])


def launch_soak(target: str, given: Given, confirm: Confirm) -> int:
    """``dbcpu soak``. Raises as ``launch``."""
    sizes = tuple(part.strip() for part in given["sizes"].split(",")) if given["sizes"] else (given["size"],)
    if len(set(sizes)) < len(sizes):
        raise UsageError(f"--sizes {given['sizes']} names a size twice; each takes its turn once")
    chosen = {**given, "size": sizes[0], "sessions": str(given["sessions"])}
    return launch(resolve(target), chosen, confirm, soak.Experiment(given["for_s"], sizes))


def launch_pool(target: str, given: Given, confirm: Confirm) -> int:
    """``dbcpu pool``. Raises as ``launch``."""
    experiment = pool.Experiment(given["work"])
    if given["active"] != "auto":
        experiment.levels(given["active"], 1, 1)  # said before anything is started
    return launch(resolve(target), {**given, "sessions": given["active"]}, confirm, experiment)


def launch_together(targets: Sequence[str], given: Given, confirm: Confirm) -> int:
    """``dbcpu run A B --together``. Raises as ``launch``."""
    if len(targets) < 2:
        raise UsageError("--together needs two targets or more, for example: dbcpu run embedded embedded --together")
    for option, name in (("--aa", "aa"), ("--for", "for_s")):
        if given[name]:
            raise UsageError(f"{option} and --together do not go with each other; leave one out")
    sessions = _sessions(given["sessions"], len(targets))
    sets = _cpu_sets(given["cpus"], len(targets))
    requests = [resolve(target) for target in targets]
    names = _names([request.name for request in requests])
    guests = tuple(map(together.Guest, names, requests, sessions, sets))
    request = Request(" and ".join(names), together.TOGETHER)
    return launch(request, given, confirm, together.Experiment(guests))


def _sessions(text: str, targets: int) -> list[int]:
    """One number for each target, or one per target between colons; ``auto`` is two."""
    parts = ["2"] if text == "auto" else text.split(":")
    if len(parts) not in (1, targets) or not all(part.isdecimal() and 0 < int(part) <= MAX_SESSIONS for part in parts):
        raise UsageError(
            f"--sessions {text!r} is not understood for {targets} targets together; give one number for each of them, "
            f"or one per target: --sessions {':'.join(['4'] * targets)}"
        )
    return [int(part) for part in parts] * (targets if len(parts) == 1 else 1)


def _cpu_sets(texts: Sequence[str], targets: int) -> list[tuple[int, ...]]:
    if not texts:
        return [()] * targets
    sets = [parse_cpu_list(text) for text in texts]
    if len(sets) != targets or not all(sets):
        raise UsageError(
            f"--cpus {' --cpus '.join(texts)} does not give each of {targets} targets its CPUs; "
            "give it once per target, in their order: --cpus 0-3 --cpus 4-7"
        )
    return sets


def _names(given: Sequence[str]) -> list[str]:
    """Each its own: two embedded servers are embedded-1 and embedded-2."""
    return [
        name if given.count(name) == 1 else f"{name}-{given[: at + 1].count(name)}" for at, name in enumerate(given)
    ]
