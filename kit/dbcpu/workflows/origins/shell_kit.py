"""A run by the scripts of shell/ on another host, imported here round by round: ``ssh HOST sh -s``.

Nothing has to be installed there but sh, awk and the database's own client. The scripts are sent over the connection
and removed at the end. The host is described by shell/serve-host where it is Linux, as with every run over a shell.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.config.origins import NOTES, SHELL_KIT
from dbcpu.errors import HostError, MeasureError, RecordFormatError, UsageError
from dbcpu.hosts.driver_process import this_process
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.topology import allowed_cores, read_host, usable_vcpus
from dbcpu.measure.experiments.base import ExperimentOptions, load_experiment
from dbcpu.measure.preflight import check_counts
from dbcpu.record.header import Header, HostInfo
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.record_checks import inconsistency
from dbcpu.store.shell_kit import line_file
from dbcpu.workflows.keep_rounds import Keeper, keep_rounds
from dbcpu.workflows.measure_run import Choices, Watcher
from dbcpu.workflows.origins.far_program import FarProgram
from dbcpu.workflows.origins.far_target import FarTarget, kit_files
from dbcpu.workflows.origins.kit_orders import kit_orders

MAX_LINES_BYTES = 64 << 20
_WHOLE = "dbcpu-whole"
"""Between the lines: all rounds before it have ended."""


def measure_by_kit(target: FarTarget, choices: Choices, store: Keeper, watcher: Watcher) -> str:
    """Measure and keep; returns the run_id.

    Raises:
        UsageError: the kit cannot measure such a target, or not with these options.
        HostError: the host cannot be reached, or was lost; finished rounds are stored.
        MeasureError: what the scripts say.
        Interrupted: the user stopped it; the scripts are ended, and finished rounds are stored.
    """
    kit_orders(target, choices, (1,))  # what cannot be is said before anything is connected to
    info = _described(target)
    levels = _levels(choices, info)
    orders = kit_orders(target, choices, levels)
    watcher.stage(f"starting {orders.script} on {target.way.name}")
    with FarProgram(target.way, kit_files(*orders.files), orders.lines) as program:
        reading = _Reading(program, target, choices, levels, info)
        parts = reading.parts()
        first = next(parts)
        drove = f"{NOTES[SHELL_KIT]}{orders.script} drove it on {program.hostname}, through {program.name}"
        header = replace(reading.header(first), notes=(*first.header.notes, drove, *orders.notes))
        return keep_rounds(store, header, reading.rounds(first, parts), watcher.finished)


def _described(target: FarTarget) -> HostInfo | None:
    """What is known of the host; None where it is not Linux. Raises HostError where it cannot be reached."""
    try:
        with ShellHost(target.way) as host:
            return read_host(host)
    except HostError as error:
        if "not Linux" in str(error) or "cannot be watched" in str(error):
            return None
        raise


def _levels(choices: Choices, info: HostInfo | None) -> tuple[int, ...]:
    """As the user gave them; else 1, the cores, one more, and the vCPUs: scripts do not adapt to what they find."""
    check_counts(info, choices.vcpus, choices.cores)
    vcpus = choices.vcpus or (usable_vcpus(info)[0] if info else None)
    if vcpus is None and choices.sessions in ("auto", "few"):
        raise UsageError("the number of vCPUs there is unknown; give --vcpus N, or the levels: --sessions 1-8")
    sweep = load_experiment("sweep").open_experiment(ExperimentOptions())
    wanted = "few" if choices.sessions == "auto" else choices.sessions
    return tuple(sweep.levels(wanted, vcpus or 1, allowed_cores(info) if info else choices.cores))


class _Reading(Struct):
    """The run in what the scripts print. ``info``: of the host that they run on."""

    program: FarProgram
    target: FarTarget
    choices: Choices
    levels: tuple[int, ...]
    info: HostInfo | None

    def parts(self) -> Iterator[RunRecord]:
        """All rounds so far, each time that there are more; the last one has the status. Never empty."""
        text: list[str] = []
        size, found = 0, False
        for line in self.program.lines():
            if line != _WHOLE:
                text.append(line)
                size += len(line)
                if size > MAX_LINES_BYTES:
                    raise MeasureError(f"{self.program.name} sent more than {MAX_LINES_BYTES >> 20} MiB of lines")
                continue
            found = True
            yield self._record([*text, "end status=interrupted"])
        if self.program.code or not found:
            raise self.program.failure()
        yield self._record(text)

    def _record(self, text: Iterable[str]) -> RunRecord:
        source = f"the result from {self.program.name}"
        made = line_file.from_text("\n".join((*text, "")), source)
        if reason := inconsistency(made):
            raise RecordFormatError(f"{source} is damaged: {reason}; measure again")
        return made

    def header(self, first: RunRecord) -> Header:
        """As this process keeps it: it is the one by whose end the run is interrupted."""
        found = first.header
        # The topology is left out where the server runs on another host than the script.
        host = self.info if found.host is not None and self.info is not None else found.host
        rounds = len(self.levels) * self.choices.repeats
        plan = replace(
            found.plan, target=self.target.name, levels=self.levels, repeats=self.choices.repeats, rounds=rounds
        )
        own = replace(this_process(), python=found.driver.python)  # none: more rounds cannot be driven from here
        return replace(found, status="running", label=self.choices.label, plan=plan, host=host, driver=own)

    def rounds(self, first: RunRecord, parts: Iterator[RunRecord]) -> Iterator[Round]:
        """Each when it has ended."""
        given, last = 0, first
        for last in chain((first,), parts):
            yield from last.rounds[given:]
            given = len(last.rounds)
        if last.header.status != "complete":
            raise MeasureError(f"the scripts on {self.program.name} were interrupted")
