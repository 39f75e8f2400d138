"""A run from the request to its last stored round; nothing is explained here.

Config resolves the target, topology and preflight examine the host, plan decides, measure runs, store keeps the rounds.
"""

import os
import random
import uuid
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.config.targets import contents
from dbcpu.errors import MeasureError, UsageError
from dbcpu.formatting import percent, plain
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.busiest import named, stays_busy
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.driver_process import this_process
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.quiesce import Patience, Quiet, patience_s, settle
from dbcpu.hosts.topology import allowed_cores, read_host, usable_vcpus
from dbcpu.measure import workloads
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape, load_experiment, workload_info
from dbcpu.measure.host_access import AccessChoice, AccessRequest, access_request, choose_access, kit_pids_on
from dbcpu.measure.pace import open_witness
from dbcpu.measure.preflight import check_counts, counted_instead, examine, seen_cores, vcpus_of
from dbcpu.measure.preview import Preview, check_room, make_room_for_files, preview_of
from dbcpu.measure.rounds import RoundConditions, RoundSetup, Unchanged, calibrate, own_pids
from dbcpu.measure.samplers.base import Sampler, best_sampler, load_sampler
from dbcpu.measure.unseen_load import unseen_load
from dbcpu.measure.workloads import Workload
from dbcpu.record import TOOL_VERSION, plan
from dbcpu.record.header import AA, BASELINE, Header, HostInfo, Limits, Plan
from dbcpu.record.rounds import Round
from dbcpu.targets.base import TakesTurns, Target, Work
from dbcpu.variants._restore import restore, restore_database
from dbcpu.variants._settings import parameters_of
from dbcpu.workflows.keep_rounds import Keeper, Preparing, keep_rounds
from dbcpu.workflows.left_working import telling_what_is_left
from dbcpu.workflows.suspect_work import say_other_plan, too_fast_alone

if TYPE_CHECKING:
    from dbcpu.measure.variants import VariantPlan
    from dbcpu.variants._selection import SelectedVariant
    from dbcpu.workflows.same_run import EarlierRun

DEFAULT_SECONDS, TRIAL_ROWS = 1.5, 10_000_000
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
BUSY_SHARE = 0.5
BUSY_TIMES = 5
"""On a busy host the first check waits this many times longer than a round does."""


class Choices(Struct, frozen=True):
    """The user's options; None means the default. At most one of executions, seconds and for_s is set."""

    sessions: str = "auto"
    workload: str | None = None
    size: str = "short"
    executions: int | None = None
    seconds: float | None = None
    for_s: float | None = None
    repeats: int = plan.QUICK
    sampler: str | None = None
    hz: float = 20.0
    pace: float | None = None
    """Pieces of the witness per second; None: from the length of a session, 0: no witness."""
    vcpus: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    label: str = ""
    seed: int | None = None
    aa: bool = False
    variants: "tuple[SelectedVariant, ...]" = ()
    """More than one, the first of which the others are compared with; () for none."""
    per_cpu: tuple[int, ...] = ()
    """Sessions per CPU of each variant, instead of the levels of ``sessions``."""
    host: str | None = None


class Watcher:
    """Is notified of the progress of a run; this one is silent. ``agree`` and ``busy`` raise to stop before it."""

    def agree(self, preview: Preview) -> None: ...

    def busy(self, found: str) -> None:
        """``found``: how much of the host's CPU time others use, and who; returns where it is measured anyway."""
        raise MeasureError(f"the host is busy: {found}; stop it, or measure anyway with --yes")

    def stage(self, what: str) -> None: ...

    def begun(self, spec: plan.RoundSpec) -> None: ...

    def finished(self, done: Round) -> None: ...


def run(
    request: Request,
    choices: Choices,
    store: Keeper,
    watcher: Watcher,
    *,
    forced: bool = False,
    planner: plan.Planner | None = None,
    experiment: ExperimentShape | None = None,
    earlier: "EarlierRun | None" = None,
) -> str:
    """Measure and store; returns the run_id. ``forced``: measure on a busy host too.

    ``planner`` chooses each round of ``--sessions auto`` from the results so far, within the levels and repeats of
    the preview; without one, and for an A/A run, all of these are measured. ``experiment``: what the sessions do, by
    default a sweep of the levels. ``earlier``: the stored run to which the rounds are added.

    Raises:
        UsageError: the choices do not fit each other, the target or the host, or these are not those of ``earlier``.
        MeasureError: nothing, or not all, could be measured; finished rounds are stored.
        Interrupted: the user stopped it; finished rounds are stored.
    """
    experiment = experiment or load_experiment("sweep").open_experiment(ExperimentOptions())
    seed = _begin(choices, watcher)
    with Preparing() as preparing, ExitStack() as stack:
        guard = stack.enter_context(Guard())
        opened = _open(request, choices, experiment, watcher, stack, guard, forced=forced)
        stack.enter_context(telling_what_is_left(opened.target))
        planned = _plan(opened, choices, experiment, seed, watcher, can_adapt=planner is not None)
        check_room(planned.preview, planned.info, opened.target, experiment.levels_option)
        if earlier is not None:
            work = workload_info(opened.target, opened.work)
            earlier.refuse_other(planned.info, planned.preview.database, work, planned.vcpus)
        watcher.agree(planned.preview)
        name, sampler = opened.sampler_name, stack.enter_context(opened.sampler)
        session_s = choices.for_s or planned.solo_s * (planned.executions or 1)
        witness, no_witness = open_witness(opened.host, name, planned.info, session_s, choices.pace, stack)
        for helper in (sampler, witness):
            if helper and helper.pid is not None:
                guard.end_later(helper.pid)
        conditions: RoundConditions = Unchanged()
        if planned.variant_plan:
            conditions = stack.enter_context(
                planned.variant_plan.conditions(
                    opened.host, opened.request, opened.target, guard, experiment.open, watcher.stage
                )
            )
        header = _header(opened, planned, choices, experiment, seed, name)
        header = replace(header, notes=(*header.notes, *no_witness))
        if earlier is not None:
            header = earlier.joined(header, None if planned.adaptive else len(planned.specs))
        say_other_plan(header, watcher.stage)
        setup = RoundSetup(
            target=opened.target,
            host=opened.host,
            sampler=sampler,
            work=opened.work,
            executions=planned.executions,
            for_s=choices.for_s,
            solo_s=planned.solo_s,
            vcpus=planned.vcpus or 1,
            clock_ticks=opened.ticks,
            kit_pids=(*kit_pids_on(opened.host, own_pids(guard.pid, sampler.pid)), *(witness.pids if witness else ())),
            not_sampled=_not_sampled(name, choices.sampler, opened.chosen),
            conditions=conditions,
            witness=witness,
            unseen=unseen_load(opened.host, planned.info),
            patience=Patience(planned.preview.duration_s, lambda: watcher.stage(stays_busy(opened.host, opened.ticks))),
        )
        next_round = planner(header) if planner and planned.adaptive else plan.fixed(planned.specs)
        rounds, preparing.over = experiment.rounds(setup, planned.specs, next_round, watcher.begun), True
        gaps, stored = experiment.survives_failures, len(earlier.record.rounds) if earlier else None
        return preparing.kept(keep_rounds(store, header, rounds, watcher.finished, gaps=gaps, stored=stored))


def preview_run(request: Request, choices: Choices, watcher: Watcher) -> Preview:
    """What ``run`` would do, on a busy host too: one session is calibrated, and no round is run or stored.

    Raises as ``run`` does.
    """
    seed = _begin(choices, watcher)
    experiment = load_experiment("sweep").open_experiment(ExperimentOptions())
    with ExitStack() as stack:
        guard = stack.enter_context(Guard())
        opened = _open(request, choices, experiment, watcher, stack, guard, forced=True)
        planned = _plan(opened, choices, experiment, seed, watcher, can_adapt=False)
        check_room(planned.preview, planned.info, opened.target, experiment.levels_option)
        return planned.preview


def _begin(choices: Choices, watcher: Watcher) -> int:
    """Read the settings, undo what a killed run left changed, and return the seed. Raises UsageError."""
    if contents():  # what is wrong in dbcpu.toml is said now, not after the measurement
        from dbcpu.config.settings import settings  # a run without such a file needs no module of it

        settings()
    for line in restore().lines:
        watcher.stage(line)
    return choices.seed if choices.seed is not None else random.SystemRandom().randrange(2**31)


class _Opened(Struct, frozen=True):
    """What is measured: the target, its work, and the sampled host. ``quiet``: how busy it was before.

    ``sampler`` is none that has started: it starts when it is entered.
    """

    request: Request
    target: Target
    workload: Workload
    work: Work
    chosen: AccessChoice
    sampler_name: str
    sampler: Sampler
    ticks: int
    quiet: Quiet | None

    @property
    def host(self) -> Host | None:
        return self.chosen.host


class _Planned(Struct, frozen=True):
    """The plan. ``solo_s``: seconds per execution of a single session; ``adaptive``: rounds follow from results."""

    solo_s: float
    info: HostInfo | None
    vcpus: int | None
    vcpus_source: str
    cores: int | None
    specs: tuple[plan.RoundSpec, ...]
    variants: tuple[str, ...]
    variant_plan: "VariantPlan | None"
    adaptive: bool
    executions: int | None
    preview: Preview


def _open(
    request: Request,
    choices: Choices,
    experiment: ExperimentShape,
    watcher: Watcher,
    stack: ExitStack,
    guard: Guard,
    *,
    forced: bool,
) -> _Opened:
    """Open the target for the largest number of sessions, and wait until its host is quiet."""
    here = read_host(LocalHost())
    most = max(experiment.levels(choices.sessions, choices.vcpus or usable_vcpus(here)[0], allowed_cores(here)))
    most = max(most, max(choices.per_cpu, default=0) * usable_vcpus(here)[0])
    make_room_for_files(most)
    requested, patience = requested_access(choices, request), patience_s()
    workloads.check_size(request.kind, choices.workload, choices.size)
    request = request.with_options(sessions=str(most))
    watcher.stage(f"starting {request.name}" if request.kind == "embedded" else f"connecting to {request.name}")
    target = stack.enter_context(experiment.open(request, guard))
    if isinstance(target, TakesTurns) and (other := target.take_turn()):
        raise MeasureError(
            f"{request.name} is taken by {plain(other)}, and two runs at once would slow each other; "
            "wait until that run has ended, or end it"
        )
    restore_database(request.name, parameters_of(target), watcher.stage)
    workload = workloads.load(target.kind, choices.workload or workloads.usual(target.kind))
    work = workload.work(choices.size)
    experiment.opened(target, workload)
    chosen = choose_access(target, requested, work, CLOCK_TICKS, stack, guard)
    sampler_name = choices.sampler or best_sampler(chosen.host)
    sampler = load_sampler(sampler_name).open_sampler(chosen.host, choices.hz)
    if not target.private:
        sampled = "sampling server processes" if chosen.host else "server processes are not sampled:"
        watcher.stage(f"{sampled} {chosen.why}" + ("" if chosen.host else counted_instead(target)))
    quiet = settle(chosen.host, patience) if chosen.host else None
    if quiet and (quiet.busy_share or 0) > BUSY_SHARE:
        if patience:
            watcher.stage(f"other work uses the host: waiting up to {BUSY_TIMES * patience:.0f} s until it is quiet")
        quiet = settle(chosen.host, BUSY_TIMES * patience)
    if quiet and not forced and (quiet.busy_share or 0) > BUSY_SHARE:
        share, who = percent(quiet.busy_share), named(chosen.host, ticks_of(chosen.host))
        watcher.busy(f"{share} of its CPU time went to other work{who and f' ({who})'}")
    return _Opened(request, target, workload, work, chosen, sampler_name, sampler, ticks_of(chosen.host), quiet)


def _plan(
    opened: _Opened, choices: Choices, experiment: ExperimentShape, seed: int, watcher: Watcher, *, can_adapt: bool
) -> _Planned:
    """Measure the single-session baseline, and decide levels, rounds and executions."""
    target, work, host = opened.target, opened.work, opened.host
    for statement in work.setup:
        if statement.lower().startswith("create"):
            watcher.stage(f"for this run only: {statement.splitlines()[0]}")
    info = host_info_of(host)
    check_counts(info, choices.vcpus, choices.cores)
    if choices.variants:
        from dbcpu.measure.variants import VariantPlan, check_before, variant_context

        context = variant_context(opened.request, target, host, info, choices.variants)
        check_before(choices.variants, context, inherits=target.private)
    watcher.stage("measuring the single-session baseline")
    trial = opened.workload.trial(choices.size, TRIAL_ROWS)
    alone = calibrate(target, host, opened.ticks, trial)
    solo_s = alone.elapsed_s * work.rows / trial.rows
    info = limited(info, alone.limits)
    vcpus, source = vcpus_of(choices.vcpus, info, target)
    if vcpus is None and choices.sessions == "auto":
        raise UsageError(
            "the number of vCPUs of the database is unknown; give --vcpus N, or the levels: --sessions 1-8"
        )
    variants: tuple[str, ...] = AA if choices.aa else (BASELINE,)
    cores = seen_cores(info, choices.cores, choices.threads_per_core, vcpus)
    levels = experiment.levels(choices.sessions, vcpus or 1, cores)
    make_room_for_files(max(levels))
    specs = experiment.specs(levels, choices.repeats, seed, variants)
    variant_plan = None
    if choices.variants:
        variant_plan = VariantPlan.make(choices.variants, replace(context, host=info), levels, choices.per_cpu)
        variant_plan.check(host, alone.server, fixed=choices.for_s is None)
        specs, variants = plan.blocks(variant_plan.levels, choices.repeats, seed), variant_plan.names
    adaptive = can_adapt and choices.sessions == "auto" and not choices.aa and variant_plan is None
    executions = None if choices.for_s else choices.executions
    if executions is None and choices.for_s is None:
        executions = plan.executions_for(choices.seconds or DEFAULT_SECONDS, solo_s)
    idle = too_fast_alone(target.kind, trial, alone.elapsed_s)
    findings = (*examine(target, host, info, opened.quiet, opened.chosen.why), *idle)
    # An adaptive plan always ends with a single-session round.
    foreseen = (*specs, plan.RoundSpec(1, choices.repeats, variants[0], len(specs), True)) if adaptive else specs
    preview = preview_of(opened.request, target, work, foreseen, executions, choices.for_s, solo_s, vcpus, findings)
    preview = experiment.foreseen(replace(preview, at_most=adaptive), foreseen, solo_s, vcpus or 1)
    if variant_plan:
        alone_s = choices.for_s or solo_s * (executions or 1)
        preview = variant_plan.preview(preview, specs, alone_s, fixed_time=choices.for_s is not None)
    return _Planned(solo_s, info, vcpus, source, cores, specs, variants, variant_plan, adaptive, executions, preview)


def _header(
    opened: _Opened, planned: _Planned, choices: Choices, experiment: ExperimentShape, seed: int, sampler: str
) -> Header:
    made = Plan(
        target=opened.request.name,
        workload=workload_info(opened.target, opened.work),
        levels=tuple(sorted({spec.level for spec in planned.specs})),
        repeats=choices.repeats,
        seed=seed,
        executions=planned.executions,
        for_s=choices.for_s,
        sampler=sampler,
        hz=choices.hz,
        vcpus=planned.vcpus,
        vcpus_source=planned.vcpus_source,
        cores=None if planned.info else planned.cores,
        variants=planned.variants,
        rounds=None if planned.adaptive else len(planned.specs),
    )
    return Header(
        # Sortable by time, unique without coordination, and easy to read aloud.
        run_id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}",
        label=choices.label,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        status="running",
        tool_version=TOOL_VERSION,
        plan=experiment.planned(made, opened.target),
        host=planned.info,
        database=planned.preview.database,
        driver=this_process(),
        notes=(
            *(f"{found.code}: {found.seen}" for found in planned.preview.findings),
            *planned.preview.left_out,
            *planned.preview.changes,
        ),
    )


def host_info_of(host: Host | None) -> HostInfo | None:
    """The host, with the limits of dbcpu's own process; None where it shows no CPU."""
    info = read_host(host) if host is not None else None
    return replace(info, clock_ticks=ticks_of(host)) if info is not None and info.topology.cpus else None


def limited(info: HostInfo | None, limits: Limits | None) -> HostInfo | None:
    """The same with the ``limits`` of a server process, whose control group may differ from that of dbcpu."""
    return replace(info, limits=limits) if info is not None and limits is not None else info


def requested_access(choices: Choices, request: Request) -> AccessRequest:
    """The requested route to the host; a sampler that is named needs its own route."""
    return access_request(choices.host, request.options.get("host"), choices.sampler)


def ticks_of(host: Host | None) -> int:
    return host.clock_ticks if isinstance(host, RemoteHost) else CLOCK_TICKS


def _not_sampled(name: str, asked: str | None, chosen: AccessChoice) -> str:
    if name != "none":
        return ""
    if asked == "none":
        return "requested by --sampler none"
    return chosen.why if chosen.host is None else "no sampler works on this host"
