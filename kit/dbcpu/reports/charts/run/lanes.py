"""A lane per session of the representative round: its CPU, where it shared one, and its migrations."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from msgspec import Struct

from dbcpu.analysis.levels.representative_round import RepresentativeRound, representative_rounds
from dbcpu.analysis.pace.by_level import FAST
from dbcpu.analysis.placement.timeline import (
    ABSENT,
    ALONE,
    OFF,
    QUEUED,
    SIBLING,
    STATE_WORDS,
    UNSEEN,
    Timeline,
    timeline,
)
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural
from dbcpu.record.rounds import CpuPace, RunRecord
from dbcpu.reports.charts.run.frame import framed_variants
from dbcpu.reports.charts.style import CARD_EDGE, FAINT, fill_cells, fitted_width, legend, palette
from dbcpu.reports.documents.run_readings import DRAWN_LANES
from dbcpu.reports.documents.run_summary import lane_id, order_words, sessions_of_round

WIDTH = 8.2
PACE_HEIGHT = 0.36
"""Of the trace of a CPU below the lanes, in lanes."""
PACE_COLOUR = Cause.SLOWER_CPU.colour
MAX_PACES = 16
MAX_LANES = 256
"""Of more sessions every second, third ... is shown, slowest to fastest: none is blended with its neighbour."""
NUMBER_INCHES = 0.37
"""A shorter piece of a lane does not bear the number of its CPU."""
RASTER_PIECES = 3000
CORE_COLOURS = ("#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#aaaa00")
"""A core's CPUs have one colour; with more cores they repeat, and the CPU's number in the lane is exact."""
NO_JOB, NO_TIME = "no job that computes", "no time known"
"""Of a session without anything in its lane."""
HATCHES = {SIBLING: "////", QUEUED: "xxxx"}
STATE_COLOURS = {
    ABSENT: "#ffffff",
    UNSEEN: "#60676e",
    OFF: "#cc79a7",
    ALONE: "#8ec8ea",
    SIBLING: Cause.SHARED_CORE.colour,
    QUEUED: "#004f8a",
}


class _Shown(Struct, frozen=True):
    """A round with (ordinal, row of the timeline) of the sessions that are drawn, ``of`` so many."""

    variant: str
    line: Timeline
    lanes: Sequence[tuple[int, int]]
    of: int
    paces: Sequence[CpuPace] = ()

    @property
    def drawn(self) -> bool:
        return len(self.lanes) <= DRAWN_LANES

    @property
    def height(self) -> float:
        amount = len(self.lanes)
        lane = (0.3 if amount <= 16 else 0.22) if self.drawn else 0.025
        return 1.9 + lane * (amount + len(self.paces))


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None where no session of the round was sampled."""
    rounds = [(each, timeline(record, each.order)) for each in representative_rounds(analysis)]
    found = [_shown(each, line, analysis, record) for each, line in rounds if line is not None]
    if not found:
        return None
    several, first = len(found) > 1, found[0]
    every = f", {len(first.lanes)} of {first.of} shown" if len(first.lanes) < first.of else ""
    place = f"N = {first.line.level}" + ("" if several else f", round {first.line.repeat + 1}")
    heights = [each.height - (1.1 if several else 0.0) for each in found]
    title, names = f"Where each session ran ({place}{every})", [each.variant for each in found]
    frame = framed_variants(WIDTH, heights, record, analysis, title, names, share_y=False)
    edges = [float(each.line.edges_s[at]) for each in found for at in (0, -1)]
    whole_s = max(edges) - min(edges)
    handles: list[Patch] = []
    for axes, each in zip(frame.panels, found, strict=True):
        rows = [at for _, at in each.lanes]
        if each.drawn:
            handles += _lanes(axes, each.line, rows, whole_s)
            handles += _paces(axes, each.paces, len(rows))
            names = [f"session {ordinal}" for ordinal, _ in each.lanes] + [f"pace of CPU {p.cpu}" for p in each.paces]
            axes.set_yticks(range(len(names)), names, fontsize=8)
            _empty(axes, each, NO_JOB if analysis.pool else NO_TIME)
            for (ordinal, _), label in zip(each.lanes, axes.get_yticklabels(), strict=False):
                label.set_gid(lane_id(each.variant, ordinal))
        else:
            handles += _image(axes, each.line, rows)
            axes.set_yticks([])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(len(rows) + len(each.paces) - 0.4, -0.6)
    frame.panels[0].set_xlim(min(edges), max(edges))
    frame.label("seconds from the release", "" if first.drawn else f"sessions, {order_words(analysis)} on top")
    moves = sum(len(each.line.moves_s[at]) for each in found for _, at in each.lanes)
    if moves:
        words = f"black line: migration ({moves} sampled)" if first.drawn else plural(moves, "migration")
        handles.append(Patch(facecolor="black", label=words))
    legend(frame.figure, handles, 3)
    return frame.figure


def _shown(each: RepresentativeRound, line: Timeline, analysis: Analysis, record: RunRecord) -> _Shown:
    place = {ordinal: at for at, ordinal in enumerate(line.ordinals)}
    order = [(one.ordinal, place[one.ordinal]) for one in sessions_of_round(analysis, each.order)]
    witness = next((one.witness for one in record.rounds if one.order == each.order), None)
    paces = witness.cpus if witness and max(len(order), len(witness.cpus)) <= MAX_PACES else ()
    return _Shown(each.variant, line, order[:: -(-len(order) // MAX_LANES)], len(order), paces)


def _empty(axes: Axes, each: _Shown, words: str) -> None:
    """Why nothing is drawn of a session."""
    for row, (_, at) in enumerate(each.lanes):
        if not each.line.lane(at):
            axes.text(each.line.edges_s[0], row, f" {words}", va="center", fontsize=7.5, color=FAINT)


def _paces(axes: Axes, paces: Sequence[CpuPace], first_row: int) -> list[Patch]:
    """Below the lanes a trace per CPU: high where it was fast, by the fastest tenth of all pieces."""
    every = [ns for each in paces for ns in each.ns]
    if not every:
        return []
    full_ns = float(np.quantile(every, FAST))
    for row, each in enumerate(paces, first_row):
        at_s, ns = np.array(each.at_us) / 1e6, np.array(each.ns, dtype=np.float64)
        speed = np.clip(full_ns / ns, 0.0, 1.0)
        axes.plot(at_s, row + PACE_HEIGHT * (1 - 2 * speed), color=PACE_COLOUR, lw=0.8, drawstyle="steps-pre")
    return [Patch(facecolor=PACE_COLOUR, label="line: pace, 0 to full speed")]


def _lanes(axes: Axes, line: Timeline, rows: list[int], whole_s: float) -> list[Patch]:
    cores = {core: at for at, core in enumerate(dict.fromkeys(each.core for each in line.cpus))}
    colour = {each.cpu: CORE_COLOURS[cores[each.core] % len(CORE_COLOURS)] for each in line.cpus}
    shortest_s = whole_s * NUMBER_INCHES / fitted_width(WIDTH)
    runs = [(row, run) for row, at in enumerate(rows) for run in line.lane(at)]
    raster = len(runs) > RASTER_PIECES
    for row, run in runs:
        on_cpu = run.state in (ALONE, SIBLING, QUEUED)
        fill = colour[run.cpu] if on_cpu else STATE_COLOURS[run.state]
        box = Rectangle((run.from_s, row - 0.36), run.to_s - run.from_s, 0.72, lw=0, facecolor=fill, rasterized=raster)
        if run.state in HATCHES:
            box.set(hatch=HATCHES[run.state], edgecolor="#4a545e")
        axes.add_patch(box)
        if on_cpu and run.to_s - run.from_s > shortest_s:
            middle = (run.from_s + run.to_s) / 2
            box_style = {"facecolor": fill, "edgecolor": "none", "pad": 0.8}
            axes.text(middle, row, str(run.cpu), ha="center", va="center", fontsize=7.5, bbox=box_style)
    moves = [(at_s, row) for row, at in enumerate(rows) for at_s in line.moves_s[at]]
    marks = [((at_s, row - 0.46), (at_s, row + 0.46)) for at_s, row in moves]
    axes.add_collection(LineCollection(marks, colors="black", linewidths=1.3, rasterized=len(marks) > RASTER_PIECES))
    states = {run.state for _, run in runs}
    fills = [colour[run.cpu] for _, run in runs if run.state in (ALONE, SIBLING, QUEUED)]
    core_of = {each.cpu: each.core for each in line.cpus}
    seen = {core_of[run.cpu] for _, run in runs if run.state in (ALONE, SIBLING, QUEUED)}
    repeat = "" if len({cores[core] % len(CORE_COLOURS) for core in seen}) == len(seen) else " (colours repeat)"
    handles = [Patch(facecolor=each, label=f"colour: the core{repeat}; number: the CPU") for each in fills[:1]]
    handles += [
        Patch(facecolor="#e9ecef", edgecolor="#4a545e", hatch=HATCHES[each], lw=0, label=STATE_WORDS[each])
        for each in HATCHES
        if each in states
    ]
    handles += [
        Patch(facecolor=STATE_COLOURS[each], label=STATE_WORDS[each]) for each in (OFF, UNSEEN) if each in states
    ]
    return handles


def _image(axes: Axes, line: Timeline, rows: list[int]) -> list[Patch]:
    """Too many lanes for numbers: coloured by what the session had to share."""
    states = line.doing[rows]
    image = palette(STATE_COLOURS[state] for state in sorted(STATE_COLOURS))[states]
    for row, at in enumerate(rows):
        moments = np.clip(np.searchsorted(line.edges_s, line.moves_s[at]) - 1, 0, states.shape[1] - 1)
        image[row, moments] = 0
    fill_cells(axes, line.edges_s, np.arange(len(rows) + 1) - 0.5, image)
    return [
        Patch(facecolor=STATE_COLOURS[state], edgecolor=CARD_EDGE, lw=0.4, label=STATE_WORDS[state])
        for state in STATE_COLOURS
        if state != ABSENT and (states == state).any()
    ]
