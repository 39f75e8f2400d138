"""The driver of a campaign: starts what the order says, waits, and keeps what became of it."""

import os
import queue
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import MeasureError, StoreError
from dbcpu.formatting import duration
from dbcpu.hosts import driver_process
from dbcpu.store.campaigns import DONE, FAILED, GO_ON, PLANNED, RUNNING, STOP_NOW, UNKNOWN, Item
from dbcpu.store.database import Store
from dbcpu.workflows.fleet import lease
from dbcpu.workflows.fleet.cluster import Workers
from dbcpu.workflows.fleet.order import Queued, StartLimits, min_duration_s, next_step
from dbcpu.workflows.fleet.outcome import ItemOutcome
from dbcpu.workflows.fleet.recover import deliver, plan_again, take_up
from dbcpu.workflows.fleet.station import Assignment
from dbcpu.workflows.fleet.window import Window
from dbcpu.workflows.terminal import ONE_PRESS_S

LOOK_S = 1.0
"""Between two looks at processes that an earlier driver started."""
_STOP, _CANCEL = "stop", "cancel"
Say = Callable[[str], None]


class Bounds(Struct, frozen=True):
    """What the user allows: targets at once, the share that may fail, and the hours of the day."""

    at_once: int
    failures: float
    window: Window | None = None


class Counts(Struct, frozen=True):
    """How many targets are in which state, and why the campaign did not go on, '' if it did."""

    states: Mapping[str, int]
    stopped: str = ""
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        return set(self.states) <= {DONE}


def drive(store: Store, campaign: str, bounds: Bounds, found: Workers, say: Say, *, failed: bool = False) -> Counts:
    """Measure what is planned, until all is done or something stops it. Ctrl-C: no new ones; again: cancel.

    ``failed``: what was refused, partial or unknown is measured again, unless it is being measured still.

    Raises:
        MeasureError: another process drives it.
        UnknownName, UsageError, StoreError: before anything was started.
    """
    own = lease.own_name()
    lease.take(store.campaigns, campaign, own)
    try:
        store.campaigns.ask_to_stop(campaign, GO_ON)
        if delivered := deliver(store, campaign, say):
            say(f"{delivered} spooled before were delivered")
        adopted = take_up(store, campaign)
        again = plan_again(store, campaign) if failed else ()
        return _Driver(store, campaign, bounds, found, own, say, adopted, again).run()
    finally:
        _release(store, campaign, own, say)


def _release(store: Store, campaign: str, own: str, say: Say) -> None:
    try:
        store.campaigns.release_lease(campaign, own)
    except StoreError as error:
        say(str(error))


class _Driver:
    """``adopted``: targets whose processes an earlier driver started, and which still run. ``again``: that failed."""

    def __init__(
        self, store: Store, campaign: str, bounds: Bounds, found: Workers, own: str, say: Say,
        adopted: tuple[str, ...], again: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._store, self._bounds, self._workers, self._own, self._say = store, bounds, found, own, say
        self._campaign = store.campaigns.load(campaign)
        self._items: dict[str, Item] = {each.target: each for each in store.campaigns.items(campaign)}
        self._adopted, self._again = set(adopted), set(again)
        self._begun_s: dict[str, float] = {}
        self._longest_s = 0.0
        self._forgiven = sum(each.state in FAILED for each in self._items.values())
        self._events: queue.SimpleQueue[tuple[str, ItemOutcome | Exception | None]] = queue.SimpleQueue()
        self._stopped, self._interrupted, self._spooled = "", False, False
        self._renewed_s = time.monotonic()
        self._opened, self._waiting, self._said = False, False, ""
        self._without_workers = False

    def run(self) -> Counts:
        with self._two_presses():
            while True:
                wait_s = self._start_more()
                if wait_s is None:
                    break
                self._hear(wait_s)
                self._look_at_workers()
                self._look_at_adopted()
                self._renew()
        if self._spooled:
            self._deliver()
        states = Counter(each.state for each in self._items.values())
        return Counts(dict(states), self._stopped, self._interrupted)

    def _start_more(self) -> float | None:
        """Start what may start; returns how long to wait for news, None when there is nothing to wait for."""
        if not self._stopped:
            now, window = datetime.now(), self._bounds.window
            left_s = window.left_s(now) if window else None
            if window and not self._opened and (opens_s := window.opens_in_s(now)):
                self._say_waiting(window, opens_s)
                return min(opens_s, lease.RENEWED_S)
            self._opened = True
            limits = StartLimits(self._bounds.at_once, self._bounds.failures, self._forgiven, left_s)
            step = next_step(self._targets(), limits)
            self._stopped = step.stop
            if step.stop:
                self._say(f"no more targets are started: {step.stop}")
            for name in step.start:
                self._start(name)
        if not any(each.state == RUNNING for each in self._items.values()):
            return None
        return LOOK_S if self._adopted else lease.RENEWED_S

    def _say_waiting(self, window: Window, opens_s: float) -> None:
        if not self._waiting:
            self._waiting = True
            self._say(f"waiting until {window.begin:%H:%M}, for {duration(opens_s)}: --window allows no earlier start")

    def _targets(self) -> tuple[Queued, ...]:
        lasts: Mapping[str, float] = self._campaign.plan.get("lasts_s", {})
        return tuple(
            Queued(
                each.target,
                each.group,
                each.state,
                max(lasts.get(each.target, 0.0), self._longest_s),
                each.target in self._again,
            )
            for each in self._items.values()
        )

    def _start(self, name: str) -> None:
        try:
            self._store.campaigns.change(self._campaign.name, name, was=(PLANNED,), state=RUNNING, why="")
        except StoreError as error:  # the station spools
            self._say_once(error)
        self._items[name] = replace(self._items[name], state=RUNNING)
        self._begun_s[name] = time.monotonic()
        self._workers.start(
            Assignment.of(self._campaign, name), lambda target, found: self._events.put((target, found))
        )

    def _hear(self, wait_s: float) -> None:
        try:
            target, found = self._events.get(timeout=wait_s)
        except queue.Empty:
            return
        if target in self._items and found is not None:
            self._ended(target, found)
        elif target == _STOP:
            self._interrupted, self._stopped = True, "interrupted"
            self._say("no more targets are started, and those under way end; once more cancels them")
        elif target == _CANCEL:
            self._cancel()

    def _cancel(self) -> None:
        self._say("cancelled; finished rounds are kept")
        self._workers.cancel()
        for name in self._adopted:
            cancel_process(self._items[name])

    def _ended(self, target: str, found: ItemOutcome | Exception) -> None:
        if isinstance(found, Exception):
            found = ItemOutcome(UNKNOWN, why=f"its station was lost ({type(found).__name__}: {str(found)[:200]})")
        if found.state == UNKNOWN and not found.spooled:
            settled = self._settled(target, found)
            if settled is None:
                return
            found = settled
        if begun_s := self._begun_s.pop(target, None):
            lasted_s = time.monotonic() - begun_s
            self._longest_s = max(self._longest_s, lasted_s) if found.state == DONE else self._longest_s
        else:
            lasted_s = 0.0
        self._spooled |= found.spooled
        # What is planned again was not begun: a driver takes it up later.
        later = (RUNNING,) if self._stopped else (RUNNING, PLANNED)
        state = UNKNOWN if found.state in later else found.state
        self._items[target] = replace(self._items[target], state=state, run_id=found.run_id, why=found.why)
        self._report(target, lasted_s, found)

    def _report(self, target: str, lasted_s: float, found: ItemOutcome) -> None:
        left = self._left()
        over = sum(each.state not in (PLANNED, RUNNING) for each in self._items.values())
        took = f" in {duration(lasted_s)}" if lasted_s and found.state == DONE else ""
        why = f": {found.why}" if found.why else ""
        lasts = duration(min_duration_s(left, self._bounds.at_once)) if left else ""
        still = f", about {lasts} left" if lasts else ""
        kept = ", kept on this station until dbcpu fleet sync" if found.spooled else ""
        self._say(f"{target}: {found.state}{took}{why}{kept} ({over} of {len(self._items)}{still})")

    def _left(self) -> list[Queued]:
        """What is not over, with the time that it still takes; nothing where no more is started and nothing runs."""
        states = (RUNNING,) if self._stopped else (RUNNING, PLANNED)
        now_s = time.monotonic()
        return [
            replace(each, lasts_s=max(1.0, each.lasts_s - (now_s - self._begun_s.get(each.name, now_s))))
            for each in self._targets()
            if each.state in states
        ]

    def _settled(self, target: str, found: ItemOutcome) -> ItemOutcome | None:
        """What the store says of a target whose station does not say what became of it; None: it is still measured."""
        name = self._campaign.name
        try:
            measuring = take_up(self._store, name, (target,))
            item = next(each for each in self._store.campaigns.items(name) if each.target == target)
            if item.state == PLANNED and not self._stopped:
                self._store.campaigns.change(name, target, was=(PLANNED,), state=UNKNOWN, why=found.why)
                return found
        except StoreError as error:
            self._say_once(error)
            return found
        if target in measuring:
            self._adopted.add(target)
            self._begun_s.pop(target, None)
            self._items[target] = item
            self._say(f"{target}: its station was lost; process {item.pid} goes on, and is waited for")
            return None
        return ItemOutcome(item.state, item.run_id, item.why or ("" if item.state == DONE else found.why))

    def _look_at_workers(self) -> None:
        """Say once that nobody takes work; where no more is started, take back what nobody has."""
        if self._begun_s and self._workers.missing:
            if not self._without_workers:
                self._say("the scheduler has no worker; waiting for one")
            self._without_workers = True
            if self._stopped:
                self._workers.withdraw()
        else:
            self._without_workers = False

    def _say_once(self, error: StoreError) -> None:
        """A store that is out of reach is said once, until it fails in another way."""
        if str(error) != self._said:
            self._said = str(error)
            self._say(f"{error}; measured runs are kept on the stations until the store answers")

    def _look_at_adopted(self) -> None:
        if not self._adopted:
            return
        try:
            measuring = set(take_up(self._store, self._campaign.name, self._adopted))
            now = {each.target: each for each in self._store.campaigns.items(self._campaign.name)}
        except StoreError as error:
            self._say_once(error)
            return
        for name in self._adopted - measuring:
            item = now[name]
            self._items[name] = item
            self._report(name, 0.0, ItemOutcome(item.state, item.run_id, item.why))
        self._adopted = measuring

    def _renew(self) -> None:
        if time.monotonic() - self._renewed_s < lease.RENEWED_S:
            return
        self._renewed_s = time.monotonic()
        try:
            if not self._store.campaigns.take_lease(self._campaign.name, self._own, lease.LASTS_S):
                self._stopped = self._stopped or "another process drives the campaign now"
            wish = self._store.campaigns.load(self._campaign.name).stop
        except StoreError as error:
            self._say_once(error)
            return
        if wish != GO_ON and not self._stopped:
            self._stopped = "stopped by dbcpu fleet stop"
            self._say("no more targets are started: dbcpu fleet stop")
        if wish == STOP_NOW:
            self._store.campaigns.ask_to_stop(self._campaign.name, "stop")
            self._cancel()

    def _deliver(self) -> None:
        try:
            deliver(self._store, self._campaign.name, self._say)
            self._items = {each.target: each for each in self._store.campaigns.items(self._campaign.name)}
        except StoreError as error:
            self._say_once(error)
            self._say(f"dbcpu fleet sync {self._campaign.name} delivers what is kept here")

    @contextmanager
    def _two_presses(self) -> Iterator[None]:
        """The first Ctrl-C (SIGTERM, SIGHUP) starts no more, the second cancels; the third is as everywhere."""
        pressed_s: list[float] = []

        def press(number: int, frame: object) -> None:
            now_s = time.monotonic()
            if pressed_s and now_s - pressed_s[-1] < ONE_PRESS_S:
                return
            pressed_s.append(now_s)
            if len(pressed_s) > 2:
                signal.signal(number, before[signal.Signals(number)])
                signal.raise_signal(number)
                return
            self._events.put((_STOP if len(pressed_s) == 1 else _CANCEL, None))

        stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        numbers = [each for each in stops if signal.getsignal(each) != signal.SIG_IGN]
        before = {number: signal.signal(number, press) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def cancel_process(item: Item) -> bool:
    """Interrupt the item's process if it runs on this machine, as Ctrl-C does; returns whether it does."""
    if item.pid is None or driver_process.is_gone(item.process) or not driver_process.is_here(item.process):
        return False
    try:
        os.kill(item.pid, signal.SIGINT)
    except OSError as error:
        raise MeasureError(f"process {item.pid} of {item.target} cannot be interrupted: {error.strerror}") from None
    return True
