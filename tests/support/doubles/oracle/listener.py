"""The listener: accepts connections and forks a process for each; it does nothing else, and in one thread.

Started by ``double.OracleDouble`` as a process of its own. Line 1 of standard input is the configuration as JSON,
further lines are questions (``pids``, ``sessions``, ``journal``, ``faults``, ``window``); each is answered by one line.
When standard input closes, every server process is ended and the listener with them.
"""

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from typing import Any, NoReturn

from msgspec.structs import replace

from support.doubles.oracle.catalogue import Catalogue
from support.doubles.oracle.conversation import serve
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.process import bind, end_with_parent, rename
from support.doubles.oracle.profiles import PROFILES, Instance
from support.doubles.oracle.session import Killing, Server
from support.doubles.oracle.sessions import OF_THE_DATABASE, Journal, SessionTable
from support.doubles.oracle.views import MAINTENANCE_PLAN

_BACKLOG = 1024
_PLAN = "resource_manager_plan"


class Listener:
    """One listening socket, one table of sessions, one child per connection."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._server = Server(
            profile=PROFILES[config["profile"]],
            instance=Instance(**config["instance"]),
            faults=Faults.from_json(config["faults"]),
            verifier=config["verifier"],
            sdu=config["sdu"],
            users=config["users"],
            catalogue=Catalogue(config["extra"]),
            table=SessionTable(),
            journal=Journal(),
            listener_pid=os.getpid(),
            started_s=time.time(),
        )
        self._socket = socket.create_server((config["host"], config["port"]), backlog=_BACKLOG)
        self._socket.setblocking(False)
        self._accepted = 0
        self._before_window: dict[int, str] = {}
        self._questions = b""
        self._ended, wake = os.pipe()
        os.set_blocking(self._ended, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._wake = wake

    def run(self) -> None:
        """Until standard input closes."""
        self._answer({"port": self._socket.getsockname()[1], "pid": os.getpid()})
        # What exists now is never collected: the children share its pages for good.
        gc.collect()
        gc.freeze()
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._socket.fileno(), self._ended, sys.stdin.fileno()):
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                ready = [key.fd for key, _ in selector.select()]
                if self._ended in ready:
                    self._reap()
                if sys.stdin.fileno() in ready and not self._questioned():
                    return
                if self._socket.fileno() in ready:
                    self._accept(selector)

    def end(self) -> None:
        """End every server process. They are this process's own children: a pid cannot be another's."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for pid in self._server.table.pids():
            os.kill(pid, signal.SIGKILL)
        for pid in self._server.table.pids():
            os.waitpid(pid, 0)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        number, count = self._server.table.claim(), self._accepted
        self._accepted += 1
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._become_server(selector, connection, number, count, parent)
        self._server.table.started(pid, number)
        connection.close()

    def _become_server(
        self, selector: selectors.BaseSelector, connection: socket.socket, number: int, count: int, parent: int
    ) -> NoReturn:
        code = 1
        try:
            end_with_parent(parent)
            bind(self._server.instance.processor_group)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            selector.close()
            self._socket.close()
            os.close(self._ended)
            os.close(self._wake)
            _detach()
            name = self._server.instance.name
            if self._server.faults.threaded:
                rename(f"ora_u005_{name.lower()}", f"ora_u005_{name}")
            else:
                rename(f"oracle_{os.getpid()}_{name.lower()}", f"oracle{name} (LOCAL=NO)")
            connection.setblocking(True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            killing = Killing()
            signal.signal(signal.SIGUSR1, killing)
            signal.signal(signal.SIGUSR2, killing)
            if self._server.faults.threaded:
                thread = threading.Thread(target=serve, args=(self._server, connection, number, count, killing))
                thread.start()
                thread.join()
            else:
                serve(self._server, connection, number, count, killing)
            code = 0
        finally:
            os._exit(code)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._ended, 4096):
                pass
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) > 0:
                self._server.table.ended(ended)

    def _questioned(self) -> bool:
        """Answer what was asked. False when nobody is there any more."""
        received = os.read(sys.stdin.fileno(), 65536)
        *lines, self._questions = (self._questions + received).split(b"\n")
        for line in lines:
            self._answer(self._reply(json.loads(line)))
        return bool(received)

    def _reply(self, question: dict[str, Any]) -> object:
        table = self._server.table
        if question["ask"] == "pids":
            return table.pids()
        if question["ask"] == "sessions":
            return table.entries()
        if question["ask"] == "journal":
            return self._server.journal.read()
        if question["ask"] == "window":
            self._window(question["name"])
            return True
        self._server = _with_faults(self._server, Faults.from_json(question["faults"]))
        return True

    def _window(self, name: str) -> None:
        """A scheduler window opens, or '' closes: on every instance its plan is on meanwhile, then that of before.

        Not where the plan of before is a FORCE: plan.
        """
        instance, table = self._server.instance, self._server.table
        table.alter("window", name, OF_THE_DATABASE)
        for number in range(1, instance.instances + 1):
            now = table.altered(number).get(_PLAN, instance.plan)
            if name and not now.startswith("FORCE:"):
                self._before_window[number] = now
                table.alter(_PLAN, f"SCHEDULER[0x4D53]:{MAINTENANCE_PLAN}", number)
            elif not name and now.startswith("SCHEDULER["):
                table.alter(_PLAN, self._before_window.pop(number), number)

    def _answer(self, answer: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _with_faults(server: Server, faults: Faults) -> Server:
    return replace(server, faults=faults)


def _detach() -> None:
    """Let go of the pipes to whoever started the double, so that their ends are seen."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def main() -> None:
    """Configure from the first line of standard input, then listen."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        if not (byte := os.read(0, 1)):
            return
        line += byte
    config = json.loads(line)
    if config["parent"]:
        end_with_parent(config["parent"], signal.SIGKILL)
    listener = Listener(config)
    try:
        listener.run()
    finally:
        listener.end()


if __name__ == "__main__":
    main()
