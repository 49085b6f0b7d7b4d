# Made by tools/checks/public_names.py from the package.
from cyclotron.graph.build import graph_of
from cyclotron.graph.graph import Graph
from cyclotron.graph.nodes import Edge, Literal, Node, Number

__all__ = ["Edge", "Graph", "Literal", "Node", "Number", "graph_of"]
