"""Graphs in Graphviz's language, in the style of the MACH paper's Fig. 5."""

from __future__ import annotations

from collections.abc import Iterator

from cyclotron.graph.nodes import Block, Node

_STYLES = {
    "input": 'shape=box color="#606060"',
    "full": 'shape=box color="#606060"',
    "transfer": 'shape=box style=dashed color="#606060"',
    "temporary": 'shape=hexagon color="#c83232"',
    "operation": 'shape=ellipse color="#2850c8"',
    "loop": 'shape=box style=rounded color="#149646"',
}


def to_dot(graph: Block) -> str:
    """Return ``digraph`` text: nodes with number and result index, edges with what is read."""
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        '  node [fontname="Helvetica" fontsize=10]',
        '  edge [fontname="Helvetica" fontsize=9]',
        *_block(graph, "  "),
        "}",
    ]
    return "\n".join(lines) + "\n"


def label(node: Node) -> tuple[str, ...]:
    """The lines that stand in a node."""
    if node.kind == "transfer":
        return (f"transfer {node.address}", f"N: {node.id}")
    if node.kind == "loop":
        return (node.op, f"N: {node.id}   RI: {node.result}")
    return (node.title, f"N: {node.id}   RI: {node.result}")


def _block(graph: Block, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        yield f"{indent}N{node.id} [label={_quoted(*label(node))} {_STYLES[node.kind]}]"
        for number, edge in enumerate(node.edges):
            if edge.source >= 0:
                yield f"{indent}N{edge.source} -> N{node.id} [label={_quoted(f'E: {number}, {edge}')}]"
        if node.updates is not None:
            yield f"{indent}N{node.updates} -> N{node.id} [style=dotted]"
        if node.body is not None:
            yield f"{indent}subgraph cluster_{node.id} {{"
            yield f"{indent}  label={_quoted(node.op)}"
            yield from _block(node.body, indent + "  ")
            yield f"{indent}}}"
            for inner in node.body.nodes:
                if inner.kind == "transfer":
                    yield f"{indent}N{node.id} -> N{inner.id} [style=dashed]"


def _quoted(*lines: str) -> str:
    text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{text}"'
