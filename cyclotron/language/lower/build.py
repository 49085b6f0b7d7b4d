"""From a recording to a system of recurrence equations, through an abstract builder.

A text that spells recurrences is written as it stands; the core expands loop nests only. Expansion would be
exact for recurrences of scalars, too, but their programs would not stay the same: it reads through copies,
makes a tensor of each statement and leaves accumulations as chains, which changes most programs of the corpus
and a quarter of their cycle counts, in both directions; and it does not take tiles.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from cyclotron.language.lower import cases, nests, strided_sets
from cyclotron.language.lower.fill_unassigned import completion
from cyclotron.language.lower.quotients import Equations, counted, spread
from cyclotron.language.lower.read_order import find_early_read
from cyclotron.language.lower.stretch import stretched
from cyclotron.language.lower.strides import are_many
from cyclotron.language.trace.statement import Statement, unused
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.nodes import (
    Access,
    Apply,
    Constant,
    Element,
    FoldIndex,
    IndexValue,
    Reduce,
    Tensor,
    accesses,
    substitute_indices,
)
from cyclotron.language.values.region import AffineTuple, RegionList, affine_tuple, is_empty, region_list
from cyclotron.language.values.source_span import block_of
from cyclotron.support.errors import CyclotronError, LegalityError, Span, TraceError

SpanTuple = tuple[str, int, int, int, int, int]
"""A span, and the number of its block: `block_of`."""


class SystemBuilder(Protocol):
    """A system under construction, as `_core.System`; tensors and expressions are known by number.

    Attributes
    ----------
    idle_nests : list of list of str
        The indices, outermost first, of each statement without a point: schedules may name them.
    """

    idle_nests: list[list[str]]

    def add_tensor(
        self,
        name: str,
        dtype: str,
        role: str,
        shape: list[int],
        tile: list[int] | None,
        span: SpanTuple,
        variable: str,
    ) -> int:
        """Add a tensor, `variable` to users; shape and tile in scalars, tile None where elements are."""

    def add_constant(self, value: int | complex, span: SpanTuple) -> int:
        """Add a number."""

    def add_index(self, form: AffineTuple, dtype: str, span: SpanTuple) -> int:
        """Add the value of a form of the indices, as a number of a dtype."""

    def add_access(self, tensor: int, index: list[AffineTuple], span: SpanTuple) -> int:
        """Add the reading of an element."""

    def add_apply(self, op: str, operands: list[int], flags: list[str], span: SpanTuple) -> int:
        """Add an operator of the registry."""

    def add_reduce(
        self, kind: str, index: str, domain: RegionList, body: int, any_order: bool, span: SpanTuple
    ) -> int:
        """Add a fold over the values of one more index, whose terms may come in any order."""

    def add_equation(
        self,
        target: int,
        index: list[AffineTuple],
        indices: list[str],
        domain: RegionList,
        expr: int,
        span: SpanTuple,
    ) -> None:
        """Add an equation."""

    def expand(self, places: list[tuple[list[int], list[bool]]], required: bool = True) -> bool:
        """Take the equations as statements and make them recurrences; return whether it was done.

        For each its place in the text (`Statement.text`) and, for each loop, whether it counts down. Where a
        last write is not affine it is not done, unless it is required.
        """


Builder = TypeVar("Builder", bound=SystemBuilder)


def build(trace: Trace, new: Callable[[], Builder]) -> Builder:
    """Return a system of all tensors and equations of a finished recording.

    Where its text spells no recurrences it is taken as a loop nest, unless it has tensors of tiles.

    Parameters
    ----------
    trace : Trace
        The recording, with its outputs named.
    new : callable
        Makes an empty system.
    """
    equations = recurrences(trace)
    if isinstance(equations, list):
        trace, equations = stretched(trace, equations, in_order=False)
        system = new()
        _write(*spread(trace, counted(equations), computed=True), system)
        return system
    if nests.may_be_nest(trace):
        return build_nest(trace, new)
    raise equations


def recurrences(trace: Trace) -> list[Statement] | TraceError | LegalityError:
    """Return the equations that the text of a recording spells, or why it spells none."""
    if trace.refusal is not None:
        return trace.refusal
    parts = [cases.split(trace, equation) for equation in trace.equations]
    obstacle = find_early_read(parts)
    if obstacle is not None:
        return obstacle
    equations = [part for statement in parts for part in statement]
    needed = {access.tensor for equation in trace.equations for access in accesses(equation.value)}
    needed |= set(trace.outputs.values())
    for tensor in trace.tensors:
        if tensor.initial is not None and tensor in needed:
            filled = completion(tensor, [e for e in trace.equations if e.target is tensor])
            if isinstance(filled, LegalityError):
                return filled
            equations += filled
    return equations


def build_nest(trace: Trace, new: Callable[[], Builder]) -> Builder:
    """Return a system of the statements of a finished recording, expanded to equations.

    Parameters
    ----------
    trace : Trace
        The recording, with its outputs named; no tensor of tiles.
    new : callable
        Makes an empty system.
    """
    nest = nests.with_arrays(trace)
    refusal: LegalityError | None = None
    if not any(are_many([e for e in nest.equations if e.target is tensor]) for tensor in nest.tensors):
        try:
            return _of_nest(nest, new)
        except LegalityError as error:
            if error.code != "CYC216":
                raise
            refusal = error
    filled = strided_sets.filled(nest)
    if filled is not None:
        with contextlib.suppress(CyclotronError):
            return _of_nest(filled, new)
    if refusal is None:
        return _of_nest(nest, new)
    raise refusal


def _of_nest(nest: Trace, new: Callable[[], Builder]) -> Builder:
    equations = [part for statement in nest.equations for part in cases.split(nest, statement)]
    read = [form for equation in equations for access in accesses(equation.value) for form in access.index]
    # Readings with indices of their own keep the order of the text, but not all of them are affine then.
    for reads in (True, False) if any(form.divisor > 1 for form in read) else (False,):
        system = new()
        if _expand(nest, counted(equations, reads=reads), system, required=not reads):
            break
    return system


def _expand(nest: Trace, equations: Equations, system: SystemBuilder, *, required: bool) -> bool:
    nest, equations = stretched(nest, equations, in_order=True)
    nest, equations = spread(nest, equations, computed=False)
    places = [(nests.text_position(part), [False] * len(part.loops)) for part in equations]
    _write(nest, equations, system)
    return system.expand(places, required)


def _write(trace: Trace, equations: Sequence[Statement], builder: SystemBuilder) -> None:
    used = {tensor for equation in equations for tensor in _tensors(equation)}
    used |= {tensor for tensor in trace.tensors if tensor.is_input and tensor.values is None}
    used |= set(trace.outputs.values())
    ids: dict[Tensor, int] = {}
    names = {tensor: name for name, tensor in trace.outputs.items()}
    results = iter(trace.outputs.values())  # in the order they are returned
    for declared in trace.tensors:
        if declared not in used:
            continue
        tensor = next(results) if declared in names else declared
        role = "input" if tensor.is_input else "output" if tensor in names else "local"
        name = names.get(tensor, tensor.unique_name)
        tile = None if tensor.tile is None else list(tensor.tile)
        ids[tensor] = builder.add_tensor(
            name, tensor.dtype_name, role, list(tensor.scalars), tile, _place(tensor.span), tensor.name
        )
    for equation in equations:
        _Writer(builder, ids).write(equation)
    idle = [statement for statement in trace.statements if all(map(is_empty, statement.region))]
    builder.idle_nests = [_nest(statement) for statement in idle]


def _nest(statement: Statement) -> list[str]:
    """The indices of a statement and of its reductions."""
    names = [index.name for index in statement.loops]
    todo, seen = [statement.value], set[int]()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Reduce):
            names.append(value.index.name)
        todo += value.operands
    return list(dict.fromkeys(names))


def _tensors(equation: Statement) -> set[Tensor]:
    return {equation.target} | {access.tensor for access in accesses(equation.value)}


class _Writer:
    """Writes one equation; expressions that occur twice in it are added once."""

    def __init__(self, builder: SystemBuilder, tensors: dict[Tensor, int]) -> None:
        self._builder = builder
        self._tensors = tensors
        self._known: dict[tuple[int, int], int] = {}
        self._kept: list[Element] = []  # so that their ids stay theirs

    def write(self, equation: Statement) -> None:
        scope = equation.loops
        value = self._expression(_adopting(equation.value, equation.target.dtype_name), scope)
        self._builder.add_equation(
            self._tensors[equation.target],
            [affine_tuple(form, scope) for form in equation.index],
            [index.name for index in scope],
            region_list(equation.region, scope),
            value,
            _place(equation.span),
        )

    def _expression(self, value: Element, scope: tuple[Index, ...]) -> int:
        key = (id(value), len(scope))
        if key not in self._known:
            self._known[key] = self._add(value, scope)
        return self._known[key]

    def _add(self, value: Element, scope: tuple[Index, ...]) -> int:
        builder = self._builder
        if isinstance(value, Constant):
            return builder.add_constant(value.value, _place(value.span))
        if isinstance(value, IndexValue):
            return builder.add_index(affine_tuple(value.form, scope), value.dtype, _place(value.span))
        if isinstance(value, Access):
            if any(form.divisor > 1 for form in value.index):
                raise _divided(value)
            index = [affine_tuple(form, scope) for form in value.index]
            return builder.add_access(self._tensors[value.tensor], index, _place(value.span))
        if isinstance(value, Apply):
            operands = [self._expression(operand, scope) for operand in value.operands]
            return builder.add_apply(value.op, operands, list(value.flags), _place(value.span))
        reduce = cast(Reduce, value)
        inner = (*scope, _named_apart(reduce.index, scope))
        values = {reduce.index: Affine({inner[-1]: 1}, 0)}
        body = reduce.body if inner[-1] is reduce.index else substitute_indices(reduce.body, values)
        self._kept.append(body)
        region = tuple(tuple(c.substitute(values) for c in part) for part in reduce.region)
        return builder.add_reduce(
            reduce.kind,
            inner[-1].name,
            region_list(region, inner),
            self._expression(body, inner),
            isinstance(reduce.index, FoldIndex),
            _place(reduce.span),
        )


def _divided(access: Access) -> TraceError:
    form = next(form for form in access.index if form.divisor > 1)
    return TraceError(
        f"`{access.tensor.name}`, which is assigned several times, is read at `{form}`",
        code="CYC103",
        span=access.span,
        help="copy it to a new array, assigned once, before it is read with quotients, e.g. `y = x.copy()`",
    )


def _place(span: Span) -> SpanTuple:
    return (*span, block_of(span))


def _adopting(value: Element, dtype: str) -> Element:
    """A number that is cast to the dtype of its tensor as itself, known without a run, if it is the same."""
    if isinstance(value, Apply) and value.op == f"to_{dtype}" and isinstance(value.operands[0], Constant):
        number = value.operands[0].value
        if number in (0, 1) or (dtype == "float64" and isinstance(number, float)):
            return value.operands[0]
    return value


def _named_apart(index: Index, scope: tuple[Index, ...]) -> Index:
    """The index of a reduction: one with another name where a loop around its value has that one."""
    name = unused(index.name, {one.name for one in scope})
    return index if name == index.name else Index(name, index.span)
