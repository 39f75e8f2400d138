"""Shows a run that has just been measured: explained, on standard output, and as a report in a folder."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dbcpu.errors import Interrupted, StoreError
from dbcpu.record.findings import reached
from dbcpu.record.rounds import Round
from dbcpu.store import record_file
from dbcpu.store.database import Store
from dbcpu.workflows.show import has_report, print_document, write_report


def present(
    store: Store,
    run_id: str,
    rounds: Callable[[], Iterable[Round]],
    *,
    out: Path | None,
    formats: Sequence[str],
    json_file: str | None,
    fail_on: str,
    quiet: bool,
    brief: bool = False,
) -> int:
    """Print the table (or, for ``--json -``, the record), keep the figures, write the report; returns the exit code.

    Of several variants the comparison is printed, and written beside the report. ``rounds`` gives those of the run,
    from the start each time. ``out``: folder of the report, by default reports/<run>; of these
    ``formats``, all if there are none, and no folder for ``none``.

    Raises:
        StoreError: a file cannot be written.
        Interrupted: the user stopped it; the run is stored and complete.
    """
    with _telling_it_is_complete(run_id, out, formats):
        # Not before: a run that is refused or interrupted needs none of the analysis.
        from dbcpu.analysis.history.run_figures import run_figures
        from dbcpu.reports.documents import run as of_run
        from dbcpu.workflows.check import against_earlier_runs
        from dbcpu.workflows.explain import explained
        from dbcpu.workflows.kept_figures import Counted, keep_figures

        header, counted = store.header(run_id), Counted(rounds())
        record, analysis = explained(header, counted)
        figures = run_figures(record, analysis, counted.count)
        keep_figures(store, run_id, figures)
        if json_file is not None:
            with _telling_it_is_kept(store, run_id):
                record_file.write(json_file, header, rounds())
        before = against_earlier_runs(store, header, figures, make=True)
        document = shown = of_run.document(record, analysis, before)
        again = f"dbcpu show {run_id}"
        if analysis.variants is not None:
            from dbcpu.workflows.compare import variants_document

            shown, again = variants_document(record, analysis), f"dbcpu compare {run_id} (causes: dbcpu show {run_id})"
        unprinted: Exception | None = None
        try:
            if json_file != "-":
                print_document(shown.brief() if brief else shown)
        except Exception as error:  # standard output that is closed or full takes nothing from the report
            unprinted = error
        if not quiet and has_report(formats):
            sys.stderr.write("writing the report ...\n")
            sys.stderr.flush()
        with _telling_it_is_kept(store, run_id):
            where = write_report([document] if shown is document else [document, shown], record, out, formats)
        if not quiet:
            sys.stderr.write(f"{where}Show again: {again}\n")
        if unprinted is not None:
            raise unprinted
        return int(reached(analysis.findings, fail_on))


@contextmanager
def _telling_it_is_complete(run_id: str, out: Path | None, formats: Sequence[str]) -> Iterator[None]:
    """Of a run that was measured: a stop takes no more than its report. Raises Interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        stored = f"interrupted; run {run_id} is stored and complete"
        if not has_report(formats):
            raise Interrupted(f"{stored}, see: dbcpu show {run_id}") from None
        asked = (f" --out {shlex.quote(str(out))}" if out else "") + "".join(f" --format {each}" for each in formats)
        raise Interrupted(f"{stored}, only its report is missing; write it: dbcpu report {run_id}{asked}") from None


@contextmanager
def _telling_it_is_kept(store: Store, run_id: str) -> Iterator[None]:
    """Of a run that was measured: what could not be written is not all of it. Raises StoreError."""
    try:
        yield
    except StoreError as error:
        raise type(error)(f"{error}; run {run_id} is kept in {store.shown}, see: dbcpu show {run_id}") from None
