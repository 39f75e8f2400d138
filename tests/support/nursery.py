"""Programs forked from a process that has dbcpu's modules loaded: a start costs hundredths of a second of CPU.

What they share is the start of the interpreter, the imports, and the cluster that embedded servers have copies of
(support/servers/kept_cluster.py). Session, folder, environment, limits and standard streams are each one's own, and the
command line is read by the same ``dbcpu.cli.main``. Tests of the start itself, of initdb, and those that change what an
interpreter reads when it starts, need ``python -m dbcpu`` (support/driving.py).
"""

import atexit
import contextlib
import faulthandler
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from support import calm_work
from support.servers import kept_cluster

MESSAGE_BYTES = 1 << 17
"""Below what a socket of the kernel's default size takes at once; arguments and environment are far smaller."""
END_LIMIT_S = 30.0
HIGHEST_DESCRIPTOR = 1024
DBCPU = "dbcpu.cli"
LOADED = (
    "alembic.command",
    "alembic.config",
    "dbcpu.analysis.explain",
    "dbcpu.analysis.history.run_figures",
    "dbcpu.cli.doctor",
    "dbcpu.cli.fleet",
    "dbcpu.cli.list",
    "dbcpu.cli.run",
    "dbcpu.cli.show",
    "dbcpu.measure.experiments.soak",
    "dbcpu.measure.experiments.sweep",
    "dbcpu.measure.samplers.container",
    "dbcpu.measure.samplers.none",
    "dbcpu.measure.samplers.procfs",
    "dbcpu.measure.samplers.sql",
    "dbcpu.measure.samplers.ssh",
    "dbcpu.measure.samplers.trace",
    "dbcpu.reports.documents.run",
    "dbcpu.reports.formats.table",
    "dbcpu.reports.write",
    "dbcpu.store.run_stream",
    "dbcpu.store.schema.upgrade",
    "dbcpu.targets.embedded",
    "dbcpu.targets.oracle",
    "dbcpu.targets.sqlite",
    "dbcpu.variants._apply",
    "dbcpu.workflows.explain",
    "dbcpu.workflows.foresee",
    "dbcpu.workflows.kept_figures",
    "dbcpu.workflows.launch_run",
    "dbcpu.workflows.list_runs",
    "dbcpu.workflows.origins.far_target",
    "dbcpu.workflows.present",
    "dbcpu.workflows.vary",
    "platformdirs",
    "rich.table",
    "scipy.special",
    "sqlalchemy.dialects.sqlite",
)
"""What most runs of the program load; the rest each loads when it needs it, as ever."""
CAMPAIGNS = (["fleet", "run"], ["fleet", "resume"])
"""What these load besides takes a second of CPU, and is loaded before the first of them."""


class Forked:
    """A program that runs, with the methods of ``subprocess.Popen`` that a driver needs."""

    def __init__(self, pid: int, ended: int) -> None:
        self.pid, self._ended = pid, ended
        self.returncode: int | None = None
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._handle = None

    def poll(self) -> int | None:
        """Its exit code, -N where signal N ended it; None while it runs."""
        return self._await(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        code = self._await(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("dbcpu", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _await(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout_s)[0]:
            code = os.read(self._ended, 16)
            assert code, "the nursery has ended before its program"
            self.returncode = int(code)
            for descriptor in (self._ended, self._handle):
                if descriptor is not None:
                    os.close(descriptor)
            self._handle = None
        return self.returncode


class Nursery:
    """Client of one such process, which ends with the process that started it."""

    def __init__(self) -> None:
        self._asked, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen([sys.executable, "-m", "support.nursery"], stdin=its.fileno(), cwd="/",
                                             env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
        self._turn = threading.Lock()

    def start(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        limit_bytes: int | None,
        out: int,
        program: str = DBCPU,
    ) -> tuple[Forked, int]:
        """Run ``dbcpu ARGUMENTS`` in a session of its own; also the reading end of its standard error.

        ``program``: another module whose ``main`` is called instead.
        """
        request = json.dumps([list(arguments), str(folder), dict(environment), limit_bytes, program]).encode()
        assert len(request) < MESSAGE_BYTES
        (err, its_err), (ended, its_end) = os.pipe(), os.pipe()
        with self._turn:
            socket.send_fds(self._asked, [request], [out, its_err, its_end])
            os.close(its_err)
            os.close(its_end)
            pid = self._asked.recv(16)
        assert pid, "the nursery has ended"
        return Forked(int(pid), ended), err

    def close(self) -> None:
        self._asked.close()
        self._process.wait(END_LIMIT_S)


_open: dict[int, Nursery] = {}
"""By the process whose it is."""


def nursery() -> Nursery:
    """That of this process, started when it is first needed."""
    if os.getpid() not in _open:
        _open.clear()
        made = _open[os.getpid()] = Nursery()
        owner = os.getpid()
        atexit.register(lambda: made.close() if os.getpid() == owner else None)
    return _open[os.getpid()]


def run_forked(program: str, *arguments: str, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """The ``main`` of a module as a program of its own; when it has ended."""
    with tempfile.TemporaryFile("w+") as out:
        process, err = nursery().start(arguments, Path("/"), environment, None, out.fileno(), program)
        with os.fdopen(err) as said:
            told = said.read()
        code = process.wait()
        out.seek(0)
        return subprocess.CompletedProcess([program, *arguments], code, out.read(), told)


def main() -> str:
    """Until the socket closes; returns in each program's process, too: the module that it then runs."""
    for module in LOADED:
        __import__(module)
    kept_cluster.use()
    calm_work.use()
    gc.collect()
    gc.freeze()  # the collector of a child would write to each page of what it shares with all others
    children: dict[int, tuple[int, int]] = {}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=os.dup(0)) as asked:
        while True:
            waited: list[socket.socket | int] = [asked, *children]
            ready = select.select(waited, [], [])[0]
            for handle in [each for each in children if each in ready]:
                _reap(handle, *children.pop(handle))
            if asked not in ready:
                continue
            request, descriptors, _, _ = socket.recv_fds(asked, MESSAGE_BYTES, 3)
            if not request:
                sys.exit(0)
            arguments, folder, environment, limit_bytes, program = json.loads(request)
            if arguments[:2] in CAMPAIGNS:
                with contextlib.suppress(ImportError):  # who has no Dask is told so by the program
                    importlib.import_module("distributed")
            pid = os.fork()
            if not pid:
                break
            out, err, ended = descriptors
            os.close(out)
            os.close(err)
            children[os.pidfd_open(pid)] = (pid, ended)
            asked.send(str(pid).encode())
    _become(descriptors, arguments, folder, environment, limit_bytes)
    return str(program)


def _reap(handle: int, pid: int, ended: int) -> None:
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(ended)
    os.close(handle)


def _become(
    descriptors: Sequence[int],
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    limit_bytes: int | None,
) -> None:
    """Take what a started program would have of its own. Source: execve(2), Attributes that are not preserved"""
    os.setsid()
    out, err, _ = descriptors
    with Path(os.devnull).open("rb") as nothing:
        for source, standard in ((nothing.fileno(), 0), (out, 1), (err, 2)):
            os.dup2(source, standard)
    os.closerange(3, HIGHEST_DESCRIPTOR)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    if limit_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    tempfile.tempdir = None
    faulthandler.enable(2)
    sys.argv = ["dbcpu", *arguments]


if __name__ == "__main__":
    sys.exit(importlib.import_module(main()).main())
