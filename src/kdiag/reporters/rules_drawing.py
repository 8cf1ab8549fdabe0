"""The rules graph as a drawing: symptoms, causes boxed by bottleneck, and the optimizations that treat them.

Green lines make the time for a cause shorter, red ones longer, grey ones neither; dashed arcs are what optimizations
mean to one another. Variants are in the tooltips of their optimization's lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING

from kdiag.rules.load_playbook import Edge, Optimization

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.DiGraph[str]

COLUMNS = {"symptom": (10, 250), "cause": (440, 210), "optimization": (840, 390)}  # left and width, in px
ROW, TOP, SWEEPS = 19, 60, 6
COLOURS = {
    "indicates": "#b8c4d6",
    "enables": "#1a7f37",
    "conflicts": "#cf222e",
    "requires": "#0550ae",
    "searches": "#8250df",
}
FASTER, SLOWER, NEITHER = "#2da44e", "#e5534b", "#9aa4b2"
STYLE = (
    "text{font:12px sans-serif}path{fill:none;stroke-opacity:.6}path:hover{stroke-width:4}rect{fill:#eef3fb}"
    ".bottleneck{fill:none;stroke:#999}.cause{fill:#fff3c4}.optimization{fill:#e0f2e5}.dashed{stroke-dasharray:5 3}"
)
Lines = Mapping[tuple[str, str, str], dict[str, float]]  # (kind, source, target): sentences with the gain they tell


def to_svg(graph: Graph) -> str:
    """One SVG document without scripts; nodes and lines have tooltips."""
    lines = _lines(graph)
    columns = _columns(graph, lines)
    rows = max(map(len, columns.values()))
    places = {
        node: (COLUMNS[kind][0], TOP + ROW * rows * (number + 0.5) / len(column))
        for kind, column in columns.items()
        for number, node in enumerate(column)
    }
    legend = {**COLOURS, "treats: faster": FASTER, "slower": SLOWER, "neither": NEITHER}
    spans = " ".join(f'<tspan fill="{colour}">{name}</tspan>' for name, colour in legend.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1320 {TOP + ROW * (rows + 1)}">'
    paths = [_path(line, told, places) for line, told in lines.items()]
    nodes = [_node(graph, node, *places[node]) for node in places]
    return "\n".join((head, f'<style>{STYLE}</style><text x="10" y="20">{spans}</text>', *paths, *nodes, "</svg>\n"))


def to_dot(graph: Graph) -> str:
    """The same in the language of Graphviz."""
    lines = (f'"{a}" -> "{b}" [color="{_colour(k, t)}"]' for (k, a, b), t in _lines(graph).items())
    return "\n".join(("digraph rules { rankdir=LR; node [shape=box]", *lines, "}"))


def _lines(graph: Graph) -> Lines:
    """The lines between symptoms, causes and whole optimizations."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for source, target, data in graph.edges(data=True):
        if not target.startswith("bottleneck:"):
            line = (data["kind"], _whole(source), _whole(target))
            found.setdefault(line, {}).update(_told(source, target, data.get("treat") or data.get("edge")))
    return found


def _told(source: str, target: str, label: object) -> Iterator[tuple[str, float]]:
    pair = f"{_name(source)} for {_name(target)}"
    yield f"{pair}: {label.reason}" if isinstance(label, Edge) else pair, 1.0
    for on, gain in getattr(label, "gains", {}).items():
        figures = f"{gain.mid:g}x ({gain.low:g} to {gain.high:g}, n = {gain.n})"
        yield f"{pair}, {on}: {figures}: {gain.source}", gain.mid


def _columns(graph: Graph, lines: Lines) -> dict[str, list[str]]:
    """The nodes of each column from top to bottom, a bottleneck above its causes.

    Each column is sorted by the mean place of its neighbours in turn, which takes out most crossings.
    """
    near: dict[str, set[str]] = {}
    for kind, *ends in lines:
        if kind in {"indicates", "treats"}:
            for one, other in (ends, ends[::-1]):
                near.setdefault(one, set()).add(other)
    class_of = {a: b for a, b in graph.edges() if b.startswith("bottleneck:")}
    classes = list(dict.fromkeys(class_of.values()))
    columns = {kind: [n for n, d in graph.nodes(data=True) if d["kind"] == kind] for kind in COLUMNS}
    for _ in range(SWEEPS):
        place = {n: i / len(nodes) for nodes in columns.values() for i, n in enumerate(nodes)}
        mean = {node: fmean(place[other] for other in near.get(node, {node})) for node in place}
        for nodes in columns.values():
            nodes.sort(key=lambda node: (classes.index(class_of[node]) if node in class_of else 0, mean[node]))
    causes = columns["cause"]
    columns["cause"] = [n for each in classes for n in (each, *(c for c in causes if class_of[c] == each))]
    return columns


def _node(graph: Graph, node: str, x: float, y: float) -> str:
    kind, record = graph.nodes[node]["kind"], graph.nodes[node].get("record")
    text = tip = _name(node)
    width = COLUMNS["cause" if kind == "bottleneck" else kind][1]
    if isinstance(record, Optimization):
        text, tip = f"{record.id}: {record.title}", f"tier {record.tier}, {record.safety}: {record.summary}"
    shown = text if len(text) < 56 else f"{text[:54]}..."
    return (
        f'<g><title>{escape(tip)}</title><rect class="{kind}" x="{x}" y="{y - 8:.1f}" rx="4" width="{width}" '
        f'height="16"/><text x="{x + 6}" y="{y + 4:.1f}">{escape(shown)}</text></g>'
    )


def _path(line: tuple[str, str, str], told: Mapping[str, float], places: Mapping[str, tuple[float, float]]) -> str:
    kind, source, target = line
    (x1, y1), (x2, y2) = places[source], places[target]
    dashed = kind not in {"indicates", "treats"}
    if dashed:  # an arc on the right; from one to itself between two of its variants
        x1 = x2 = x1 + COLUMNS["optimization"][1]
        y1, y2 = (y1 - 5, y2 + 5) if source == target else (y1, y2)
        bend = x1 + 20 + min(abs(y2 - y1) / 5, 50)
    else:
        x1, x2 = (x1 + COLUMNS["symptom"][1], x2) if kind == "indicates" else (x1, x2 + COLUMNS["cause"][1])
        bend = (x1 + x2) / 2
    return (
        f'<path class="{"dashed" * dashed}" stroke="{_colour(kind, told)}" d="M{x1:.0f} {y1:.1f}C{bend:.0f} {y1:.1f} '
        f'{bend:.0f} {y2:.1f} {x2:.0f} {y2:.1f}"><title>{escape(chr(10).join(told))}</title></path>'
    )


def _colour(kind: str, told: Mapping[str, float]) -> str:
    best = max([gain for gain in told.values() if gain != 1], default=1.0)
    return COLOURS.get(kind) or (FASTER if best > 1.02 else SLOWER if best < 0.98 else NEITHER)


def _whole(node: str) -> str:
    """The node, for a variant its optimization."""
    return f"optimization:{_name(node).split('/')[0]}" if node.startswith("variant:") else node


def _name(node: str) -> str:
    return node.partition(":")[2]
