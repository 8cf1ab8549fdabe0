"""The rules graph as a drawing: symptoms left, causes boxed by bottleneck in the middle, optimizations right.

Colour says what an optimization does to the time for a cause (green faster, red slower, grey neither or unknown);
dashed arcs are what optimizations mean to one another. Variants are in the tooltips of their optimization's lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING

from kdiag.rules.load_playbook import Edge, Optimization, Treat

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.DiGraph[str]

COLUMNS = {"symptom": (10, 260), "cause": (440, 210), "optimization": (840, 380)}  # left and width, in px
WIDTH, ROW, TOP = 1320, 19, 60
SWEEPS = 6
COLOURS = {"indicates": "#b8c4d6", "enables": "#1a7f37", "conflicts": "#cf222e", "requires": "#0550ae"}
FASTER, SLOWER, NEITHER = "#2da44e", "#e5534b", "#9aa4b2"
STYLE = (
    "text{font:12px sans-serif}path{fill:none;stroke-opacity:.55}path:hover{stroke-width:4;stroke-opacity:1}"
    ".box{fill:#f6f8fa;stroke:#d0d7de}.symptom{fill:#eef3fb}.cause{fill:#fff8dc}.optimization{fill:#e6f4ea}"
    ".class{font-weight:bold;fill:#57606a}"
)
Line = tuple[str, str, str]  # kind, source, target
Places = Mapping[str, tuple[float, float]]  # the left end and the middle of each node


def to_svg(graph: Graph) -> str:
    """One SVG document without scripts; every node and line has a tooltip."""
    lines, (layers, boxes) = _lines(graph), _layers(graph)
    rows = max(map(len, layers.values()))
    places = {
        node: (COLUMNS[kind][0], TOP + ROW * (number + 0.5) * rows / len(layer))
        for kind, layer in layers.items()
        for number, node in enumerate(layer)
    }
    height = TOP + ROW * (rows + 1)
    legend = ", ".join(f'<tspan fill="{colour}">{name}</tspan>' for name, colour in COLOURS.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}"><style>{STYLE}</style>',
        f'<text x="10" y="20">Lines: {legend}; treats, <tspan fill="{FASTER}">faster</tspan>, '
        f'<tspan fill="{SLOWER}">slower</tspan> or <tspan fill="{NEITHER}">neither</tspan></text>',
        *(_box(box, nodes, places) for box, nodes in boxes.items()),
        *(_line(line, found, places) for line, found in lines.items()),
        *(_node(graph, node, places) for node in places if not node.startswith("bottleneck:")),
    ]
    return "\n".join((*parts, "</svg>\n"))


def to_dot(graph: Graph) -> str:
    """The same in the language of Graphviz."""
    lines = [
        f'  "{source}" -> "{target}" [color="{_colour(kind, found)}"{", style=dashed" * (kind in COLOURS and kind != "indicates")}];'
        for (kind, source, target), found in _lines(graph).items()
    ]
    return "\n".join(("digraph rules {", "  rankdir=LR; node [shape=box];", *lines, "}"))


def _lines(graph: Graph) -> dict[Line, list[tuple[float, str]]]:
    """The lines between whole optimizations, causes and symptoms, each with gains and sentences."""
    found: dict[Line, list[tuple[float, str]]] = {}
    for source, target, data in graph.edges(data=True):
        if not target.startswith("bottleneck:"):
            label = data.get("treat") or data.get("edge")
            texts = list(_told(source, target, label)) or [(1.0, f"{_name(source)} shows {_name(target)}")]
            found.setdefault((data["kind"], _whole(source), _whole(target)), []).extend(texts)
    return found


def _told(source: str, target: str, label: Treat | Edge | None) -> Iterator[tuple[float, str]]:
    if isinstance(label, Edge):
        yield 1.0, f"{_name(source)} {label.kind} {_name(target)}: {label.reason}"
    if label is not None:
        for on, gain in label.gains.items():
            figures = f"{gain.mid:g}x ({gain.low:g} to {gain.high:g}, n = {gain.n})"
            yield gain.mid, f"{_name(source)} for {_name(target)}, {on}: {figures}: {gain.source}"


def _layers(graph: Graph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The nodes of each column from top to bottom, causes with their bottleneck before them, and what is boxed.

    Each column in turn is sorted by the mean place of its neighbours, which takes out most crossings.
    """
    near: dict[str, set[str]] = {}
    for kind, source, target in _lines(graph):
        if kind in {"indicates", "treats"}:
            near.setdefault(source, set()).add(target)
            near.setdefault(target, set()).add(source)
    boxes: dict[str, list[str]] = {}
    for cause, box in graph.edges():
        if box.startswith("bottleneck:"):
            boxes.setdefault(box, []).append(cause)
    columns = {kind: [n for n, d in graph.nodes(data=True) if d["kind"] == kind] for kind in COLUMNS}
    for _ in range(SWEEPS):
        columns["cause"] = [node for box, causes in boxes.items() for node in (box, *causes)]
        place = {n: i / len(nodes) for nodes in columns.values() for i, n in enumerate(nodes)}
        mean = {node: fmean(place[other] for other in near.get(node, {node})) for node in place}
        for kind in ("symptom", "optimization"):
            columns[kind].sort(key=mean.__getitem__)
        boxes = {box: sorted(causes, key=mean.__getitem__) for box, causes in boxes.items()}
    columns["cause"] = [node for box, causes in boxes.items() for node in (box, *causes)]
    return columns, boxes


def _box(box: str, causes: Sequence[str], places: Places) -> str:
    x, top = places[box]
    bottom, width = places[causes[-1]][1], COLUMNS["cause"][1]
    return (
        f'<rect class="box" x="{x - 10}" y="{top - 10:.1f}" width="{width + 20}" height="{bottom - top + 22:.1f}" rx="6"/>'
        f'<text class="class" x="{x}" y="{top + 5:.1f}">{_name(box)}</text>'
    )


def _node(graph: Graph, node: str, places: Places) -> str:
    kind, (x, y) = node.partition(":")[0], places[node]
    record = graph.nodes[node].get("record")
    label, tip = _name(node), _name(node)
    if isinstance(record, Optimization):
        label, tip = f"{record.id}: {record.title}", f"tier {record.tier}, {record.safety}: {record.summary}"
    label = label if len(label) < 62 else f"{label[:60]}..."
    return (
        f'<g><title>{escape(tip)}</title><rect class="{kind}" x="{x}" y="{y - 8:.1f}" width="{COLUMNS[kind][1]}" '
        f'height="16" rx="4"/><text x="{x + 6}" y="{y + 4:.1f}">{escape(label)}</text></g>'
    )


def _line(line: Line, found: Sequence[tuple[float, str]], places: Places) -> str:
    kind, source, target = line
    (x1, y1), (x2, y2) = places[source], places[target]
    if kind == "indicates":
        x1 += COLUMNS["symptom"][1]
    elif kind == "treats":
        x2 += COLUMNS["cause"][1]
    else:
        x1 = x2 = x1 + COLUMNS["optimization"][1]
    dashed = kind not in {"indicates", "treats"}
    bend = 20 + min(abs(y2 - y1) / 5, 50)
    c1, c2 = (x1 + bend, x1 + bend) if dashed else ((x1 + x2) / 2, (x1 + x2) / 2)
    if source == target:  # of two variants
        y1, y2 = y1 - 5, y2 + 5
    tip = escape("\n".join(text for _, text in found))
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    return (
        f'<path d="M{x1:.0f} {y1:.1f}C{c1:.0f} {y1:.1f} {c2:.0f} {y2:.1f} {x2:.0f} {y2:.1f}" '
        f'stroke="{_colour(kind, found)}"{dash}><title>{tip}</title></path>'
    )


def _colour(kind: str, found: Sequence[tuple[float, str]]) -> str:
    best = max(gain for gain, _ in found)
    return COLOURS.get(kind) or (FASTER if best > 1.02 else SLOWER if best < 0.98 else NEITHER)


def _whole(node: str) -> str:
    """The node, for a variant its optimization."""
    return f"optimization:{_name(node).split('/')[0]}" if node.startswith("variant:") else node


def _name(node: str) -> str:
    return node.partition(":")[2]
