"""What happens where a target of a campaign is measured: one ``dbcpu run`` in a session of its own is waited for.

It is started with exactly what a user would give it, so a fleet measures as a single user does. No secret is an
argument: the run gets a configuration file of its own with the place of the password, as the inventory has it.
"""

import contextlib
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbcpu.hosts.driver_process import process, this_process
from dbcpu.store.campaigns import RUNNING, label, now_text
from dbcpu.store.database import open_store

CHECK_S = 0.5
"""How often it is asked whether the measurement shall be stopped."""
MAX_SAID = 64 * 1024
SIMULATED = "simulated"
LOST = -1
"""In place of an exit code: who watched the measurement is gone, and nothing is known of its end."""


@dataclass(frozen=True, slots=True)
class Task:
    """One target to measure; it goes to the station as plain values. ``request`` holds no secret."""

    campaign: str
    target: str
    request: Mapping[str, str]
    options: tuple[str, ...]
    store: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a measurement ended. ``said``: the sentence of its refusal, or ''."""

    code: int
    said: str = ""


def measure(task: Task, is_stopped: Callable[[], bool]) -> Outcome:
    """Start it, and wait until it has ended; it is interrupted where ``is_stopped``. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="dbcpu-fleet-") as folder:
        file, messages = Path(folder) / "dbcpu.toml", Path(folder) / "messages"
        file.write_text(configuration(task.target, task.request), "utf-8")
        # First who is about to start it: a campaign without even that has not begun this target.
        _note(
            task,
            state=RUNNING,
            station=platform.node(),
            driver=this_process(),
            started_at=now_text(),
            why="",
            ended_at="",
        )
        with messages.open("wb") as said:
            run = subprocess.Popen(  # noqa: S603 - an argument list, no shell
                command_line(task),
                env=environment(task.store, file),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        _note(task, driver=replace(process(run.pid), python=""))
        return Outcome(_ended(run, is_stopped), last_sentence(messages))


def command_line(task: Task) -> list[str]:
    """What measures it. A target ``simulated://PRESET?cores=8`` is simulated instead."""
    dbcpu = [sys.executable, "-m", "dbcpu"]
    named = ["--label", label(task.campaign, task.target)]
    if task.request["url"].partition("://")[0] == SIMULATED:
        return [*dbcpu, "simulate", *simulated(task.request["url"]), *_fitting_simulation(task.options), *named]
    return [*dbcpu, "run", task.target, *task.options, *named, "--yes", "--report", "none", "--quiet"]


def simulated(url: str) -> list[str]:
    """The preset of ``simulated://PRESET?noise=0.03&seed=7`` and its options, as of ``dbcpu simulate``."""
    from sqlalchemy.engine import make_url

    parsed = make_url(url)
    options = [
        word
        for key, value in parsed.query.items()
        for word in (f"--{key}", *([value] if isinstance(value, str) and value else []))
    ]
    return [*([parsed.host] if parsed.host else []), *options]


_SIMULATED_TOO = ("--sessions", "--size", "--executions", "--seconds", "--for", "--repeats", "-n")


def _fitting_simulation(options: tuple[str, ...]) -> list[str]:
    """Those of a run that a simulation has as well; all of them have a value."""
    pairs = itertools.pairwise(options)
    return [word for option, value in pairs if option in _SIMULATED_TOO for word in (option, value)]


def configuration(target: str, request: Mapping[str, str]) -> str:
    """A dbcpu.toml with that target alone. JSON's strings are strings of TOML. Source: toml.io, String"""
    lines = [f"{key} = {json.dumps(value)}" for key, value in request.items()]
    return "\n".join([f"[targets.{json.dumps(target)}]", *lines, ""])


def environment(store: str | None, file: Path) -> dict[str, str]:
    """For a dbcpu that is to read this configuration, and to keep its run in ``store``."""
    found = {**os.environ, "DBCPU_CONFIG": str(file)}
    return {**found, "DBCPU_STORE": store} if store else found


def _ended(run: "subprocess.Popen[bytes]", is_stopped: Callable[[], bool]) -> int:
    asked = False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return run.wait(CHECK_S)
        if not asked and is_stopped():
            asked = True
            run.send_signal(signal.SIGINT)


def last_sentence(messages: Path) -> str:
    """The last one that dbcpu said as an error; '' where it said none."""
    with messages.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - MAX_SAID))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = [line.removeprefix("dbcpu: ") for line in lines if line.startswith("dbcpu: ")]
    usage = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
    return (said or usage or [""])[-1].strip()


def _note(task: Task, **values: Any) -> None:
    with open_store(task.store, create=False) as store:
        store.campaigns.change(task.campaign, task.target, **values)
