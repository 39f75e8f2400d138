"""How much CPU steal each session of a round met: that of its CPUs while it was runnable there.

A stolen moment hits whoever is running, so several sessions of one CPU share it in proportion to their CPU time.
Source: proc_stat(5), column steal.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.placement.residency import ResidencyStretches, Span, stretches
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.statistics.cumulative import Floats, or_zero, slices, spread_by
from dbcpu.record import Round


def stolen_s(round_: Round, spans: Sequence[Span | None]) -> Floats:
    """Seconds by session, within its (start, end); 0 where its CPUs were not watched."""
    if not any(any(row.steal_s) for row in round_.cpu_timeline):
        return np.zeros(len(round_.sessions))
    return stolen_from(round_, stretches(round_).clipped(SessionSpans.of(spans)))


def stolen_from(round_: Round, rows: ResidencyStretches) -> Floats:
    """The same, of stretches that are clipped already."""
    stolen = slices(round_.timeline_s, {row.cpu: row.steal_s for row in round_.cpu_timeline})
    found_s = np.zeros(len(round_.sessions))
    if not stolen.keys.size:
        return found_s
    ran = rows.where(rows.runnable)
    on, own_s = (ran.cpu, ran.from_s, ran.to_s), or_zero(ran.cpu_s)
    ran_s = spread_by(ran.cpu, ran.from_s, ran.to_s, own_s).between(*on)
    mine = np.divide(own_s, ran_s, out=np.ones_like(own_s), where=(ran_s > 0) & (own_s > 0))
    np.add.at(found_s, ran.session, stolen.between(*on) * np.minimum(1.0, mine))
    return found_s
