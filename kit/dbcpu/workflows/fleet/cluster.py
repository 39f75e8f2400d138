"""Where measurements are started from: threads of this process, or the workers of a Dask cluster that a site has.

Nothing of Dask runs on a database host. The own cluster is in this process, and work passes no port. A worker that is
lost is reported, and its target is not given to another: the store lets only one process measure an item.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dbcpu.errors import MeasureError, UsageError
from dbcpu.reports.extra_packages import install
from dbcpu.workflows.fleet.outcome import ItemOutcome
from dbcpu.workflows.fleet.station import Assignment, cancel_all, measure

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = "15s"
_LOOPBACK = re.compile(r"tcp://(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+")
_NOWHERE = "127.0.0.1:0"
"""Dask always serves HTTP, on all addresses where none is given (also for None): on loopback, without any page."""
_ALONE = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # It looks at the stack of each thread a hundred times a second: a fifth of a CPU at 100 that only wait.
    "distributed.worker.profile.enabled": False,
    # Fifty times a second it looks whether its loop is in time, and now and then for an idle worker: there is one.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.scheduler.work-stealing": False,
}


class Workers:
    """``start`` calls ``ended(target, outcome)`` later, from another thread; a lost worker's outcome is an error."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._alive: dict[str, object] = {}

    def start(self, work: Assignment, ended: Callable[[str, ItemOutcome | Exception], None]) -> None:
        future = self._client.submit(measure, work, pure=False, retries=0)
        self._alive[work.target] = future  # Dask forgets what nobody holds

        def done(found: object) -> None:
            self._alive.pop(work.target, None)
            result: ItemOutcome | Exception
            try:
                result = future.result()
            except Exception as error:  # whatever befell a worker; the driver goes on
                result = error
            except BaseException as error:  # Dask's CancelledError of a lost scheduler
                result = MeasureError(type(error).__name__)
            ended(work.target, result)

        future.add_done_callback(done)

    @property
    def missing(self) -> bool:
        """Whether the cluster has no worker, as far as its scheduler says."""
        try:
            return not self._client.scheduler_info()["workers"]
        except OSError:  # the scheduler is lost, and each outcome will be an error
            return False

    def withdraw(self) -> None:
        """Take back what no worker has: its outcome is an error."""
        self._client.cancel(list(self._alive.values()))

    def cancel(self) -> None:
        """Interrupt all measurements of these workers, as Ctrl-C does."""
        self._client.run(cancel_all)


@contextmanager
def workers(scheduler: str | None, at_once: int) -> Iterator[Workers]:
    """Those of the cluster at ``scheduler``, else threads of this process.

    Raises:
        UsageError: Dask is not installed, or the address would send work without TLS to another machine.
        MeasureError: the cluster is out of reach.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise not_installed() from None
    _quiet()
    if scheduler is None:
        with (
            TemporaryDirectory(prefix="dbcpu-fleet-", ignore_cleanup_errors=True) as scratch,
            dask.config.set({**_ALONE, "temporary-directory": scratch}),  # else Dask leaves a folder of its own
            LocalCluster(
                n_workers=1, threads_per_worker=at_once, processes=False, dashboard_address=_NOWHERE,
                worker_dashboard_address=_NOWHERE,
                memory_limit=0,
            ) as cluster,
            Client(cluster) as client,
        ):  # fmt: skip
            yield Workers(client)
        return
    with connected(scheduler) as client:
        yield Workers(client)


@contextmanager
def connected(scheduler: str) -> Iterator["Client"]:
    """A client of the cluster at ``scheduler``. Raises as ``workers``."""
    try:
        from distributed import Client
    except ImportError:
        raise not_installed() from None
    _quiet()
    if not scheduler.startswith("tls://") and not _LOOPBACK.fullmatch(scheduler):
        raise UsageError(
            f"--scheduler {scheduler!r} would send work to another machine without TLS, and whoever reaches its port "
            "could run programs; give tls://HOST:PORT, with the certificates in Dask's configuration"
        )
    try:
        client = Client(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        raise MeasureError(
            f"the Dask scheduler at {scheduler} cannot be reached ({str(error)[:200] or type(error).__name__}); see "
            "that it runs, and that distributed.comm.tls of Dask's configuration names its certificates"
        ) from None
    with client:
        yield client


def _quiet() -> None:
    """What befalls workers, their outcomes say; a loop that ends late on a busy machine logs what it gave up."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def not_installed() -> UsageError:
    """The sentence for a dbcpu without its extra."""
    return UsageError(f"a fleet needs Dask, which is not installed; {install('distributed')}")
