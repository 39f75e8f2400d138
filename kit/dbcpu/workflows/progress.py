"""The progress of a run, on standard error: a bar on a terminal, plain lines elsewhere, nothing with --quiet.

The figures of a level are medians of what was measured so far, not yet explained.
"""

import io
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, TextIO

from dbcpu.config.written_files import open_to_append
from dbcpu.errors import BusyHost, UsageError
from dbcpu.formatting import duration, joined, plain, plural, seconds, short_ranges, times
from dbcpu.measure.preview import Preview, foreseen_rounds, foreseen_time
from dbcpu.record.finding_entry import Level
from dbcpu.record.header import BASELINE
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round
from dbcpu.workflows.measure_run import Watcher

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressWatcher(Watcher):
    """Shows level, repeat and remaining time; calls ``confirm`` for targets that are not private.

    ``rounds``: those that are finished, if it ``keeps`` them. ``verbose``: a line of figures after each round.
    ``log_file``: all lines go there too, with the time, and those of ``verbose``. Where it cannot be
    written that is said once, and the run goes on. ``if_quiet``: a busy host is refused, without a question.
    """

    def __init__(
        self,
        confirm: Callable[[str], None],
        *,
        quiet: bool,
        keeps: bool = False,
        verbose: bool = False,
        log_file: Path | None = None,
        if_quiet: bool = False,
    ) -> None:
        """Raises UsageError where the log cannot be written, UntrustedFile as ``open_to_append``."""
        self.rounds: list[Round] = []
        self._keeps = keeps
        self._confirm = confirm
        self._quiet = quiet
        self._verbose = verbose
        self._if_quiet = if_quiet
        self._log = _opened(log_file) if log_file else None
        self._log_failed = False
        self._figures = LiveFigures()
        self._last = ""
        self._stream = sys.stderr
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._rounds, self._usual = 0, 0
        self._at_most = False
        self._done = 0
        self._expected_s = 0.0
        self._began_s = 0.0

    def agree(self, preview: Preview) -> None:
        self._rounds = self._usual = preview.rounds
        self._expected_s = preview.duration_s
        self._at_most = preview.at_most
        for line in described(preview):
            self._say(line)
        for line in preview.changes:
            self._say(f"will be changed and restored: {line}")
        if not preview.private or preview.touches_host:
            changed = " and changes settings of its host meanwhile" if preview.touches_host else ""
            lasts = foreseen_time(preview.duration_s, at_most=preview.at_most)
            self._confirm(f"This saturates {plain(preview.target)}{changed}; {lasts}. Continue?")
        self._began_s = time.monotonic()
        if self._stream.isatty() and not self._quiet:
            self._bar = _bar(self._stream)
            self._task = self._bar.add_task("", total=preview.rounds, left="")
            self._bar.start()

    def busy(self, found: str) -> None:
        """Asked on a terminal. Raises MeasureError where there is none, BusyHost if asked to, and as ``confirm``."""
        if self._if_quiet:
            raise BusyHost(f"host busy: {found}; nothing was measured")
        if sys.stdin is None or not sys.stdin.isatty():
            super().busy(found)
        self._confirm(f"The host is busy: {found}, which may slow the sessions. Measure anyway?")

    def stage(self, what: str) -> None:
        self._say(f"{what} ...")

    def begun(self, spec: RoundSpec) -> None:
        variant = "" if spec.variant == BASELINE else f", variant {spec.variant}"
        # The repeats of an anchor are counted on from those of the levels: no number that a person would know.
        which = "to see drift" if spec.anchor else f"repeat {spec.repeat + 1}"
        text = f"{plural(spec.level, 'session')}{variant}, {which}"
        self._rounds = max(self._rounds, self._done + 1)
        if self._bar is None:
            self._say(f"{self._number()}: {text}; {self._left()}")
        elif self._task is not None:
            last = f" ({self._last})" if self._last else ""
            self._bar.update(self._task, description=f"{text}{last}", total=self._rounds, left=self._left())
            self._write(f"{self._number()}: {text}")

    def _number(self) -> str:
        """On a noisy host a plan that follows from results has more rounds than were foreseen."""
        if self._at_most and self._done >= self._usual:
            return f"round {self._done + 1}, to decide what is inconclusive"
        return f"round {self._done + 1} of {self._rounds}{' or fewer' if self._at_most else ''}"

    def finished(self, done: Round) -> None:
        self._done += 1
        if self._keeps:
            self.rounds.append(done)
        line, self._last = self._figures.add(done)
        if self._verbose:
            self._say(line)
        else:
            self._write(line)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, left=self._left())

    def close(self) -> None:
        """Take the bar off the terminal, and end the log."""
        if self._bar is not None:
            with suppress(OSError):  # its terminal was closed
                self._bar.stop()
        if self._log is not None:
            with suppress(OSError):
                self._log.close()
            self._log = None

    def _left(self) -> str:
        """From the preview at first; the more rounds there are, the more from how long these have taken."""
        share = self._done / self._rounds
        left_s = self._expected_s * (1 - share)
        if share and self._expected_s:
            longer = (time.monotonic() - self._began_s) / (self._expected_s * share)
            left_s *= 1 + (longer - 1) * share**0.5
        return f"about {duration(max(1.0, left_s))} left"

    def _write(self, text: str) -> None:
        """To the log alone."""
        if self._log is None:
            return
        try:
            self._log.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {plain(text)}\n")
            self._log.flush()
        except OSError as error:
            if not self._log_failed:
                self._log_failed = True
                self._show(f"--log-file could not be written: {error.strerror}; it lacks lines, the run goes on")

    def _say(self, text: str) -> None:
        self._write(text)
        if not self._quiet:
            self._show(text)

    def _show(self, text: str) -> None:
        with suppress(OSError):  # a terminal that was closed keeps nothing from its clean-up
            if self._bar is None:
                print(plain(text), file=self._stream, flush=True)
            else:
                self._bar.console.print(plain(text), markup=False)


def _opened(log_file: Path) -> TextIO:
    try:
        return io.TextIOWrapper(open_to_append(log_file), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"--log-file {log_file} cannot be written: {error.strerror}; name another file") from None


def _bar(stream: TextIO) -> "Progress":
    """Most runs have no terminal, and do without loading what draws on one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=stream, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(complete_style="cyan", finished_style="green"),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    return Progress(*columns, TextColumn("{task.fields[left]}"), console=console, transient=True)


def described(preview: Preview) -> tuple[str, ...]:
    """What will be measured, and for about how long; what was found that matters; what is left out. A line each."""
    levels = f"{'levels' if len(preview.levels) > 1 else 'level'} {short_ranges(preview.levels)}"
    rounds = foreseen_rounds(preview.rounds, at_most=preview.at_most)
    size = (
        f"{preview.database.kind} {preview.database.version}, {preview.work.name} {preview.work.size}: {levels}, "
        f"{rounds}, {preview.amount}; {preview.cpu_s:.0f} CPU-seconds, "
        f"{preview.memory_bytes / 1e6:.0f} MB of memory; {foreseen_time(preview.duration_s, at_most=preview.at_most)}"
    )
    found = (
        f"{each.level.label}: {joined(each.seen, each.meaning)}.{f' Remedy: {each.remedy}.' if each.remedy else ''}"
        for each in preview.findings
        if each.level >= Level.WARNING
    )
    return (size, *found, *preview.left_out)


class LiveFigures:
    """Seconds per execution of the rounds so far, by variant and level."""

    def __init__(self) -> None:
        self._medians_s: dict[tuple[str, int], list[float]] = defaultdict(list)

    def add(self, done: Round) -> tuple[str, str]:
        """Of the round that just ended: a line of its figures, and its level in a few words, '' where it has none."""
        times_s = [
            mean(each.elapsed_s for each in session.executions) for session in done.sessions if session.executions
        ]
        failed = sum(session.error is not None for session in done.sessions)
        lost = f"; {plural(failed, 'session')} failed" if failed else ""
        who = plural(done.level, "session")
        if not times_s:
            return f"{who}: nothing was measured{lost}", ""
        self._medians_s[done.variant, done.level].append(median(times_s))
        line = f"{who}: median {seconds(median(times_s))} per execution"
        slowdown = self._slowdown(done.variant, done.level)
        if done.level > 1:
            line += f", slowest over fastest {times(max(times_s) / min(times_s))}"
        if slowdown is None:
            return f"{line}{lost}", ""
        return (
            f"{line}, so far {times(slowdown)} of a single session{lost}",
            f"N={done.level}: {times(slowdown)} so far",
        )

    def _slowdown(self, variant: str, level: int) -> float | None:
        alone = self._medians_s.get((variant, 1)) or self._medians_s.get((BASELINE, 1))
        return median(self._medians_s[variant, level]) / median(alone) if alone and level > 1 else None
