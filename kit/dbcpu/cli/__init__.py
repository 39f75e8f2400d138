"""The command line: one file per command, and the one place where errors become messages and exit codes.

A command is a module in this folder that has a click command called ``command``; its name is the
file's. Command files import nothing heavy before they run, so that ``dbcpu --help`` stays instant.
"""

import errno
import fcntl
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Protocol, TextIO, runtime_checkable

import click

from dbcpu import __version__, registry
from dbcpu.cli._command_groups import Commands
from dbcpu.cli._numpy_threads import numpy_with_one_thread
from dbcpu.cli._refused_values import word_refusals
from dbcpu.errors import DbcpuError, without_password
from dbcpu.workflows.terminal import ONE_PRESS_S

OK, FINDINGS, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
AGAIN_S = 0.02
"""After this time a Ctrl-C that Python dropped comes again."""
BROKEN_PIPE = 141
"""128 + SIGPIPE, as a shell reports any program whose reader went away."""
_CLOSED = "standard output is closed; send it to a file, or to /dev/null"


@runtime_checkable
class CommandModule(Protocol):
    """What a file of this folder offers; its name is the command's."""

    @property
    def command(self) -> click.Command:
        """What runs it, with its options and its help."""


def load_command(name: str) -> CommandModule:
    """Raises as ``registry.load``."""
    member = registry.load("cli", name)
    if not isinstance(member, CommandModule):
        raise registry.misfit("cli", name, "a click command called command")
    word_refusals(member.command)
    return member


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
\b
Exit codes:
    0  fine
    1  a finding at or above --fail-on (also: inconclusive), or a violation of a limit (check)
    2  wrong usage: command line or configuration file
    3  could not measure, store or read; a busy host and no terminal to ask whether to measure it
    4  the host was busy with other work: not measured (run --if-quiet), or a violation (check)
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP of a closed terminal); finished rounds are stored

\b
Example: dbcpu run                measures an embedded PostgreSQL
         dbcpu show last          shows that run again
""",
)
@click.version_option(__version__, "--version", "-V", prog_name="dbcpu", message="%(prog)s %(version)s")
def group() -> None:
    """Does every database session get the same CPU? If not: which sessions are slowed, and why?

    dbcpu opens N sessions, releases them together into a CPU-only SQL, samples on which CPU each server process
    runs, and explains the differences. Results go to standard output, everything else to standard error.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. No exception leaves, whatever happens."""
    _replace_closed_streams()
    numpy_with_one_thread()
    try:
        with _terminable():
            code = _invoke(arguments)
    except BaseException as error:
        code = _report(error)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        code = _report(error)
    return code


def _invoke(arguments: Sequence[str] | None) -> int:
    if "_DBCPU_COMPLETE" in os.environ:
        group.main(prog_name="dbcpu")  # answers the shell's completion and exits
    # Not list(...): once that command is loaded, `list` in this package is its module.
    given = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    try:
        with group.make_context("dbcpu", given) as context:
            code = group.invoke(context)
            return code if isinstance(code, int) else OK
    except click.exceptions.Exit as done:
        return done.exit_code


def _report(error: BaseException) -> int:
    """Print what went wrong on standard error; returns the exit code."""
    if os.environ.get("DBCPU_DEBUG") == "1" and not isinstance(error, SystemExit):
        import traceback

        sys.stderr.write(without_password("".join(traceback.format_exception(error))))
    match error:
        case click.ClickException():
            shown = io.StringIO()
            error.show(shown)
            click.echo(without_password(shown.getvalue()), nl=False, err=True)
            return error.exit_code if error.exit_code != FINDINGS else USAGE
        case DbcpuError():
            _say_to_station(error)
            return _say(str(error), error.exit_code)
        case KeyboardInterrupt() | click.Abort() | EOFError():
            return _say("interrupted", INTERRUPTED)
        case SystemExit():
            return error.code if isinstance(error.code, int) else OK
        case BrokenPipeError():
            _silence_stdout()
            return BROKEN_PIPE
        case OSError() if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG):
            _silence_stdout()
            return _say(f"the result could not be written: {error.strerror}; write it to another file system", FAILED)
        case OSError() if error.errno == errno.EBADF and _refuses_writing(sys.stdout):
            _silence_stdout()
            return _say(f"the result could not be written: {_CLOSED}", FAILED)
        case OSError() if error.errno == errno.ENAMETOOLONG:
            return _say(f"{str(error.filename)[:40]!r}... is too long for a file's name; give a shorter one", USAGE)
        case PermissionError() if isinstance(error.filename, str):
            return _say(
                f"{error.filename!r} could not be used: {error.strerror}; start dbcpu as a user who may, or name "
                "another place (DBCPU_DEBUG=1 shows where this was met)",
                FAILED,
            )
        case MemoryError():
            return _say("out of memory; use fewer sessions or free some", FAILED)
    return _say(_unexpected(error), FAILED)


def _say(sentence: str, code: int) -> int:
    from dbcpu.formatting import plain

    with suppress(OSError, ValueError):
        click.echo(f"dbcpu: {plain(sentence)}", err=True)  # it may quote a server, a file, or the far end of ssh
    return code


def _say_to_station(error: DbcpuError) -> None:
    """Only where a station started this process, for a campaign."""
    if "DBCPU_FAILURE_LINE" not in os.environ:
        return
    from dbcpu.workflows.fleet.failure import failure_line

    with suppress(OSError, ValueError):
        click.echo(failure_line(error), err=True)


def _unexpected(error: BaseException) -> str:
    """Keep the traceback in a file of the user's and say where; it is a fault of dbcpu, not of the user."""
    from dbcpu.cli._crash_report import keep_traceback

    where = keep_traceback(error)
    kept = f"the traceback is in {where}" if where else "DBCPU_DEBUG=1 shows the traceback"
    return f"internal error ({type(error).__name__}); {kept}; please report it"


class _Stopped(KeyboardInterrupt):
    """Of its own class: KeyboardInterrupt itself out of an exec of text, as libraries make classes, would have
    Python end by SIGINT, whatever exit code is given. Source: CPython, Python/pythonrun.c, run_eval_code_obj."""


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, and SIGHUP of a closed terminal, stop like Ctrl-C: sessions are cancelled and rounds are kept.

    Pressed again at once, Ctrl-C changes nothing; later, while that still lasts, it leaves without waiting
    and the guard cleans up. Neither breaks into a clean-up halfway.
    """
    asked_s: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if _is_within(frame, swallowed.__code__):
            return  # what is raised there is dropped, too; it is sent again
        if number == signal.SIGHUP and asked_s:
            return  # one closed terminal may be told by the kernel, by ssh and by a shell
        asked_s.append(time.monotonic())
        if len(asked_s) == 1:
            raise _Stopped(number)
        if asked_s[-1] - asked_s[0] > ONE_PRESS_S:
            _say("interrupted again; the guard process cleans up in the background", INTERRUPTED)
            os._exit(INTERRUPTED)

    def swallowed(found: "sys.UnraisableHookArgs") -> None:
        """Python drops what is raised while it frees an object; who pressed Ctrl-C then would wait for nothing."""
        if not isinstance(found.exc_value, _Stopped):
            ignored(found)
            return
        asked_s.clear()
        threading.Thread(target=send_again, args=found.exc_value.args, daemon=True).start()

    def send_again(number: int) -> None:
        time.sleep(AGAIN_S)
        while not asked_s:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
            time.sleep(AGAIN_S)

    # What a shell had us ignore (nohup, a background job of a script) stays ignored.
    stops = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    wanted = [number for number in stops if signal.getsignal(number) != signal.SIG_IGN]
    try:
        before = [(number, signal.signal(number, stop)) for number in wanted]
    except ValueError:  # not the main thread: whoever called decides
        yield
        return
    ignored, sys.unraisablehook = sys.unraisablehook, swallowed
    try:
        yield
    finally:
        sys.unraisablehook = ignored
        # Once stopped, all is cleaned up here, and the rest of the exit takes no time.
        for number, handler in before:
            signal.signal(number, signal.SIG_IGN if asked_s else handler)


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _replace_closed_streams() -> None:
    """Python has None for a stream that was closed by who started the program (``>&-``), and nobody expects that.

    The result must not be lost unnoticed, so writing to what takes the place of stdout fails. Its number is taken too:
    a file that is opened later, such as the store, would have it, and be written into by programs that are started.
    """
    for name, number, flags in (("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, flags)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _refuses_writing(stream: TextIO) -> bool:
    with suppress(OSError, ValueError):  # a stream without a descriptor
        return fcntl.fcntl(stream.fileno(), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    return False


def _silence_stdout() -> None:
    """Its reader is gone: without this the interpreter reports the error once more on exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
