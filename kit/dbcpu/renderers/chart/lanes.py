"""A lane per session of the most telling round: on which CPU it was, where it had to share, and when it moved."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from dbcpu.analysis.base import Analysis
from dbcpu.analysis.timeline import ABSENT, ALONE, OFF, QUEUED, SIBLING, STATE_WORDS, UNSEEN, Timeline, timeline
from dbcpu.record import RunRecord
from dbcpu.renderers.base import telling_sessions
from dbcpu.renderers.chart.style import CARD_EDGE, cells, fitted, framed, legend
from dbcpu.wording import plural

WIDTH = 8.2
DRAWN_LANES = 48
MOST_LANES = 256
"""Of more sessions every second, third ... is shown, slowest to fastest: none is blended with its neighbour."""
NUMBER_INCHES = 0.37
"""A shorter piece of a lane does not bear the number of its CPU."""
RASTER_PIECES = 3000
CORE_COLOURS = ("#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#aaaa00")
"""A core's CPUs have one colour; with more cores they repeat, and the CPU's number in the lane tells."""
HATCHES = {SIBLING: "////", QUEUED: "xxxx"}
STATE_COLOURS = {
    ABSENT: "#ffffff",
    UNSEEN: "#dfe3e7",
    OFF: "#cc79a7",
    ALONE: "#8ec8ea",
    SIBLING: "#d55e00",
    QUEUED: "#004f8a",
}


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None where no session of the round was watched."""
    line = timeline(record, analysis.telling_order)
    if line is None:
        return None
    place = {ordinal: at for at, ordinal in enumerate(line.ordinals)}
    order = [(each.ordinal, place[each.ordinal]) for each in telling_sessions(analysis)]
    step = -(-len(order) // MOST_LANES)
    shown = order[::step]
    drawn = len(shown) <= DRAWN_LANES
    height = 1.9 + (0.3 if len(shown) <= 16 else 0.22) * len(shown) if drawn else 1.9 + 0.025 * len(shown)
    every = f", {len(shown)} of {len(order)} shown" if step > 1 else ""
    title = f"Where each session ran (N = {line.level}, repeat {line.repeat}{every})"
    figure, axes = framed(WIDTH, height, record, analysis, title)
    rows = [at for _, at in shown]
    if drawn:
        handles = _lanes(axes, line, rows)
        axes.set_yticks(range(len(shown)), [f"session {ordinal}" for ordinal, _ in shown], fontsize=8)
    else:
        handles = _image(axes, line, rows)
        axes.set_ylabel("sessions, slowest on top")
        axes.set_yticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(float(line.edges_s[0]), float(line.edges_s[-1]))
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("seconds from the release")
    legend(figure, handles, 3)
    return figure


def _lanes(axes: Axes, line: Timeline, rows: list[int]) -> list[Patch]:
    cores = {core: at for at, core in enumerate(dict.fromkeys(each.core for each in line.cpus))}
    colour = {each.cpu: CORE_COLOURS[cores[each.core] % len(CORE_COLOURS)] for each in line.cpus}
    least_s = float(line.edges_s[-1] - line.edges_s[0]) * NUMBER_INCHES / fitted(WIDTH)
    runs = [(row, run) for row, at in enumerate(rows) for run in line.lane(at)]
    raster = len(runs) > RASTER_PIECES
    for row, run in runs:
        on_cpu = run.state in (ALONE, SIBLING, QUEUED)
        fill = colour[run.cpu] if on_cpu else STATE_COLOURS[run.state]
        box = Rectangle((run.from_s, row - 0.36), run.to_s - run.from_s, 0.72, lw=0, facecolor=fill, rasterized=raster)
        if run.state in HATCHES:
            box.set(hatch=HATCHES[run.state], edgecolor="#4a545e")
        axes.add_patch(box)
        if on_cpu and run.to_s - run.from_s > least_s:
            middle = (run.from_s + run.to_s) / 2
            box_style = {"facecolor": fill, "edgecolor": "none", "pad": 0.8}
            axes.text(middle, row, str(run.cpu), ha="center", va="center", fontsize=7.5, bbox=box_style)
    moves = [(at_s, row) for row, at in enumerate(rows) for at_s in line.moves_s[at]]
    marks = [((at_s, row - 0.46), (at_s, row + 0.46)) for at_s, row in moves]
    axes.add_collection(LineCollection(marks, colors="black", linewidths=1.3, rasterized=len(marks) > RASTER_PIECES))
    states = {run.state for _, run in runs}
    handles = [Patch(facecolor="#99ddff", label="colour: the core; number: the CPU")]
    handles += [
        Patch(facecolor="#e9ecef", edgecolor="#4a545e", hatch=HATCHES[each], lw=0, label=STATE_WORDS[each])
        for each in HATCHES
        if each in states
    ]
    handles += [
        Patch(facecolor=STATE_COLOURS[each], label=STATE_WORDS[each]) for each in (OFF, UNSEEN) if each in states
    ]
    if moves:
        handles.append(Patch(facecolor="black", label=f"black line: a move to another CPU ({len(moves)} seen)"))
    return handles


def _image(axes: Axes, line: Timeline, rows: list[int]) -> list[Patch]:
    """Too many lanes for numbers: coloured by what the session had to share."""
    palette = np.array([to_rgb(STATE_COLOURS[state]) for state in sorted(STATE_COLOURS)])
    states = line.doing[rows]
    image = palette[states]
    for row, at in enumerate(rows):
        moments = np.clip(np.searchsorted(line.edges_s, line.moves_s[at]) - 1, 0, states.shape[1] - 1)
        image[row, moments] = 0.0
    cells(axes, line.edges_s, np.arange(len(rows) + 1) - 0.5, image)
    handles = [
        Patch(facecolor=STATE_COLOURS[state], edgecolor=CARD_EDGE, lw=0.4, label=STATE_WORDS[state])
        for state in STATE_COLOURS
        if state != ABSENT and (states == state).any()
    ]
    moves = sum(len(line.moves_s[at]) for at in rows)
    return [*handles, Patch(facecolor="black", label=f"{plural(moves, 'move')} to another CPU")] if moves else handles
