"""Loop nests: kernels whose elements are assigned more than once, or in place on an input.

A kernel whose text is no system of recurrences is taken as what Python makes of it: statements that run one
after the other. The compiler's array dataflow analysis makes recurrences of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cyclotron.language.lower.fill_unassigned import axis_names
from cyclotron.language.lower.stale_reads import with_kept_reads
from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.broadcasting import box
from cyclotron.language.values.nodes import Access, Constant, Element, Tensor, rebuild, transform


def may_be_nest(trace: Trace) -> bool:
    """Return whether a kernel that is no recurrence can be a loop nest: all its elements are scalars."""
    return not any(tensor.blocked for tensor in trace.tensors)


def with_arrays(trace: Trace) -> Trace:
    """Return a recording of statements that assign no input, in order: equations not yet expanded.

    Arrays of their own stand for inputs that are assigned in place. The first statements copy these inputs
    and fill tensors declared by zeros or full. Names of elements hold what those were when they were read.
    """
    trace = with_kept_reads(trace)
    assigned = {statement.target for statement in trace.statements}
    arrays = {
        tensor: tensor.beside(tensor.unique_name)
        for tensor in trace.tensors
        if tensor.is_input and tensor in assigned
    }
    first: list[Statement] = []
    for tensor in trace.tensors:
        own = [statement for statement in trace.statements if statement.target is tensor]
        if tensor in arrays:
            first.append(_everywhere(arrays[tensor], own, tensor))
        elif not tensor.is_input and tensor.initial is not None:
            first.append(_everywhere(tensor, own, None))
    for number, statement in enumerate(first):
        statement.text = (number - len(first), *[0] * len(statement.loops))
    rest = [
        replace(s, target=arrays.get(s.target, s.target), value=_replaced(s.value, arrays))
        for s in trace.statements
    ]
    outputs = {name: arrays.get(tensor, tensor) for name, tensor in trace.outputs.items()}
    return replace(
        trace, tensors=[*trace.tensors, *arrays.values()], equations=[*first, *rest], outputs=outputs
    )


def text_position(part: Statement) -> list[int]:
    """Return where a part of a statement stands in the text.

    Terms that a conditional reduction keeps in a tensor of their own come just before the statement.
    """
    odd = [2 * position + 1 for position in part.text]
    inner = len(part.loops) + 1 - len(odd)
    return [*odd[:-1], odd[-1] - 1, *[0] * inner] if inner else odd


def _everywhere(tensor: Tensor, own: Sequence[Statement], source: Tensor | None) -> Statement:
    """A statement that assigns all elements: of the source, or the fill value.

    Its loops are named and nested as those that assign the elements later.
    """
    deepest = sorted(own, key=lambda statement: -len(statement.loops))
    axes = tuple(Index(name, tensor.span) for name in axis_names(tensor, deepest))
    index = tuple(Affine({axis: 1}, 0) for axis in axes)
    region = (box([(axis, int(extent)) for axis, extent in zip(axes, tensor.shape, strict=True)]),)
    outer = [loop.name for loop in deepest[0].loops] if deepest else []
    loops = tuple(sorted(axes, key=lambda axis: outer.index(axis.name) if axis.name in outer else len(outer)))
    value = Constant(tensor.start, tensor.span) if source is None else Access(source, index, tensor.span)
    return Statement(tensor, index, loops, region, value, tensor.span, loops)


def _replaced(value: Element, arrays: Mapping[Tensor, Tensor]) -> Element:
    """An expression that reads arrays instead of the inputs they stand for."""

    def changed(part: Element, operands: list[Element]) -> Element:
        if isinstance(part, Access) and part.tensor in arrays:
            return Access(arrays[part.tensor], part.index, part.span)
        return rebuild(part, operands)

    return transform(value, changed)
