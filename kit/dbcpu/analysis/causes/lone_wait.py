"""A single session waits for a CPU behind no other session: behind other processes, or behind what was not seen."""

import numpy as np

from dbcpu.analysis.causes.session_columns import Sessions
from dbcpu.analysis.host_usage.host_time import foreign_share, window_s
from dbcpu.analysis.statistics.cumulative import Floats, Mask
from dbcpu.formatting import percent

UNSEEN = "; what other processes used was not recorded"


def others_share(of: Sessions, row: int) -> float:
    """What other processes used of all vCPUs in the round of a session; 0 where nothing is known of it."""
    round_ = of.timed[row].round
    return foreign_share(round_, of.vcpus, window_s(round_))


def others_had_it(on: Mask, queue_s: Floats, of: Sessions, least: float) -> Mask:
    """Of the single sessions that ``on`` marks: which waited while other processes used enough CPU time to be why.

    ``least``: the share of the wait that this must cover, wherever these processes ran.
    """
    found = np.zeros(len(of), dtype=np.bool_)
    for row in np.flatnonzero(on & of.lone & (queue_s > 0)).tolist():
        used_s = others_share(of, row) * (of.vcpus or 1) * of.elapsed_s[row]
        found[row] = used_s >= least * queue_s[row]
    return found


def others_words(of: Sessions, row: int) -> str:
    """Beside a wait that is put down to them, or not."""
    share = others_share(of, row)
    return f"; other processes used {percent(share)} of the vCPUs meanwhile" if share > 0 else UNSEEN
