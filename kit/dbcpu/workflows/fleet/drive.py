"""Goes on with a campaign until all of its targets have ended, or it is stopped.

Only who holds the campaign's lease drives it. The first Ctrl-C starts nothing more and waits, the second interrupts
what is measured; ``dbcpu fleet stop`` wishes the same from elsewhere.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from dbcpu.errors import Interrupted, MeasureError, RecordFormatError
from dbcpu.formatting import duration, plural
from dbcpu.hosts import driver_process
from dbcpu.record import Driver
from dbcpu.store import codec
from dbcpu.store.campaigns import NO_NEW, NOW, PLANNED, REFUSED, RUNNING, Campaign, Item, now_text
from dbcpu.store.database import Store
from dbcpu.workflows.fleet.engine import Engine
from dbcpu.workflows.fleet.order import Limits, Progress, next_targets, why_stopped
from dbcpu.workflows.fleet.recover import FINDINGS, found_later, recovered, state_after
from dbcpu.workflows.fleet.station import Outcome, Task

LEASE_S, RENEW_S = 60.0, 15.0
WAIT_S = 1.0
LOOK_S = 3.0
"""How often the store is asked about measurements that an earlier driver began."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went on. ``findings``: runs with one at or above --fail-on. ``stopped``: why no more were begun, or ''."""

    findings: int
    stopped: str


def drive(
    store: Store, campaign: Campaign, engine: Engine, limits: Limits, say: Callable[[str], None], *,
    failed: bool = False, store_url: str | None = None,
) -> Ended:  # fmt: skip
    """Measure what is left of it; ``failed``: also what was refused, partial or unknown.

    Raises:
        MeasureError: somebody else drives it.
        Interrupted: the second Ctrl-C; what was measured is kept.
    """
    owner = _take(store, campaign)
    try:
        with _presses() as pressed, engine:
            return _Drive(store, campaign, engine, limits, say, owner, pressed, store_url).to_the_end(failed)
    finally:
        store.campaigns.release(campaign.name, owner)


@dataclass
class _Drive:
    store: Store
    campaign: Campaign
    engine: Engine
    limits: Limits
    say: Callable[[str], None]
    owner: str
    pressed: list[int]
    store_url: str | None
    items: dict[str, Item] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    """Targets that an earlier driver had begun, and that may still be measured."""
    findings: int = 0
    begun_s: float = field(default_factory=time.monotonic)
    ended_here: int = 0
    stopped: str = ""
    wish: str | None = None
    renewed_s: float = float("-inf")
    looked_s: float = float("-inf")

    def to_the_end(self, failed: bool) -> Ended:
        table, name = self.store.campaigns, self.campaign.name
        table.wish(name, None)
        self.items = {each.target: each for each in table.items(name)}
        for target, (state, why) in recovered(self.items, table.runs(name), failed=failed).items():
            table.change(name, target, state=state, why=why, **({"driver": None} if state == PLANNED else {}))
        self.items = {each.target: each for each in table.items(name)}
        self.elsewhere = {target for target, item in self.items.items() if item.state == RUNNING}
        if self.elsewhere:
            self.say(f"{plural(len(self.elsewhere), 'target')} may still be measured since before: waiting for the end")
        here: set[str] = set()
        while True:
            self._renew()
            self._obey()
            for target in self._next(here):
                here.add(target)
                self.engine.submit(self._task(target))
                self.say(f"{target}: begun")
            if not here and not self.elsewhere:
                break
            for target, outcome in self.engine.ended(WAIT_S).items():
                here.discard(target)
                self._note_end(target, outcome)
            self._look_elsewhere()
            if not here:
                time.sleep(WAIT_S if self.elsewhere else 0)
        if self.wish == NOW:
            raise Interrupted(f"interrupted; go on by: dbcpu fleet resume {name}")
        return Ended(self.findings, self.stopped)

    def _next(self, here: set[str]) -> tuple[str, ...]:
        if self.wish:
            return ()
        waiting = [(i.target, i.group) for i in self.items.values() if i.state == PLANNED and i.target not in here]
        running = [(target, self.items[target].group) for target in (*here, *self.elsewhere)]
        refused = sum(each.state == REFUSED for each in self.items.values())
        progress = Progress(waiting, running, len(self.items) - len(waiting) - len(running), refused)
        now_s = time.time()
        if waiting and not self.stopped and (why := why_stopped(progress, self.limits, now_s)):
            self.stopped = why
            self.say(f"{why}: {plural(len(waiting), 'target')} left for dbcpu fleet resume {self.campaign.name}")
        return () if self.stopped else next_targets(progress, self.limits, now_s)

    def _task(self, target: str) -> Task:
        return Task(self.campaign.name, target, self.items[target].request, self.campaign.options, self.store_url)

    def _note_end(self, target: str, outcome: Outcome) -> None:
        table, name = self.store.campaigns, self.campaign.name
        (item,) = table.items(name, target)
        self.items[target] = item
        run = table.runs(name, target).get(target)
        state, why = state_after(item, run, outcome)
        if state == RUNNING:
            self.elsewhere.add(target)
            return
        self.findings += outcome.code == FINDINGS
        self._end(item, state, why)

    def _end(self, item: Item, state: str, why: str) -> None:
        table, name = self.store.campaigns, self.campaign.name
        run = table.runs(name, item.target).get(item.target)
        run_id = run.run_id if run is not None and run.started_at >= item.started_at else None
        table.change(name, item.target, state=state, why=why, run_id=run_id, ended_at=now_text())
        self.items[item.target] = replace(item, state=state, why=why, run_id=run_id)
        self.ended_here += 1
        left, total = sum(each.state in (PLANNED, RUNNING) for each in self.items.values()), len(self.items)
        per_s = (time.monotonic() - self.begun_s) / self.ended_here
        time_left = f", about {duration(per_s * left)} left" if left else ""
        because = f": {why}" if why else ""
        self.say(f"{item.target}: {state}{because} ({total - left} of {total} ended{time_left})")

    def _look_elsewhere(self) -> None:
        now_s = time.monotonic()
        if not self.elsewhere or now_s - self.looked_s < LOOK_S:
            return
        self.looked_s = now_s
        runs = self.store.campaigns.runs(self.campaign.name)
        for target in sorted(self.elsewhere):
            state, why = found_later(self.items[target], runs.get(target))
            if state != RUNNING:
                self.elsewhere.discard(target)
                self._end(self.items[target], state, why)

    def _renew(self) -> None:
        now_s = time.monotonic()
        if now_s - self.renewed_s < RENEW_S:
            return
        self.renewed_s = now_s
        if not self.store.campaigns.take(self.campaign.name, self.owner, time.time(), time.time() + LEASE_S):
            raise MeasureError(f"campaign {self.campaign.name} is driven by another process now; this one ends")

    def _obey(self) -> None:
        """What is wished by Ctrl-C here, or by ``dbcpu fleet stop``; once wished it stays so."""
        wishes = [self.wish, self.store.campaigns.load(self.campaign.name).stop, *(NO_NEW, NOW)[: len(self.pressed)]]
        wished = next((each for each in (NOW, NO_NEW) if each in wishes), None)
        if wished == self.wish:
            return
        self.wish = wished
        if wished == NO_NEW:
            self.say("no more targets are begun; what is measured goes on to its end (Ctrl-C again interrupts it)")
        else:
            self.say("what is measured is interrupted; finished rounds are kept")
            self.engine.stop()
            self.elsewhere.clear()


def _take(store: Store, campaign: Campaign) -> str:
    """The lease of the campaign; that of a process of this machine that is gone is nobody's. Returns its owner."""
    owner = codec.dumps(codec.encode(driver_process.this_process()))
    held = store.campaigns.load(campaign.name).lease_owner
    if held is not None and held != owner and (holder := _driver(held)) is not None and driver_process.is_gone(holder):
        store.campaigns.release(campaign.name, held)
    if not store.campaigns.take(campaign.name, owner, time.time(), time.time() + LEASE_S):
        holder = _driver(held or "")
        who = f"process {holder.pid} on {holder.hostname}" if holder else "another process"
        raise MeasureError(
            f"campaign {campaign.name} is driven by {who}; wait for it, or end it by dbcpu fleet stop {campaign.name}"
        )
    return owner


def _driver(text: str) -> Driver | None:
    try:
        return codec.decode(Driver, json.loads(text), "a lease")
    except (ValueError, RecordFormatError):
        return None


@contextmanager
def _presses() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are counted, and end nothing by themselves."""
    pressed: list[int] = []

    def count(number: int, _: FrameType | None) -> None:
        pressed.append(number)
        if len(pressed) > 2:
            os._exit(128 + signal.SIGINT)

    before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
