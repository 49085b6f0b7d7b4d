"""The graph of a kernel: operations in the order they run, and what each reads, with loops as graphs in it.

It is the recording that the compiler also starts from, as a value that prints, draws and runs by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.support.lazy import lazy_names

if TYPE_CHECKING:
    from cyclotron.graph.build import graph_of
    from cyclotron.graph.graph import Graph
    from cyclotron.graph.nodes import Edge, Literal, Node, Number

__all__ = ["Edge", "Graph", "Literal", "Node", "Number", "graph_of"]

_HOMES = {
    "Edge": "nodes",
    "Graph": "graph",
    "Literal": "nodes",
    "Node": "nodes",
    "Number": "nodes",
    "graph_of": "build",
}
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
