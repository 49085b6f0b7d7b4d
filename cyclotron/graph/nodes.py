"""Values of graphs: nodes, edges, and blocks of nodes; how they are drawn and run is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cyclotron.language.values.affine import Affine, Index, Region
from cyclotron.support.errors import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cyclotron.language.trace.trace import Trace
    from cyclotron.language.values.nodes import Tensor


@dataclass(frozen=True, eq=False)
class Domain:
    """The points of a node: for each point of `outer`, the values of `indices` that lie in `region`.

    The indices of the loops around are numbers when the node runs.
    """

    indices: tuple[Index, ...]
    region: Region
    outer: Domain | None = None


@dataclass(frozen=True, eq=False)
class Edge:
    """A value that an operation reads.

    Attributes
    ----------
    source : int
        The node that assigned it last, in this graph.
    address : str
        The address that this node's result has.
    access : str
        The slice of it that is read, as in ``[0:16, 1:17]``; empty where it is all.
    """

    source: int
    address: str
    access: str
    tensor: Tensor | None = field(default=None, repr=False)  # None: the result of a temporary node
    index: tuple[Affine, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.address}{self.access}"


@dataclass(frozen=True)
class Literal:
    """A number among the operands.

    Attributes
    ----------
    value : complex
        The number.
    dtype : str or None
        NumPy's name of the dtype that it takes, that of its neighbours; None where it has none.
    """

    value: complex
    dtype: str | None

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class Number:
    """The value of an affine form of indices among the operands.

    Attributes
    ----------
    form : Affine
        The form.
    dtype : str
        NumPy's name of the dtype.
    """

    form: Affine
    dtype: str

    def __str__(self) -> str:
        return str(self.form)


Operands = tuple["Edge | Literal | Number", ...]


@dataclass(frozen=True, eq=False)
class Node:
    """One operation, and where its result goes.

    Attributes
    ----------
    id : int
        Its place in the order of execution, over all nested graphs.
    kind : {"input", "full", "transfer", "temporary", "operation", "loop"}
        A temporary node is one that an expression of several operators makes; a transfer brings an array
        into the graph of a loop.
    op : str
        The operator, as the compiler's registry calls it; of a loop its ``for``.
    address : str
        The name under which the result lies in memory.
    access : str
        The slice of it that is assigned; empty where it is all.
    operands : tuple of Edge, Literal or Number
        What it reads, in the operator's order.
    updates : int or None
        The node whose result it changes in place.
    body : Graph or None
        Of a loop, what an iteration does.
    span : Span
        The statement.
    """

    id: int
    kind: str
    op: str
    address: str
    access: str
    operands: Operands
    span: Span
    updates: int | None = None
    body: Block | None = None
    flags: tuple[str, ...] = ()
    domain: Domain | None = field(default=None, repr=False)
    inner: tuple[Domain, ...] = field(default=(), repr=False)  # of operands, where that is another domain
    target: Tensor | None = field(default=None, repr=False)
    index: tuple[Affine, ...] = field(default=(), repr=False)
    loop: Index | None = field(default=None, repr=False)
    regions: tuple[Region, ...] = field(default=(), repr=False)  # of a loop's statements

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The operands that nodes compute."""
        return tuple(operand for operand in self.operands if isinstance(operand, Edge))

    @property
    def result(self) -> str:
        """The address with the slice that is assigned."""
        return f"{self.address}{self.access}"

    @property
    def title(self) -> str:
        """The operator with its operands."""
        if self.kind in ("input", "transfer", "loop"):
            return self.op
        return f"{self.op}({', '.join([*map(_short, self.operands), *self.flags])})"

    def __str__(self) -> str:
        if self.kind == "loop":
            return f"N{self.id}  {self.op}:"
        operands = ", ".join([*map(str, self.operands), *self.flags])
        note = "  (temporary)" if self.kind == "temporary" else ""
        if self.kind in ("input", "transfer"):
            return f"N{self.id}  {self.op} {self.result}"
        return f"N{self.id}  {self.result} = {self.op}({operands}){note}"


@dataclass(frozen=True, eq=False)
class Block:
    """The operations of a kernel, or of one iteration of a loop in it, in the order they run.

    As a value: `cyclotron.graph.Graph`, which all blocks are, also draws and runs it.

    Attributes
    ----------
    name : str
        The kernel, or the loop.
    nodes : tuple of Node
        By number; those of loops have graphs of their own.
    outputs : tuple of str
        The addresses that the kernel returns.
    """

    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...] = ()
    trace: Trace | None = field(default=None, repr=False)
    arguments: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Node]:
        """All nodes in the order of their numbers, those of nested graphs after the loop they belong to."""
        for node in self.nodes:
            yield node
            if node.body is not None:
                yield from node.body

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: int) -> Node:
        """The node of a number."""
        for node in self:
            if node.id == number:
                return node
        raise IndexError(f"the graph of {self.name} has no node {number}")

    def __str__(self) -> str:
        lines = [f"graph {self.name}", *_lines(self, "  ")]
        if self.outputs:
            lines.append(f"  return {', '.join(self.outputs)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<graph {self.name}, {len(self)} nodes>"


def _lines(block: Block, indent: str) -> Iterator[str]:
    for node in block.nodes:
        yield indent + str(node)
        if node.body is not None:
            yield from _lines(node.body, indent + "  ")


def _short(operand: Edge | Literal | Number) -> str:
    """An operand without its slice, which stands at the edge."""
    return operand.address if isinstance(operand, Edge) else str(operand)
