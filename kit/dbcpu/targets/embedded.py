"""The default target: a temporary PostgreSQL, started for the run and removed after it."""

from typing import Self

from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import Target
from dbcpu.targets.postgresql.embedded_server import EmbeddedServer
from dbcpu.targets.postgresql.target import LibpqTarget


class EmbeddedTarget(LibpqTarget):
    """A LibpqTarget that brings its server along."""

    def __init__(self, sessions: int, guard: Guard, launch: str = "") -> None:
        super().__init__("", private=True)
        self._server = EmbeddedServer(sessions, guard, launch)

    def __enter__(self) -> Self:
        self._server.__enter__()
        self._conninfo = self._server.conninfo
        try:
            return super().__enter__()
        except BaseException:
            self._server.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._server.__exit__(*exception)


def open_target(request: Request, guard: Guard) -> Target:
    """``request.options``: ``sessions`` the server has to take (default 32), a ``launch`` command before its own."""
    return EmbeddedTarget(int(request.options.get("sessions", "32")), guard, request.options.get("launch", ""))
