"""One target measured on this machine: a ``dbcpu run`` process in a session of its own, waited for by a thread.

A thread that waits for a process takes no CPU. The process reads a line before it becomes dbcpu, so that the store
names it before it measures; where its station dies before, the line never comes and it ends. Once it measures, it goes
on whatever happens to the station. Arguments hold names, references and options, and no secret: the password and the
store's URL are looked up by the process itself, in its environment and in files.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from signal import SIGINT

from msgspec import Struct
from msgspec.structs import replace

from dbcpu import __version__
from dbcpu.errors import DbcpuError, StoreError
from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.hosts.driver_process import this_process
from dbcpu.measure.workloads import sql_hash
from dbcpu.store.campaigns import REFUSED, RUNNING, UNKNOWN, Campaign, Item, label_of, now
from dbcpu.store.database import Store, open_store
from dbcpu.store.schema.rows import driver_place
from dbcpu.workflows.fleet.failure import FAILURE_LINE
from dbcpu.workflows.fleet.outcome import ItemOutcome, campaign_folder, file_stem, log_of, settle
from dbcpu.workflows.fleet.simulated import arguments, is_simulated, why_none
from dbcpu.workflows.origins.far_target import toml_of

STORE = "DBCPU_STORE"
COMMANDS = "DBCPU_FLEET_EXEC"
_GATE = 'read -r go && exec "$@" </dev/null'
_TAKEN_OVER = "it was begun already, by a station that was lost or another driver; dbcpu fleet resume looks for it"
"""Also where a cluster gives the task of a lost worker to another one, as many do: it is not measured twice."""


class Assignment(Struct, frozen=True):
    """What a station needs to know. ``table``: the target's, as dbcpu.toml has it. ``options``: those of ``run``."""

    campaign: str
    created_at: str
    tool_version: str
    sql_hash: str
    target: str
    table: Mapping[str, str]
    options: tuple[str, ...]

    @classmethod
    def of(cls, campaign: Campaign, target: str) -> "Assignment":
        plan = campaign.plan
        return cls(
            campaign.name, campaign.created_at, campaign.tool_version, campaign.sql_hash, target,
            plan["targets"][target], tuple(plan["options"]),
        )  # fmt: skip


_running: dict[int, subprocess.Popen[bytes]] = {}
_changes = threading.Lock()


def cancel_all() -> int:
    """Interrupt every measurement that this process started, as Ctrl-C does; returns how many there were."""
    with _changes:
        for process in _running.values():
            process.send_signal(SIGINT)
        return len(_running)


def measure(work: Assignment) -> ItemOutcome:
    """Measure one target and keep its outcome; the store is DBCPU_STORE, or a spool where that is out of reach."""
    spool = campaign_folder(work.campaign) / f"{file_stem(work.target)}.db"
    if spool.exists():
        return ItemOutcome(
            RUNNING, why=f"an earlier run waits at {spool}; deliver it by dbcpu fleet sync", spooled=True
        )
    try:
        return _measure(work, os.environ.get(STORE))
    except StoreError:  # nothing was measured yet
        return _spooled(work, spool)


def _spooled(work: Assignment, spool: Path) -> ItemOutcome:
    made = Campaign(work.campaign, work.created_at, work.tool_version, work.sql_hash, {})
    try:
        with open_store(str(spool)) as store:
            store.campaigns.create(made, (Item(work.target, state=RUNNING, started_at=now()),))
        return replace(_measure(work, str(spool)), spooled=True)
    except DbcpuError as error:
        return ItemOutcome(UNKNOWN, why=str(error))


def _measure(work: Assignment, url: str | None) -> ItemOutcome:
    """Raises StoreError before anything is measured."""
    with open_store(url) as store:
        if why := _differs(work) or command_refused(work.table) or _not_simulated(work.table["url"]):
            store.campaigns.change(work.campaign, work.target, was=(RUNNING,), was_pid=0, state=REFUSED, why=why)
            return ItemOutcome(REFUSED, why=why)
        with tempfile.TemporaryDirectory(prefix="target-", dir=campaign_folder(work.campaign)) as folder:
            process = _start(work, Path(folder), url)
            try:
                return _driven(work, process, store)
            finally:
                with _changes:
                    _running.pop(process.pid, None)


def _driven(work: Assignment, process: "subprocess.Popen[bytes]", store: Store) -> ItemOutcome:
    """Name the process in the store, let it measure, and keep what became of it."""
    assert process.stdin is not None
    with process.stdin as gate:
        drove = replace(this_process(), pid=process.pid, start_ticks=start_ticks(process.pid))
        item = Item(
            work.target, pid=process.pid, station=drove.hostname, boot_id=driver_place(drove),
            start_ticks=drove.start_ticks, started_at=now(),
        )  # fmt: skip
        try:
            named = store.campaigns.change(
                work.campaign, work.target, was=(RUNNING,), was_pid=0, pid=item.pid, station=item.station,
                boot_id=item.boot_id, start_ticks=item.start_ticks, started_at=item.started_at,
            )  # fmt: skip
        except StoreError:
            gate.close()  # it never begins
            process.wait()
            raise
        if named:
            with _changes:
                _running[process.pid] = process
            gate.write(b"go\n")
            gate.flush()
    code = process.wait()
    if not named:
        return ItemOutcome(UNKNOWN, why=_TAKEN_OVER)
    try:
        return settle(store, work.campaign, item, code)
    except StoreError as error:  # what is stored says it later
        return ItemOutcome(UNKNOWN, why=f"{error}; dbcpu fleet resume {work.campaign} looks again")


def _start(work: Assignment, folder: Path, url: str | None) -> "subprocess.Popen[bytes]":
    """The process, which waits for a line. Its configuration has this target alone."""
    config = folder / "dbcpu.toml"
    config.write_text(toml_of(work.target, work.table), "utf-8")
    dbcpu = [sys.executable, "-P", "-m", "dbcpu"]
    environment = {**os.environ, "DBCPU_CONFIG": str(config), FAILURE_LINE: "1"} | ({STORE: url} if url else {})
    with log_of(work.campaign, work.target).open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - dbcpu itself
            ["/bin/sh", "-c", _GATE, "dbcpu", *dbcpu, *_command(work)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip


def _command(work: Assignment) -> list[str]:
    """Runs that are simulated have no driver that could be looked for: they are found by their label.

    The host of an inventory is required, as one of a command line is: hosts of a fleet are watched alike or refused. Of
    a target that is measured from elsewhere it is the way there, which its table has.
    """
    label = ["--label", label_of(work.campaign, work.target)]
    if is_simulated(work.table["url"]):
        return ["simulate", *arguments(work.table["url"], work.options), *label]
    own = [] if {"--label", "-l"} & set(work.options) else label
    host = work.table.get("host")
    if host and "from" not in work.table and "--host" not in work.options:
        own = [*own, "--host", host]
    return ["run", *work.options, *own, "--yes", "--quiet", "--report", "none", "--", work.target]


def _differs(work: Assignment) -> str:
    """Why this station must not measure for that campaign; '' if it may."""
    if work.tool_version != __version__:
        return f"the campaign is of dbcpu {work.tool_version}, and its station has {__version__}; install that one"
    if work.sql_hash != sql_hash():
        return f"the station's SQL files differ from those of the campaign; install dbcpu {work.tool_version} anew"
    return ""


def _not_simulated(url: str) -> str:
    return why_none(url) if is_simulated(url) else ""


def command_refused(table: Mapping[str, str]) -> str:
    """Why a command of an inventory is not started here; '' for none, or where the station's own environment says yes.

    A campaign comes from a store, and whoever can write there could start any program on its stations.
    """
    if os.environ.get(COMMANDS) == "yes":
        return ""
    if table.get("host", "").startswith("exec:"):
        return f"its host is a command (exec:), which a fleet starts only where {COMMANDS}=yes is in the environment"
    if table["url"].startswith("shell:") and table["url"].strip("/") != "shell:":
        return f"its url names a program (shell:), which a fleet starts only where {COMMANDS}=yes is in the environment"
    return ""
