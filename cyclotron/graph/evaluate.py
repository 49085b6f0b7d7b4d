"""Graphs run node by node in NumPy: an oracle that shares only the recording with the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.graph.nodes import Block, Domain, Edge, Literal, Node, Number
from cyclotron.graph.operations import Operand, applied, chosen, folded
from cyclotron.graph.points import Numbers, Points, bounds, points_of
from cyclotron.language.trace.early_exit import ending_error, is_ending
from cyclotron.language.trace.prints import printed_by
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.blocked import Blocked
from cyclotron.language.values.nodes import Tensor
from cyclotron.support.arguments import array_of
from cyclotron.support.errors import ExecutionError, ShapeError

Places = tuple[Numbers, ...]
_ONE = np.zeros(1, np.int64)


def evaluate(graph: Block, inputs: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the outputs of a whole graph; see `Graph.evaluate`."""
    trace = graph.trace
    if trace is None:
        raise ExecutionError(
            f"`{graph.name}` is the body of a loop, which reads what the statements around it make",
            code="CYC710",
            help="evaluate the graph that it is in: `kernel.graph(...).evaluate()`",
        )
    tensors = [tensor for tensor in trace.tensors if tensor.is_input and tensor.values is None]
    for name in inputs:
        if name not in [tensor.name for tensor in tensors]:
            raise _unfit(
                f"`{graph.name}` has no input `{name}`",
                f"its inputs are: {', '.join(tensor.name for tensor in tensors)}",
            )
    given = {**graph.arguments, **inputs}
    arrays = {tensor: _input(tensor, given.get(tensor.name)) for tensor in tensors}
    arrays |= {tensor: tensor.values for tensor in trace.tensors if tensor.values is not None}
    for tensor in trace.tensors:
        if not tensor.is_input:
            arrays[tensor] = np.full(tensor.scalars, tensor.initial or 0, tensor.dtype_name)
    with np.errstate(all="ignore"):
        _Run(arrays).block(graph.nodes)
    outputs = {name: arrays[tensor] for name, tensor in trace.outputs.items()}
    outputs = {name: value for name, value in outputs.items() if printed_by(name) is None}
    for name in [name for name in outputs if is_ending(name)]:
        if np.any(outputs.pop(name)):
            raise ending_error(name, graph.name, tensors[0].span.file if tensors else None)
    return outputs


def _input(tensor: Tensor, value: Any) -> NDArray[Any]:
    """A copy of an input, which statements may assign in place."""
    what = f"input `{tensor.name}`"
    if value is None:
        raise _unfit(f"no array for {what}", f"pass it by name: evaluate({tensor.name}=...)")
    array = array_of(value.array if isinstance(value, Blocked) else value, what, code="CYC710")
    found, wanted = (tuple(array.shape), array.dtype.name), (tensor.scalars, tensor.dtype_name)
    if found != wanted:
        differs = "shape", "dtype"
        k = 0 if found[0] != wanted[0] else 1
        raise _unfit(
            f"{what} has {differs[k]} {found[k]}, and the graph was made for {wanted[k]}",
            "make the graph for the new shape and dtype: kernel.graph(...)",
        )
    return np.array(array, dtype=tensor.dtype_name)


class _Run:
    """One run: what the arrays are, and what temporary nodes of the statement in progress made."""

    def __init__(self, arrays: dict[Tensor, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._loops: dict[Index, int] = {}
        self._points: dict[Domain, Points] = {}
        self._results: dict[int, Operand] = {}

    def block(self, nodes: tuple[Node, ...]) -> None:
        """Run nodes in order."""
        for node in nodes:
            if node.kind == "loop":
                self._loop(node)
            elif node.kind in ("temporary", "operation"):
                self._compute(node)

    def _loop(self, node: Node) -> None:
        assert node.loop is not None
        assert node.body is not None
        ends = [bounds(node.loop, region, self._loops, 1) for region in node.regions]
        ranges = [(int(low[0]), int(high[0])) for low, high in ends if low[0] <= high[0]]
        for value in range(
            min((r[0] for r in ranges), default=0), max((r[1] for r in ranges), default=-1) + 1
        ):
            self._loops[node.loop] = value
            self.block(node.body.nodes)
        self._loops.pop(node.loop, None)

    def _compute(self, node: Node) -> None:
        assert node.domain is not None
        points = self._at(node.domain)
        try:
            value = self._value(node, points)
        except (ValueError, np.linalg.LinAlgError) as error:  # NumPy's, e.g. of a matrix without a factor
            raise ExecutionError(
                f"`{node.title}` fails: {error}",
                code="CYC701",
                span=node.span,
                help=f"look at what node N{node.id} reads; the operator is not defined for these data",
            ) from None
        if node.kind == "temporary":
            self._results[node.id] = value
            return
        assert node.target is not None
        self._write(node.target, node.index, points, value)
        self._points.clear()
        self._results.clear()

    def _value(self, node: Node, points: Points) -> Operand:
        domains = node.inner or (node.domain,) * len(node.operands)
        places = [self._at(domain) for domain in domains if domain is not None]
        values = [self._operand(operand, at) for operand, at in zip(node.operands, places, strict=True)]
        if node.op == "choose":
            return chosen(values, [at.parents for at in places], points.count)
        if node.inner:
            first = values[0] if len(values) > 1 else None
            return folded(node.op, values[-1], places[-1].parents, points.count, first)
        return applied(node.op, values, node.flags)

    def _operand(self, operand: Edge | Literal | Number, points: Points) -> Operand:
        """The values of an operand at points."""
        if isinstance(operand, Literal):
            return np.full(points.count, operand.value, operand.dtype)
        if isinstance(operand, Number):
            return points.of(operand.form).astype(operand.dtype)
        if operand.tensor is None:
            return self._results[operand.source]
        array = self._arrays[operand.tensor]
        places = self._places(operand.tensor, operand.index, points)
        if operand.tensor.tile is None:
            return np.broadcast_to(array[places], (points.count,))  # all read an array without axes
        return [array[tile] for tile in _tiles(operand.tensor, places)]

    def _write(self, tensor: Tensor, index: tuple[Affine, ...], points: Points, value: Operand) -> None:
        places = self._places(tensor, index, points)
        if tensor.tile is None and not places:
            self._arrays[tensor][...] = value[-1] if points.count else self._arrays[tensor]
            return
        if tensor.tile is None:
            self._arrays[tensor][places] = value
            return
        for tile, one in zip(_tiles(tensor, places), value, strict=True):
            self._arrays[tensor][tile] = one

    def _places(self, tensor: Tensor, index: tuple[Affine, ...], points: Points) -> Places:
        """Subscripts of elements, one array for each axis."""
        places = tuple(points.of(form) for form in index)
        for at, size in zip(places, tensor.shape, strict=True):
            assert not at.size or (at.min() >= 0 and at.max() < int(size)), f"outside of {tensor.name}"
        return places

    def _at(self, domain: Domain) -> Points:
        """The points of a domain in this iteration of the loops around."""
        if domain not in self._points:
            around = self._at(domain.outer) if domain.outer is not None else Points(self._loops, 1, _ONE)
            self._points[domain] = points_of(domain, around)
        return self._points[domain]


def _tiles(tensor: Tensor, places: Places) -> Iterator[tuple[slice, ...]]:
    """The positions of tiles among the scalars."""
    assert tensor.tile is not None
    for corner in zip(*places, strict=True):
        yield tuple(slice(int(c) * t, (int(c) + 1) * t) for c, t in zip(corner, tensor.tile, strict=True))


def _unfit(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC710", help=help)
