"""The graph of a kernel: operations in the order they run, and what each reads, with loops as graphs in it.

It is the recording that the compiler also starts from, as a value that prints, draws and runs by itself.
"""

from __future__ import annotations

from cyclotron.graph.nodes import Edge, Graph, Literal, Node, Number

__all__ = ["Edge", "Graph", "Literal", "Node", "Number"]
