"""What was gained and lost until each event, reckoned for all events at once when the round is over."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dbcpu.simulator.rates import Reckoning
from dbcpu.simulator.trace import Floats, Losses

Scalar = TypeVar("Scalar", bound=np.generic)


class Gains:
    """``passed``: which of the rates found held before each event, for ``steps_s``.

    All that is kept here has a row for each of those found, and a column for each session, CPU or core.
    """

    def __init__(self, reckoning: Reckoning, passed: Sequence[int], steps_s: Sequence[float]) -> None:
        found = reckoning.found
        cpus = [each.cpus for each in found]
        self.host, self._reckoning = reckoning.host, reckoning
        self._found, self._moments = found, [each.moment for each in found]
        self._passed, self._steps_s = np.array(passed), np.array(steps_s)
        self._cpu = np.array([each.cpu for each in self._moments])
        self._runnable = np.array([each.runnable for each in self._moments])
        self._share = self._of_own_cpu(np.array([each.share for each in cpus])) * self._runnable
        self._run = self._of_own_cpu(np.array([each.run for each in cpus])) * self._runnable
        self._queue = np.array([each.queue for each in cpus])
        self._busy = self._queue > 0
        self._steal = np.array([each.steal for each in cpus])
        self._irq = np.array([each.irq for each in cpus])
        self._own_pace = np.array([each.own_pace for each in cpus])
        self._on_core = np.array([each.on_core for each in cpus])
        self._turbo = np.array([each.turbo for each in cpus])
        self._together = np.array([each.together for each in cpus])

    def traced(self) -> Mapping[str, Any]:
        """By name those arrays of a Trace that follow from the rates."""
        usable = 1 - self._steal - self._irq
        return {
            "cpu": self._cpu[self._passed],
            "runnable": self._runnable[self._passed],
            "run_s": self._sums(self._run),
            "delay_s": self._sums(self._runnable - self._share),
            "lost_s": self._sums(self._share - self._run),
            "work_s": self._sums(np.array([each.work for each in self._found])),
            "busy_s": self._sums(self._busy * usable),
            "steal_s": self._sums(self._steal),
            "irq_s": self._sums(self._irq),
            "foreign_s": self._sums(self._foreign(usable)),
            "speed_s": self._sums(self._turbo),
            "piece": self._piece()[self._passed],
        }

    def _sums(self, rates: Floats) -> Floats:
        """What was gained until each event, from 0."""
        total = np.zeros((len(self._passed) + 1, *rates.shape[1:]))
        np.multiply(rates[self._passed].T, self._steps_s, out=total[1:].T)
        return total.cumsum(axis=0)

    def _foreign(self, usable: Floats) -> Floats:
        """CPU time of other processes, on all CPUs."""
        foreign = np.array([each.foreign for each in self._moments])
        share = np.divide(foreign, self._queue, out=np.zeros_like(usable), where=self._busy)
        return np.asarray((share * usable).sum(axis=1))

    def _piece(self) -> Floats:
        """How many times longer than at full speed a piece of a witness takes on each CPU."""
        host = self.host
        threads = self._on_core[:, host.core_of] + ~self._busy
        speed = (self._turbo * self._together)[:, None]
        whole = host.thread_speed[threads] * host.core_speed[host.core_of] * speed
        return np.asarray((whole * self._own_pace) ** (-1 / host.pace_exponent))

    def truth(self, *, may_sleep: bool) -> Losses:
        """What each session lost, by cause; ``may_sleep``: whether sessions wait for anything but CPU."""
        throttled = np.array([each.throttled for each in self._moments])
        slower, off_cpu = self._slower(), self._off_cpu(throttled)
        if may_sleep:
            off_cpu["sleep"] = np.array([each.asleep for each in self._moments], dtype=np.float64)
        if throttled.any():
            off_cpu["throttled"] = (self._runnable - self._share) * throttled[:, None]
        rates = {**slower, **off_cpu, "competitor": slower["competitor"] + off_cpu["competitor"]}
        return {cause: self._sums(each)[-1] for cause, each in rates.items()}

    def _slower(self) -> dict[str, Floats]:
        """CPU time without progress, divided by the logarithms of the factors that slow it down."""
        factors = self._factors()
        each = np.array(list(factors.values()))
        logs = -np.log(each)
        every = logs.sum(axis=0)
        lost = self._run * (1 - np.prod(each, axis=0)) * logs
        return dict(zip(factors, np.divide(lost, every, out=np.zeros_like(lost), where=every > 0), strict=True))

    def _factors(self) -> dict[str, Floats]:
        """Of each session's speed."""
        host, core = self.host, self.host.core_of[self._cpu]
        threads = np.take_along_axis(host.thread_speed[self._on_core], core, axis=1)
        foreign_part = np.take_along_axis(np.array([each.cpus.foreign_part for each in self._found]), core, axis=1)
        return {
            "shared_core": threads ** (1 - foreign_part),
            "competitor": threads**foreign_part,
            "frequency": np.broadcast_to(self._turbo[:, None], core.shape),
            "slower_cpu": self._together[:, None] * host.core_speed[core],
            "pace": self._of_own_cpu(self._own_pace),
            "remote_memory": self._reckoning.remote(self._cpu),
        }

    def _off_cpu(self, throttled: NDArray[np.bool_]) -> dict[str, Floats]:
        """Time without CPU: stolen, interrupted, or waiting behind sessions and other processes."""
        steal, lost = self._of_own_cpu(self._steal), self._of_own_cpu(self._steal + self._irq)
        foreign = self._of_own_cpu(np.array([each.foreign for each in self._moments]))
        queue = self._of_own_cpu(self._queue)
        waiting = (self._runnable - self._share) * ~throttled[:, None]
        behind = np.divide(foreign, queue - 1, out=np.zeros(queue.shape), where=queue > 1)
        return {
            "steal": self._share * steal,
            "irq": self._share * (lost - steal),
            "competitor": waiting * behind,
            "run_queue": waiting * (1 - behind),
        }

    def _of_own_cpu(self, by_cpu: NDArray[Scalar]) -> NDArray[Scalar]:
        """For each session what is so on its CPU."""
        return np.take_along_axis(by_cpu, self._cpu, axis=1)
