"""From a kernel's recording to its graph."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cyclotron.graph.graph import Graph
from cyclotron.graph.nodes import Domain, Edge, Literal, Node, Number
from cyclotron.graph.text import condition_text, loop_text, slices
from cyclotron.language import Kernel
from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Index
from cyclotron.language.values.nodes import (
    Access,
    Apply,
    AxisIndex,
    Choose,
    Constant,
    Element,
    IndexValue,
    Reduce,
    Tensor,
    accesses,
)
from cyclotron.language.values.operators import OPERATORS

_FOLDS = {
    "sum": "sum",
    "product": "prod",
    "maximum": "max",
    "minimum": "min",
    "first_maximum": "first_max",
    "first_minimum": "first_min",
}
_Tensors = dict[Tensor, None]  # a set in the order in which it was filled


def graph_of(kernel: Kernel, values: tuple[Any, ...]) -> Graph:
    """Return the graph of a kernel that the compiler takes; see `cyclotron.Kernel.graph`.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    """
    _, trace = kernel.verified(*values)
    return Graph(
        trace.kernel, tuple(_Builder(trace).nodes()), tuple(trace.outputs), trace, kernel.arrays(values)
    )


class _Builder:
    """Numbers the nodes of one recording in the order they run."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = _listed_names(trace)
        self._numbers = itertools.count()

    def nodes(self) -> Iterator[Node]:
        used = {access.tensor for s in self._trace.statements for access in accesses(s.value)}
        used |= {s.target for s in self._trace.statements} | set(self._trace.outputs.values())
        scope: dict[Tensor, int] = {}
        for tensor in self._trace.tensors:
            if tensor.is_input or (tensor.initial is not None and tensor in used):
                scope[tensor] = next(self._numbers)
                yield self._declared(tensor, scope[tensor])
        yield from self._block(self._trace.statements, 0, scope)

    def _declared(self, tensor: Tensor, number: int) -> Node:
        operands = () if tensor.is_input else (Literal(tensor.initial or 0, tensor.dtype_name),)
        kind = "input" if tensor.is_input else "full"
        return Node(number, kind, kind, self._names[tensor], "", operands, tensor.span, target=tensor)

    def _block(self, statements: Sequence[Statement], depth: int, scope: dict[Tensor, int]) -> Iterator[Node]:
        """The nodes of statements under the same loops, of which `depth` are those of the graph."""
        for loop, group in itertools.groupby(statements, lambda s: _loop_at(s, depth)):
            if loop is None:
                for statement in group:
                    yield from _Statement(self._names, self._numbers, scope, statement).nodes()
            else:
                yield self._loop(loop, list(group), depth, scope)

    def _loop(self, loop: Index, body: list[Statement], depth: int, outer: dict[Tensor, int]) -> Node:
        number = next(self._numbers)
        scope: dict[Tensor, int] = {}
        nodes = []
        for tensor in _transferred(body, outer):
            scope[tensor] = next(self._numbers)
            name, span = self._names[tensor], body[0].span
            nodes.append(Node(scope[tensor], "transfer", "transfer", name, "", (), span, target=tensor))
        operands = tuple(Edge(outer[tensor], self._names[tensor], "") for tensor in scope if tensor in outer)
        nodes += self._block(body, depth + 1, scope)
        assigned: _Tensors = dict.fromkeys(statement.target for statement in body)
        outer.update(dict.fromkeys(assigned, number))
        regions = tuple(statement.region for statement in body)
        op = loop_text(loop, regions, _inner(body, depth))
        flag = self._trace.flags.get(loop)
        if flag is not None:
            op += f" while {self._names[flag]}"
        names = ", ".join(self._names[tensor] for tensor in assigned)
        graph = Graph(f"loop {loop.name}", tuple(nodes))
        return Node(
            number, "loop", op, names, "", operands, loop.span, body=graph, loop=loop, regions=regions
        )


class _Statement:
    """The nodes of one statement: one for each operator, the last of which assigns the target."""

    def __init__(
        self,
        names: Mapping[Tensor, str],
        numbers: Iterator[int],
        scope: dict[Tensor, int],
        statement: Statement,
    ) -> None:
        self._names = names
        self._numbers = numbers
        self._scope = scope
        self._statement = statement
        self._axes = tuple(loop for loop in statement.loops if isinstance(loop, AxisIndex))
        self._domain = Domain(self._axes, statement.region)
        self._temporaries: dict[tuple[int, Domain], Edge] = {}
        self._nodes: list[Node] = []

    def nodes(self) -> list[Node]:
        own = self._statement
        value = self._operand(own.value, self._domain, own.target.dtype_name)
        is_temporary = isinstance(value, Edge) and value.tensor is None
        last = self._nodes.pop() if is_temporary else None
        before = self._scope.get(own.target)
        access = slices(own.target, own.index, self._domain)
        if last is None:
            number, op, operands = next(self._numbers), "copy", (value,)
            last = Node(number, "", op, "", "", operands, own.span, domain=self._domain)
        self._scope[own.target] = last.id
        assigning = replace(
            last,
            kind="operation",
            address=self._names[own.target],
            access=access,
            updates=before if access else None,
            target=own.target,
            index=own.index,
            span=own.span,
        )
        return [*self._nodes, assigning]

    def _operand(self, value: Element, domain: Domain, dtype: str | None) -> Edge | Literal | Number:
        """The operand that an expression makes over a domain; numbers take a dtype from where they stand."""
        if isinstance(value, Constant):
            return Literal(value.value, dtype)
        if isinstance(value, IndexValue):
            return Number(value.form, value.dtype)
        if isinstance(value, Access):
            access = slices(value.tensor, value.index, domain)
            source = self._scope.get(value.tensor, -1)
            return Edge(source, self._names[value.tensor], access, value.tensor, value.index)
        key = (id(value), domain)  # the statement keeps the expression
        if key not in self._temporaries:
            self._temporaries[key] = self._temporary(value, domain, value.dtype or dtype)
        return self._temporaries[key]

    def _temporary(self, value: Element, domain: Domain, dtype: str | None) -> Edge:
        flags: tuple[str, ...] = ()
        inner: tuple[Domain, ...] = ()
        dtypes: Iterable[str | None] = itertools.repeat(dtype)
        if isinstance(value, Apply) and "onward" in value.flags:
            total = value.operands[1]
            assert isinstance(total, Reduce)
            op, flags = "sum" if value.op == "add" else "difference", (f"over {total.index.name}",)
            inner = (domain, Domain((total.index,), total.region, domain))
            value = Apply(value.op, (value.operands[0], total.body), value.span, (), value.type)
        elif isinstance(value, Reduce):
            op, flags = _FOLDS[value.kind], (f"over {value.index.name}",)
            inner = (Domain((value.index,), value.region, domain),)
        elif isinstance(value, Choose):
            op, flags = "choose", (condition_text(value.condition),)
            inner = tuple(Domain((), c.region, domain) for c in (value.condition, value.condition.negated()))
        else:
            assert isinstance(value, Apply)
            op, flags, dtypes = value.op, value.flags, _dtypes(value, dtype)
        places = inner or itertools.repeat(domain)
        operands = tuple(map(self._operand, value.operands, places, dtypes))
        number = next(self._numbers)
        name = f"tmp{number}"
        self._nodes.append(
            Node(number, "temporary", op, name, "", operands, value.span, None, None, flags, domain, inner)
        )
        return Edge(number, name, "")


def _dtypes(value: Apply, adopted: str | None) -> Iterator[str | None]:
    """The dtype that each operand takes where it has none of its own."""
    typing = OPERATORS[value.op].typing
    given: list[str | None] = [operand.dtype for operand in value.operands]
    common = next((dtype for dtype in given[typing == "select" :] if dtype is not None), None)
    if common is None and typing in ("same", "select"):
        common = adopted
    for number, dtype in enumerate(given):
        yield dtype or ("bool" if typing == "select" and number == 0 else common)


def _listed_names(trace: Trace) -> dict[Tensor, str]:
    """The names of tensors as the core lists them: with the line where several tensors have one name."""
    alike = Counter(tensor.name for tensor in trace.tensors)
    numbers: Counter[str] = Counter()
    results = set(trace.outputs.values())
    names: dict[Tensor, str] = {}
    for tensor in trace.tensors:
        name = tensor.name
        if tensor.is_input or tensor in results:
            name = tensor.unique_name
        elif alike[name] > 1:
            name += f"@{tensor.span.line}"
            numbers[name] += 1
            name += f"_{numbers[name]}" if numbers[name] > 1 else ""
        names[tensor] = name.replace(" ", "_")
    return names


def _loop_at(statement: Statement, depth: int) -> Index | None:
    """The loop of the text in which a statement stands, below `depth` others; None if it is in none."""
    loop = statement.loops[depth] if depth < len(statement.loops) else None
    return None if isinstance(loop, AxisIndex) else loop


def _inner(body: Iterable[Statement], depth: int) -> set[Index]:
    """The indices of loops and axes in the body of a loop."""
    return {index for statement in body for index in statement.loops[depth + 1 :]}


def _transferred(body: Sequence[Statement], outer: dict[Tensor, int]) -> _Tensors:
    """The arrays that the graph of a loop takes from around it, or from the iteration before."""
    found: _Tensors = {}
    assigned: set[Tensor] = set()
    for statement in body:
        for access in accesses(statement.value):
            if access.tensor in outer or access.tensor not in assigned:
                found.setdefault(access.tensor)
        if statement.target in outer:
            found.setdefault(statement.target)
        assigned.add(statement.target)
    return found
