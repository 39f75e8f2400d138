"""What became of a target, from the run that is stored, the exit code of its process, and what it said."""

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from dbcpu.config.folders import state_folder
from dbcpu.errors import Interrupted, UsageError
from dbcpu.store.campaigns import CANCELLED, DONE, PARTIAL, PLANNED, REFUSED, UNKNOWN, Item, now
from dbcpu.store.database import Store
from dbcpu.workflows.fleet.failure import Failure, read_failure

MAX_SAID_BYTES = 16_000
MAX_WHY = 1000
_OWN = "dbcpu: "
_OWN_CONFIGURATION = re.compile(r"\S*/(?:target-|dbcpu-check-)\w+/dbcpu\.toml, ")
"""The file that a station writes for one process."""


class ItemOutcome(Struct, frozen=True):
    """State of the item from now on, the run it has, and why it is not complete. ``spooled``: kept on the station."""

    state: str
    run_id: str | None = None
    why: str = ""
    spooled: bool = False


def outcome(run: tuple[str, str, int] | None, code: int | None, failure: Failure) -> ItemOutcome:
    """What follows from the run of a process that has ended.

    Args:
        run: run_id, status and number of rounds as stored, None where the process kept none.
        code: its exit code, below 0 the signal that ended it; None where it is not known.
        failure: what it said of its end.
    """
    ended = f"its process was ended by signal {-code}" if code is not None and code < 0 else failure.said
    if run is not None and run[1] == "complete":
        return ItemOutcome(DONE, run[0])
    run_id = run[0] if run else None
    if code == Interrupted.exit_code:
        return ItemOutcome(CANCELLED, run_id, ended)
    if run is not None:
        return ItemOutcome(PARTIAL, run_id, ended or f"its process ended after {run[2]} rounds")
    if code is None and not failure.said:
        return ItemOutcome(PLANNED)
    if failure.of_store:
        return ItemOutcome(PLANNED, why=failure.said)
    return ItemOutcome(UNKNOWN if code is not None and code < 0 else REFUSED, None, ended or f"exit code {code}")


def settle(store: Store, campaign: str, item: Item, code: int | None = None) -> ItemOutcome:
    """Keep the outcome of an item whose process has ended. Raises StoreError."""
    log = log_of(campaign, item.target)
    found = outcome(store.campaigns.run_of(campaign, item), code, failure_in(log))
    values: dict[str, Any] = {"state": found.state, "run_id": found.run_id, "why": found.why}
    if found.state == PLANNED:
        values |= {"pid": None, "station": None, "boot_id": None, "start_ticks": None, "started_at": None}
    else:
        values["ended_at"] = now()
    if store.campaigns.change(campaign, item.target, was_pid=item.pid, **values):
        log.unlink(missing_ok=True)
    return found


def failure_in(log: Path) -> Failure:
    """What a process said of its end: in its line for the station, else its last sentence for people."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - MAX_SAID_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return Failure()
    failure = read_failure(lines)
    own = [line.removeprefix(_OWN) for line in lines if line.startswith(_OWN)]
    usage = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
    said = failure.said if failure else (own or usage or [""])[-1]
    return Failure(_OWN_CONFIGURATION.sub("", said)[:MAX_WHY], failure is not None and failure.of_store)


def campaign_folder(campaign: str) -> Path:
    """Where this station keeps what is under way, readable by its user alone. Raises UsageError without a home."""
    above = state_folder()
    if above is None:
        raise UsageError("there is no home folder for the state of a campaign; set HOME")
    folder = above / "fleet" / campaign
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def log_of(campaign: str, target: str) -> Path:
    """What the process of a target said."""
    return campaign_folder(campaign) / f"{file_stem(target)}.log"


def file_stem(target: str) -> str:
    """A file's name for a target: its letters and digits, and a digest that makes it its own."""
    from hashlib import blake2b

    readable = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in target[:40])
    return f"{readable}-{blake2b(target.encode(), digest_size=6).hexdigest()}"
