"""Has targets measured side by side, by Dask distributed: threads of this machine, or workers that a site has.

A task waits for one measurement, so a worker needs no CPU of its own. No task is ever repeated by the engine: a
measurement must not be. Source: Dask documentation, "Futures", "API", "Configuration" (distributed.scheduler)
"""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import urlsplit

from dbcpu.errors import MeasureError, UsageError
from dbcpu.workflows.fleet.station import LOST, Outcome, Task, measure

if TYPE_CHECKING:
    from distributed import Client, Future

INSTALL = "pip install 'dbcpu[fleet]'"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Engine(Protocol):
    """What ``drive`` needs. Entered, it can have tasks; left, it forgets those that were not begun."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def submit(self, task: Task) -> None:
        """Have it measured, once."""

    def ended(self, timeout_s: float) -> Mapping[str, Outcome]:
        """Target -> how it ended, of those that ended since the last call; waits for one at most that long."""

    def stop(self) -> None:
        """Have all measurements that run interrupted."""


def check_scheduler(address: str | None) -> None:
    """Raises UsageError for one that is reached without TLS, off this machine."""
    if address is None:
        return
    found = urlsplit(address)
    if found.scheme not in ("tls", "tcp") or not found.hostname:
        raise UsageError(f"--scheduler {address!r} is not tls://HOST:PORT")
    if found.scheme != "tls" and found.hostname not in LOOPBACK:
        raise UsageError(
            f"--scheduler {address} is not encrypted, and whoever reads it sees all targets; give tls://HOST:PORT, "
            "with the certificates in Dask's configuration (distributed.comm.tls)"
        )


class DaskEngine:
    """See ``Engine``. Without ``scheduler``: threads of this process, which nothing can connect to."""

    def __init__(self, at_once: int, scheduler: str | None = None) -> None:
        check_scheduler(scheduler)
        self._at_once, self._scheduler = at_once, scheduler
        self._open = ExitStack()
        self._client: Client | None = None
        self._running: dict[str, Future[Any]] = {}

    def __enter__(self) -> Self:
        try:
            import dask
            from distributed import Client, Event, LocalCluster
        except ImportError:
            raise UsageError(f"a fleet needs Dask distributed; install it by: {INSTALL}") from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.admin.tick.limit": "1h"})
        try:
            if self._scheduler is None:
                address: Any = self._open.enter_context(
                    LocalCluster(
                        n_workers=1, threads_per_worker=self._at_once, processes=False, dashboard_address=None,
                        protocol="inproc://",
                    )
                )  # fmt: skip
            else:
                address = self._scheduler
            self._client = self._open.enter_context(Client(address, timeout="30s"))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            self._open.close()
            where = self._scheduler or "a local cluster"
            raise MeasureError(f"{where} cannot be used: {type(error).__name__}: {str(error)[:200]}") from None
        self._stop = Event(client=self._client)
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def submit(self, task: Task) -> None:
        assert self._client is not None
        self._running[task.target] = self._client.submit(
            _measured, task, self._stop.name, pure=False, retries=0, key=f"{task.campaign}/{task.target}/{id(task)}"
        )

    def ended(self, timeout_s: float) -> Mapping[str, Outcome]:
        from distributed import wait

        if self._running:
            try:
                wait(list(self._running.values()), timeout=timeout_s, return_when="FIRST_COMPLETED")
            except TimeoutError:
                return {}
        found = {target: _outcome(each) for target, each in self._running.items() if each.done()}
        for target in found:
            del self._running[target]
        return found

    def stop(self) -> None:
        self._stop.set()


def _measured(task: Task, stop: str) -> Outcome:
    """Runs in a worker."""
    from distributed import Event

    event = Event(stop)
    return measure(task, lambda: bool(event.is_set()))


def _outcome(future: "Future[Any]") -> Outcome:
    if future.status != "finished":
        error = future.exception() if future.status == "error" else None
        return Outcome(
            LOST, f"who watched it is gone: {type(error).__name__ if error else future.status}: {error or ''}"
        )
    found = future.result()
    assert isinstance(found, Outcome)
    return found
