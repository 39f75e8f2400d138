"""Stand-ins that a script starts as programs, forked from one process that has their modules loaded.

``ForkServer(MODULE)`` starts that process; a script runs ``ForkServer.command``, a client that starts in hundredths of
a second. Environment, arguments and standard streams are the client's; it ends with the code of the module's ``main``.
Who kills the client kills the program. It is not in the client's session: a terminal's signals reach the client alone.
"""

import fcntl
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

REQUEST_BYTES = 1 << 18
CLIENT = Path(__file__).with_name("fork_client.py")


class ForkServer:
    """The process, which ends with this object or with the process that made it."""

    def __init__(self, module: str, folder: Path) -> None:
        path = folder / "fork_server"
        self.command = f'exec "{sys.executable}" -ISE "{CLIENT}" "{path}" "$@"'
        self._kept, its = os.pipe()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.fork_server", module, str(listening.fileno()), str(its)],
                pass_fds=(listening.fileno(), its),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
        os.close(its)

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Others forked meanwhile may hold the pipe, too: that it is closed is only for where this process is killed.
        os.close(self._kept)
        self._process.terminate()
        self._process.wait()


def serve(module: str, listening: socket.socket, kept: int) -> None:
    """Until nobody has the other end of ``kept``."""
    program = importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none of them is waited for
    _end_with(kept)
    while True:
        asked, _ = listening.accept()
        if not os.fork():
            listening.close()
            os.close(kept)
            _run(program.main, asked)
        asked.close()


def _run(main: object, asked: socket.socket) -> None:
    assert callable(main)
    request, streams, _, _ = socket.recv_fds(asked, REQUEST_BYTES, 3)
    arguments, environment = json.loads(request)
    for stream, standard in zip(streams, range(3), strict=True):
        os.dup2(stream, standard)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(environment["PWD"])
    sys.argv = arguments
    _end_with(asked.fileno())
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        asked.send(str(code).encode())
        os._exit(code)


def _end_with(descriptor: int) -> None:
    """This process is killed when the other end is closed: the signal's default. Source: fcntl(2), O_ASYNC"""
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


if __name__ == "__main__":
    serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]))
