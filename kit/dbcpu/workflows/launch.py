"""From the options of a measuring command to a finished run: stored, explained, shown, with its exit code."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number, parse_cpu_list
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape, GroupMember, load_experiment
from dbcpu.measure.workloads import check_common, check_size
from dbcpu.record.header import Header
from dbcpu.record.plan import MAX_SESSIONS, NextRound, Planner
from dbcpu.record.rounds import Round
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.measure_run import Choices, run
from dbcpu.workflows.progress import ProgressWatcher

Confirm = Callable[[str, bool], None]
TO_STDOUT = "-"
"""As --store: the run goes to standard output, for a dbcpu that keeps it."""


class Delivery(Struct, frozen=True, kw_only=True):
    """Where a run is kept and shown, and whether questions are asked and progress is printed meanwhile."""

    store: str | None
    out: Path | None
    formats: tuple[str, ...]
    json_file: str | None
    fail_on: str
    yes: bool
    quiet: bool
    verbose: bool = False
    log_file: Path | None = None
    brief: bool = False
    if_quiet: bool = False
    """A busy host is not measured, whatever ``yes`` says."""

    def watcher(self, confirm: Confirm, *, keeps: bool = False) -> ProgressWatcher:
        """Shows progress as these ask for. Raises UsageError."""
        return ProgressWatcher(
            lambda question: confirm(question, self.yes),
            quiet=self.quiet, keeps=keeps, verbose=self.verbose, log_file=self.log_file, if_quiet=self.if_quiet,
        )  # fmt: skip

    @property
    def forced(self) -> bool:
        """Measure on a busy host, too, without a question."""
        return self.yes and not self.if_quiet

    def present(self, store: Store, run_id: str, rounds: Callable[[], Iterable[Round]]) -> int:
        """Shows the finished run as these ask for. Returns and raises as ``present``."""
        from dbcpu.workflows.present import present  # a run that is refused or interrupted shows nothing

        return present(
            store, run_id, rounds, out=self.out, formats=self.formats, json_file=self.json_file, fail_on=self.fail_on,
            quiet=self.quiet, brief=self.brief,
        )  # fmt: skip


def split_options(**given: Any) -> tuple[Choices, Delivery]:
    """The options of a measuring command, by the parameter names of ``cli``: what is measured, and what then.

    Raises:
        TypeError: an option that neither of the two knows, or one that is missing: a fault of the command.
    """
    delivery = Delivery(**{name: given.pop(name) for name in Delivery.__struct_fields__ if name in given})
    return Choices(**given), delivery


def adaptively(header: Header) -> NextRound:
    """The planner of ``--sessions auto``, loaded when it is asked: given levels need no analysis before the end."""
    from dbcpu.analysis.adaptive_plan import adaptive

    return adaptive(header)


def launch(
    request: Request,
    choices: Choices,
    delivery: Delivery,
    confirm: Confirm,
    *,
    experiment: ExperimentShape | None = None,
    planner: Planner | None = None,
    keeps: bool = True,
) -> int:
    """Measure, keep, explain and show; returns the exit code. ``keeps``: the rounds stay in memory until then.

    Raises as ``measure_run.run``.
    """
    watcher = delivery.watcher(confirm, keeps=keeps)
    with open_store(delivery.store) as store:
        try:
            run_id = run(
                request, choices, store, watcher, forced=delivery.forced, planner=planner, experiment=experiment
            )
        finally:
            watcher.close()
        return delivery.present(store, run_id, lambda: watcher.rounds if keeps else store.rounds(run_id))


def launch_to_stdout(request: Request, choices: Choices, delivery: Delivery, confirm: Confirm) -> int:
    """Measure for a dbcpu that reads the run from standard output and keeps and explains it; returns the exit code.

    Raises:
        UsageError: something else is to be written, too.
        DbcpuError: as ``launch``.
    """
    from dbcpu import __version__
    from dbcpu.measure.workloads import sql_hash
    from dbcpu.store.run_stream import RunStream

    if delivery.json_file or delivery.out or delivery.formats not in ((), ("none",)) or delivery.fail_on != "never":
        raise UsageError("--store - writes the run to standard output and nothing else; leave out what asks for more")
    watcher = delivery.watcher(confirm)
    try:
        run(
            request,
            choices,
            RunStream(__version__, sql_hash()),
            watcher,
            forced=delivery.forced,
            planner=adaptively,
        )
    finally:
        watcher.close()
    return 0


def launch_soak(
    target: str, choices: Choices, delivery: Delivery, confirm: Confirm, *, for_s: float, sizes: str | None
) -> int:
    """``dbcpu soak``; ``sizes`` between commas. Raises as ``launch``."""
    turns = tuple(part.strip() for part in sizes.split(",")) if sizes else (choices.size,)
    if len(set(turns)) < len(turns):
        raise UsageError(f"--sizes {sizes} names a size twice; name each once")
    request = resolve(target)
    for size in turns:
        check_size(request.kind, choices.workload, size)
    options = ExperimentOptions(for_s=for_s, sizes=turns)
    choices = replace(choices, size=turns[0], for_s=for_s)
    # The rounds of a soak of days do not fit: they are read again, one by one.
    return launch(request, choices, delivery, confirm, experiment=_shape("soak", options), keeps=False)


def launch_pool(
    target: str,
    choices: Choices,
    delivery: Delivery,
    confirm: Confirm,
    *,
    work: int,
    blocking: int,
    block_s: float | None,
    connections: int,
    one_at_a_time: bool,
    dry_run: bool = False,
) -> int:
    """``dbcpu pool``: ``work`` pieces, of which ``blocking`` wait ``block_s`` each, called over ``connections``.

    ``one_at_a_time``: as in ``record.Plan``. ``dry_run``: only say what would be measured. Raises as ``launch``.
    """
    if blocking >= work:
        raise UsageError(
            f"--blocking {blocking} leaves none of the {work} jobs to compute; give fewer, or a larger --work"
        )
    if block_s is not None and not blocking:
        raise UsageError("--block-for needs --blocking; give the number of jobs that wait, such as 10")
    if connections > work:
        raise UsageError(
            f"--connections {connections} is more than the {work} jobs: some would carry no call; "
            f"give --work {connections} or more, or fewer connections"
        )
    if one_at_a_time and not connections:
        raise UsageError("--one-at-a-time needs --connections; give their number, such as 10")
    options = ExperimentOptions(
        pieces=work, blocking=blocking, block_s=block_s or 1.0, connections=connections, one_at_a_time=one_at_a_time
    )
    experiment = _shape("pool", options)
    if choices.sessions != "auto":
        experiment.levels(choices.sessions, 1, 1)  # said before anything is started
    if dry_run:
        from dbcpu.workflows.foresee import say

        return say(resolve(target), choices, experiment)
    return launch(resolve(target), choices, delivery, confirm, experiment=experiment)


def launch_together(
    targets: Sequence[str], choices: Choices, delivery: Delivery, confirm: Confirm, *, cpus: Sequence[str]
) -> int:
    """``dbcpu run A B --together``; ``cpus``: the option as often as it was given. Raises as ``launch``."""
    if len(targets) < 2:
        raise UsageError("--together needs two targets or more, for example: dbcpu run embedded embedded --together")
    for option, given in (("--aa", choices.aa), ("--for", choices.for_s)):
        if given:
            raise UsageError(f"{option} and --together cannot be combined; leave one out")
    sessions = _sessions(choices.sessions, len(targets))
    sets = _cpu_sets(cpus, len(targets))
    requests = [resolve(target) for target in targets]
    check_common([request.kind for request in requests], choices.workload, choices.size)
    names = _names([request.name for request in requests])
    group = tuple(map(GroupMember, names, requests, sessions, sets))
    experiment = _shape("together", ExperimentOptions(group=group))
    return launch(Request(" and ".join(names), "together"), choices, delivery, confirm, experiment=experiment)


def _shape(name: str, options: ExperimentOptions) -> ExperimentShape:
    return load_experiment(name).open_experiment(options)


def _sessions(text: str, targets: int) -> list[int]:
    """One number for each target, or one per target between colons; ``auto`` is two."""
    parts = ["2"] if text == "auto" else text.split(":")
    numbers = [found for part in parts if (found := as_whole_number(part, 1, MAX_SESSIONS)) is not None]
    if len(parts) not in (1, targets) or len(numbers) < len(parts):
        raise UsageError(
            f"--sessions {text[:80]!r} is not understood for {targets} targets together; give one number for each of "
            f"them, or one per target: --sessions {':'.join(['4'] * targets)}"
        )
    return numbers * (targets if len(numbers) == 1 else 1)


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
