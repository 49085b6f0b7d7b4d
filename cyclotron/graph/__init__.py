"""The graph of a kernel: operations in the order they run, and what each reads, with loops as graphs in it.

It is the recording that the compiler also starts from, as a value that prints, draws and runs by itself.
"""

from cyclotron.support.lazy import lazy_names

_HOMES = {"build": ["graph_of"], "graph": ["Graph"], "nodes": ["Edge", "Literal", "Node", "Number"]}
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
