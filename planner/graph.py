"""The rules as a graph: symptoms indicate causes, optimizations treat them, and bear on one another.

Nodes are named `kind:id` (`symptom:`, `cause:`, `bottleneck:`, `optimization:`, `variant:A/tile-load`) and carry
`kind`. Edges carry `kind`: indicates (symptom -> cause -> bottleneck), treats (optimization or variant -> cause,
with the `treat` record), and requires, conflicts, enables (with the `edge` record).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from kdiag.errors import KdiagError
from kdiag.rules import load_causes, load_playbook
from kdiag.rules.load_causes import CauseRule
from kdiag.rules.load_playbook import Edge, EdgeKind, Optimization, Treat, matches

from .check import faults

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.MultiDiGraph[str]


@cache
def bundled() -> Graph:
    """The graph of the rules that kdiag brings along. Raises KdiagError if they contradict each other."""
    return build(load_playbook.load(), load_causes.load_causes())


def build(playbook: Mapping[str, Optimization], causes: Mapping[str, CauseRule]) -> Graph:
    """The graph of valid rules. Raises KdiagError with the first of `planner.check.faults`."""
    import networkx as nx

    if (fault := next(faults(playbook, causes), None)) is not None:
        raise KdiagError(f"{fault}.")
    graph: Graph = nx.MultiDiGraph()
    for cause in causes.values():
        graph.add_node(f"cause:{cause.id}", kind="cause")
        graph.add_node(f"bottleneck:{cause.bottleneck}", kind="bottleneck")
        graph.add_edge(f"cause:{cause.id}", f"bottleneck:{cause.bottleneck}", kind="indicates")
        for symptom in {test.metric for pattern in cause.patterns for test in pattern.tests if test.role == "shows"}:
            graph.add_node(f"symptom:{symptom}", kind="symptom")
            graph.add_edge(f"symptom:{symptom}", f"cause:{cause.id}", kind="indicates")
    for optimization in playbook.values():
        graph.add_node(f"optimization:{optimization.id}", kind="optimization", record=optimization)
    for optimization in playbook.values():
        for treat in optimization.treats:
            source = _node(graph, optimization.id, treat.variant)
            graph.add_edge(source, f"cause:{treat.cause}", kind="treats", treat=treat)
        for edge in optimization.edges:
            source = _node(graph, optimization.id, edge.variant)
            target = _node(graph, edge.optimization, edge.target_variant)
            graph.add_edge(source, target, kind=edge.kind, edge=edge)
    return graph


def treatments(graph: Graph, optimization: str, variant: str, cause: str) -> list[Treat]:
    """What the rules say of this variant for this cause: the entry that names most of its settings, or two, one for a
    grid that is kept and one for a grid that changes.
    """
    found: list[Treat] = []
    for node, _, data in graph.in_edges(f"cause:{cause}", data=True) if f"cause:{cause}" in graph else ():
        treat = data.get("treat")
        if isinstance(treat, Treat) and owner(node) == optimization and matches(treat.variant, variant):
            found.append(treat)
    named = [len(treat.variant.split(",")) if treat.variant else 0 for treat in found]
    return [treat for treat, count in zip(found, named, strict=True) if count == max(named)]


@cache
def relations(graph: Graph, kind: EdgeKind) -> tuple[tuple[str, Edge], ...]:
    """All edges of one kind between optimizations, each with the id of the optimization it starts from."""
    found = [(owner(node), data["edge"]) for node, _, data in graph.edges(data=True) if data["kind"] == kind]
    return tuple((source, edge) for source, edge in found if isinstance(edge, Edge))


def conflict(graph: Graph, first: tuple[str, str], second: tuple[str, str]) -> str | None:
    """Why two (optimization, variant) pairs exclude each other, in either direction; None if they do not."""
    for source, edge in relations(graph, "conflicts"):
        for one, other in ((first, second), (second, first)):
            starts = source == one[0] and matches(edge.variant, one[1])
            if starts and edge.optimization == other[0] and matches(edge.target_variant, other[1]):
                return edge.reason
    return None


@cache
def inverses(graph: Graph, optimization: str) -> tuple[str, ...]:
    """The variants of an optimization that undo its others, as patterns: those that conflict with it."""
    edges = relations(graph, "conflicts")
    return tuple(
        dict.fromkeys(e.variant for source, e in edges if source == e.optimization == optimization and e.variant)
    )


def owner(node: str) -> str:
    """The id in a node's name; for a variant the id of its optimization."""
    return node.partition(":")[2].partition("/")[0]


def _node(graph: Graph, optimization: str, variant: str) -> str:
    if not variant:
        return f"optimization:{optimization}"
    name = f"variant:{optimization}/{variant}"
    graph.add_node(name, kind="variant")
    return name
