"""A run by the dbcpu of another host, kept here round by round: ``ssh HOST dbcpu run --store -``.

That dbcpu opens the sessions, holds the lock at the target, and looks up the password in its own environment and files.
It keeps nothing. Version and SQL files have to be the same there as here.
"""

from collections.abc import Iterator, Sequence

import click
from msgspec.structs import replace

from dbcpu import __version__
from dbcpu.config.origins import NOTES, THERE
from dbcpu.errors import MeasureError
from dbcpu.hosts.driver_process import this_process
from dbcpu.measure.workloads import sql_hash
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round
from dbcpu.store.run_stream import Begun, Ended, read_stream
from dbcpu.workflows.keep_rounds import Keeper, keep_rounds
from dbcpu.workflows.measure_run import Watcher
from dbcpu.workflows.origins.far_program import FarProgram, shell_words
from dbcpu.workflows.origins.far_target import FarTarget, toml_of

_WATCHED = ("--host", "local")
"""The host is required, as one of a command line is: it is the one that dbcpu runs on."""


def measure_there(target: FarTarget, options: Sequence[str], store: Keeper, watcher: Watcher) -> str:
    """Measure and keep; returns the run_id.

    Args:
        options: those of ``dbcpu run`` that say what is measured and how, as words, without --host.

    Raises:
        HostError: the host cannot be reached, or was lost; finished rounds are stored.
        UsageError, MeasureError: what the dbcpu there says.
        Interrupted: the user stopped it; the run there is ended, and finished rounds are stored.
    """
    words = ["run", *options, *_WATCHED, "--yes", "--quiet", "--store", "-", "--", target.argument]
    watcher.stage(f"starting dbcpu on {target.way.name}")
    with _dbcpu(target, words) as program:
        found = read_stream(program.lines(), f"the run from {program.name}")
        begun = next(found, None)
        if not isinstance(begun, Begun):
            raise program.failure()
        if (begun.tool_version, begun.sql_hash) != (__version__, sql_hash()):
            raise MeasureError(f"the SQL files of dbcpu on {program.name} are not those of here; install it anew there")
        header = next(found, None)
        if not isinstance(header, Header):
            raise program.failure()
        watcher.stage(f"measuring from {program.hostname}")
        return keep_rounds(store, _own(header, program), _rounds(found, program), watcher.finished)


def _own(header: Header, program: FarProgram) -> Header:
    """As this process keeps it: it is the one by whose end the run is interrupted."""
    note = f"{NOTES[THERE]}dbcpu on {program.hostname} drove it, through {program.name}"
    return replace(header, status="running", driver=this_process(), notes=(*header.notes, note))


def _rounds(found: Iterator[object], program: FarProgram) -> Iterator[Round]:
    for each in found:
        if isinstance(each, Round):
            yield each
        elif isinstance(each, Ended):
            if each.status == "complete":
                return
            raise MeasureError(each.why or f"the run was {each.status} (on {program.name})")
    raise program.failure()


def doctor_there(target: FarTarget, options: Sequence[str]) -> int:
    """Print what ``dbcpu doctor`` prints there; returns its exit code. Raises as ``measure_there``."""
    with _dbcpu(target, ["doctor", *options, *_WATCHED, "--", target.argument]) as program:
        shown = list(program.lines())
        if program.code not in (0, 1):
            raise program.failure()
    click.echo("\n".join(shown).strip("\n"))
    return program.code


def _dbcpu(target: FarTarget, words: Sequence[str]) -> FarProgram:
    config = {"dbcpu.toml": toml_of(target.name, target.table) if target.table else ""}
    orders = (
        f"find_dbcpu {shell_words((__version__, *target.programs))}",
        "DBCPU_CONFIG=$folder/dbcpu.toml",
        "export DBCPU_CONFIG",
        f'start "$found" {shell_words(words)}',
    )
    return FarProgram(target.way, config, orders)
