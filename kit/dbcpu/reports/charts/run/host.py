"""The host: sockets, memory nodes, cores and the hardware threads in them, and what of it may be used."""

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from msgspec import Struct

from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import as_cpu_list, gibibytes, listed, plain
from dbcpu.record.header import Cpu, HostInfo
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed
from dbcpu.reports.charts.style import FAINT, INK, fitted_width, legend
from dbcpu.reports.charts.text_width import inches_of, wrapped_to
from dbcpu.reports.documents.run_summary import limits_of

WIDTH = 8.2
MARGIN, HEAD, GAP = 0.1, 0.24, 0.09
"""Inches, as all lengths here."""
WORDS_BESIDE, WORDS_POINTS = 3.6, 8.5
"""Of the limits: the width from which they stand beside the only socket, and their size."""
MAX_NUMBERED = 128
USABLE, SLOWER, DENIED = "#8ec8ea", "#f0c987", "#e9ecef"
CORE_EDGE = "#4a545e"


class _Node(Struct, frozen=True):
    """One memory node within a socket, laid out: ``columns`` cores beside each other."""

    socket: int
    node: int
    cores: tuple[tuple[Cpu, ...], ...]
    columns: int
    core_width: float
    cell: float

    @property
    def height(self) -> float:
        return HEAD + -(-len(self.cores) // self.columns) * (self.cell + GAP)


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when the host was not sampled."""
    host = record.header.host
    if host is None or not host.topology.cpus:
        return None
    sockets = sorted({each.socket for each in host.topology.cpus if each.online})
    across = fitted_width(WIDTH)
    beside = 1 if len(sockets) == 1 or across < WIDTH else 2
    width = (across - 0.4 - MARGIN * (beside - 1)) / beside
    laid = {socket: _nodes(host, socket, width - 2 * MARGIN) for socket in sockets}
    heights = {socket: HEAD + sum(each.height for each in laid[socket]) + MARGIN for socket in sockets}
    # A box is as wide as what is in it, and beside a small one there is room for the limits.
    width = min(width, max(_inner_width(each, host) for nodes in laid.values() for each in nodes) + 3 * MARGIN)
    beside_box = len(sockets) == 1 and across - width > WORDS_BESIDE
    left = width + 2 * MARGIN if beside_box else 0.0
    room = across - 0.4 - left
    lines = [line for text in limits_of(host, analysis) for line in wrapped_to(room, text, WORDS_POINTS)]
    rows = [sockets[at : at + beside] for at in range(0, len(sockets), beside)]
    inner = sum(max(heights[socket] for socket in row) + MARGIN for row in rows)
    words = 0.21 * len(lines) + 0.1
    total = max(inner, words) if beside_box else inner + words
    figure, axes = framed(across, total + 1.1, record, analysis, "The host, as reported by its kernel")
    axes.set_axis_off()
    axes.set_xlim(0, across - 0.3)
    axes.set_ylim(total, 0)
    top = 0.0
    for row in rows:
        for at, socket in enumerate(row):
            _socket(axes, at * (width + MARGIN), top, width, heights[socket], laid[socket], host)
        top += max(heights[socket] for socket in row) + MARGIN
    for number, text in enumerate(lines):
        line = (0.0 if beside_box else top) + 0.16 + 0.21 * number
        axes.text(left, line, text, fontsize=WORDS_POINTS, color=INK, va="center")
    legend(figure, _legend(host), 4)
    return figure


def _nodes(host: HostInfo, socket: int, width: float) -> list[_Node]:
    inside = [each for each in host.topology.cpus if each.online and each.socket == socket]
    cell = 0.3 if len(host.topology.cpus) <= 64 else 0.24 if len(host.topology.cpus) <= MAX_NUMBERED else 0.13
    nodes = []
    for node in sorted({each.node for each in inside}):
        cores: dict[int, list[Cpu]] = {}
        for each in inside:
            if each.node == node:
                cores.setdefault(each.core, []).append(each)
        threads = max(len(each) for each in cores.values())
        core_width = threads * cell
        most = max(1, int((width + GAP) / (core_width + GAP)))
        # Full rows if it can be: 20 cores as 2 x 10 rather than 13 + 7.
        lines = -(-len(cores) // most)
        nodes.append(_Node(socket, node, tuple(map(tuple, cores.values())), -(-len(cores) // lines), core_width, cell))
    return nodes


def _inner_width(node: _Node, host: HostInfo) -> float:
    """What is drawn of a memory node is so wide: its cores or its name."""
    return max(node.columns * (node.core_width + GAP), inches_of(_node_words(node, host), 8.0) + MARGIN)


def _node_words(node: _Node, host: HostInfo) -> str:
    memory = host.topology.node_memory_bytes
    size = f", {gibibytes(memory[node.node])}" if 0 <= node.node < len(memory) and memory[node.node] else ""
    return f"memory node {node.node}{size}"


def _socket(
    axes: Axes, left: float, top: float, width: float, height: float, nodes: Sequence[_Node], host: HostInfo
) -> None:
    axes.add_patch(
        FancyBboxPatch((left + 0.05, top + 0.05), width - 0.1, height - 0.1, facecolor="#f6f7f8", edgecolor=FAINT,
                       lw=1.0, boxstyle="round,pad=0.03,rounding_size=0.06")
    )  # fmt: skip
    axes.text(left + MARGIN, top + 0.18, f"socket {nodes[0].socket}", fontsize=8.5, fontweight="bold", va="center")
    top += HEAD
    for each in nodes:
        axes.text(left + MARGIN, top + 0.1, _node_words(each, host), fontsize=8, color=FAINT, va="center")
        for number, core in enumerate(each.cores):
            row, column = divmod(number, each.columns)
            x, y = left + MARGIN + column * (each.core_width + GAP), top + HEAD + row * (each.cell + GAP)
            _core(axes, x, y, each.cell, core, host)
        top += each.height


def _core(axes: Axes, left: float, top: float, cell: float, core: Sequence[Cpu], host: HostInfo) -> None:
    allowed, slower = set(host.limits.allowed_cpus), _slower(host)
    for at, each in enumerate(core):
        usable = not allowed or each.cpu in allowed
        fill = DENIED if not usable else SLOWER if each.cpu in slower else USABLE
        axes.add_patch(
            Rectangle((left + at * cell, top), cell, cell, facecolor=fill, edgecolor="white", lw=0.5,
                      hatch=None if usable else "////")
        )  # fmt: skip
        if len(host.topology.cpus) <= MAX_NUMBERED:
            axes.text(left + (at + 0.5) * cell, top + cell / 2, str(each.cpu), fontsize=7 if cell > 0.25 else 6,
                      ha="center", va="center")  # fmt: skip
    edge = 1.1 if cell > 0.2 else 0.7
    axes.add_patch(Rectangle((left, top), len(core) * cell, cell, fill=False, edgecolor=CORE_EDGE, lw=edge))


def _slower(host: HostInfo) -> frozenset[int]:
    """CPUs of the slower of two kinds of cores, as the kernel reports them."""
    return frozenset(as_cpu_list(host.facts.get("efficiency_cpus", "")) or ())


def _legend(host: HostInfo) -> list[Patch]:
    allowed, online = set(host.limits.allowed_cpus), [each for each in host.topology.cpus if each.online]
    threads = sorted(set(Counter(each.core for each in online).values())) or [1]
    numbered = ", with its number" if len(host.topology.cpus) <= MAX_NUMBERED else ""
    handles = [
        Patch(facecolor=USABLE, edgecolor="white", label=plain(f"a CPU{numbered}")),
        Patch(
            facecolor="none",
            edgecolor=CORE_EDGE,
            label="a core" if threads == [1] else f"a core: {listed([*map(str, threads)], 'or')} CPUs share it",
        ),
    ]
    if _slower(host):
        handles.append(Patch(facecolor=SLOWER, edgecolor="white", label="a CPU of a slower core"))
    if allowed and any(each.cpu not in allowed for each in online):
        handles.append(Patch(facecolor=DENIED, edgecolor="white", hatch="////", label="not allowed"))
    return handles
