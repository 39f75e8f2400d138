"""Which of the CPUs without a session another process used, as far as the host's busy time shows it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.placement.joined_rounds import JoinedRounds, values_of
from dbcpu.analysis.placement.occupancy import Occupancy
from dbcpu.analysis.placement.regimes import ran_by_sessions, watched_round
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.analysis.statistics.cumulative import Floats

UNUSED, PERHAPS, USED = range(3)
TICK_S = 0.01
"""The grain of /proc/stat."""
FREE_BELOW, USED_FROM = 0.2, 0.5
"""Shares of the time in which no session was on a CPU."""
LONG_ENOUGH = 0.25
"""Of a slice: the CPU time of sessions is known per stay on a CPU, and what is less may be theirs."""


def used_by_others(members: Sequence[Timed], occupancy: Occupancy, moments: Floats) -> npt.NDArray[np.int8]:
    """(CPUs of ``occupancy``, M): what other processes did on each CPU while no session of the round was there.

    Busy time is known per slice of the timeline, of half a second or so. Beyond what sessions ran it is that of others:
    ``USED`` if it would not fit in beside the sessions, ``UNUSED`` if there is hardly any, else ``PERHAPS``.
    Without a timeline a CPU on which another process was listed is ``PERHAPS``.
    """
    round_ = members[0].round
    cpus, found = list(occupancy.cpus), np.full((len(occupancy.cpus), moments.size), UNUSED, np.int8)
    times_s = np.array(round_.timeline_s)
    if not round_.cpu_timeline or times_s.size < 2:
        listed = {cpu for each in round_.foreign for cpu in each.cpus}
        found[[cpu in listed for cpu in cpus]] = PERHAPS
        return found
    joined = JoinedRounds([watched_round(members)])
    ran, slices = ran_by_sessions(joined), times_s.size - 1
    slice_at = np.clip(np.searchsorted(times_s, moments, side="right") - 1, 0, slices - 1)
    for at, row in joined.rows("busy_s", "steal_s"):
        if row.cpu not in cpus:
            continue
        place, one = cpus.index(row.cpu), [(at, row)]
        with_s = occupancy.curve(occupancy.busy[place]).between(times_s[:-1], times_s[1:])
        on = np.full(slices, row.cpu)
        ran_s = ran.between(on, times_s[:-1], times_s[1:])
        others_s = values_of(one, "busy_s") + values_of(one, "steal_s") - ran_s
        surely_s = others_s - np.maximum(0.0, with_s - ran_s)
        free_s = np.diff(times_s) - with_s
        clear = (surely_s >= np.maximum(2 * TICK_S, USED_FROM * free_s)) & (free_s >= LONG_ENOUGH * np.diff(times_s))
        kinds = np.where(clear, USED, PERHAPS)
        found[place] = np.where(others_s - TICK_S <= FREE_BELOW * free_s, UNUSED, kinds)[slice_at]
    return found
